"""Render the report of a shoe or a day as a page to print and sign.

The template has no script and loads nothing from the network. jinja2 escapes every value, because
people type references, occasions and reasons.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from baccarat.pages.printed import page_template
from cage.reports.drop_and_hold import FloatReport
from cage.reports.summary import SummaryReport
from table_core.narrative.formatting import amount

__all__ = ["report_page"]

_TEMPLATE: Final = "report.html"
_MINUTE: Final = len("2026-11-27T21:40")
_UNKNOWN: Final = "unknown"


def report_page(
    reports: Sequence[SummaryReport], by: str, currencies: Mapping[tuple[str, str], str]
) -> str:
    """Return the reports in sequence, each from the top of a sheet, as self-contained HTML.

    Args:
        reports: in the order of printing.
        by: `shoe` or `day`.
        currencies: (table, key) to an ISO 4217 code; empty where it is not known.
    """
    return page_template(_TEMPLATE, _filters()).render(
        reports=reports, by=by, currencies=currencies, lead=_lead, notes=_notes
    )


def _filters() -> dict[str, Callable[..., Any]]:
    return {
        "money": _money,
        "signed": _signed,
        "percent": lambda ratio: _UNKNOWN if ratio is None else f"{ratio * 100:.2f} %",
        "when": lambda at: at[:_MINUTE].replace("T", " ") if at else "-",
        "count": lambda number: f"{number:,}",
        "minutes": lambda spent: f"{spent // 60}:{spent % 60:02}",
    }


def _money(minor: int | None, currency: str) -> str:
    return _UNKNOWN if minor is None else amount(minor, currency)


def _signed(minor: int | None, currency: str) -> str:
    """Return a difference, with its sign in either direction."""
    return f"{'+' if minor and minor > 0 else ''}{_money(minor, currency)}"


def _lead(each: SummaryReport, currency: str) -> str:
    """Return the result of a report in a sentence or two."""
    if not each.coups:
        return "No coup was settled."
    unit = f" {currency}" if currency else ""
    won = f"won {amount(each.house, currency)}" if each.house >= 0 else (
        f"lost {amount(-each.house, currency)}"
    )  # fmt: skip
    said = (
        f"The house {won}{unit}, commission counted, on wagers of {amount(each.handle, currency)}."
    )
    if each.theoretical is None:
        return f"{said} What it wins of these on average is unknown: a rulebook's odds are missing."
    return f"{said} On average it wins {amount(each.theoretical, currency)} of such wagers."


def _notes(each: FloatReport) -> Iterator[str]:
    """Yield sentences about everything that a person must look at."""

    def money(minor: int | None) -> str:
        return amount(abs(minor or 0), each.currency)

    if not each.closed:
        yield "The float is still open: the figures are as of its last count."
    elif each.drop is None:
        yield "No drop box was counted yet: drop and hold are those that the wagers ask for."
    if each.difference:
        more = "more" if each.difference > 0 else "less"
        yield (
            f"The boxes held {money(each.drop)}, {money(each.difference)} {more} than the "
            f"{money(each.drop_due)} that they must hold by the wagers."
        )
    if each.opening_difference:
        more = "more" if each.opening_difference > 0 else "less"
        yield (
            f"The tray was opened with {money(each.opening)}, {money(each.opening_difference)} "
            f"{more} than the float before it was closed with."
        )
    if each.repeated:
        yield f"Slips whose number another float has as well: {', '.join(each.repeated)}."
