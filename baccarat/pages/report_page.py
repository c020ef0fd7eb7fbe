"""Render the report of a shoe or a day as a page to print and sign.

The template has no script and loads nothing from the network. jinja2 escapes every value, because
people type references, occasions and reasons.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

import msgspec
from jinja2 import Template

from baccarat.pages.printed import page_template
from cage.reports.drop_and_hold import FloatReport
from cage.reports.patrons import PatronReport
from cage.reports.summary import SummaryReport
from events.money import Currency
from table_core.narrative.formatting import amount

__all__ = ["CSV_TABLES", "Currencies", "csv_rows", "report_lines", "report_page"]

# Labels of the lines, in the order of reading.
_TOTALS: Final = (
    ("handle", "handle"), ("win", "win before commission"), ("commission", "commission, net"),
    ("house", "win and commission"), ("theoretical", "theoretical, by exact odds"),
    ("accrued", "commission accrued"), ("reversed_", "  reversed"), ("collected", "  collected"),
    ("outstanding", "  outstanding"), ("uncollected", "  uncollected"),
    ("recovered", "  recovered"),
)  # fmt: skip
_FLOAT: Final = (
    ("opening", "opening"), ("fills", "fills"), ("credits", "credits"), ("closing", "closing"),
    ("movement", "movement"), ("won", "won by the wagers"), ("drop_due", "drop by the wagers"),
    ("drop", "drop by the count"), ("win", "win by the count"), ("difference", "difference"),
    ("opening_difference", "opening less the last closing"),
)  # fmt: skip
_PERCENT: Final = 100
CSV_TABLES: Final = ("totals", "patrons", "floats")
"""The tables for a spreadsheet: a line for each report, patron or float."""
_LISTS: Final = frozenset({"patrons", "floats", "denominations", "moves", "boxes"})
# A site's spreadsheet reads the columns by their places: later figures are in the JSON alone.
_LATER: Final[dict[type[Any], frozenset[str]]] = {
    SummaryReport: frozenset({"tokens", "currency"}),
    PatronReport: frozenset({"tokens"}),
}
_KEY: Final = ("table", "key")


Currencies = Mapping[tuple[str, str, str], Currency]
"""(table, key, currency) of reports, and (table, id, currency) of floats, to how amounts look."""


def report_lines(each: SummaryReport, by: str, *, named: bool = False) -> Iterator[str]:
    """Yield the lines of a report; amounts in minor units, as in its JSON and CSV.

    Args:
        each: the report.
        by: `shoe` or `day`.
        named: say its currency.
    """
    pace = "" if each.hands_per_hour is None else f", {each.hands_per_hour:g} hands an hour"
    currency = f", {each.currency or 'no currency named'}" if named else ""
    yield (
        f"{each.table}, {by} {each.key}{currency}: {each.coups:,} coups, {each.voids:,} void, "
        f"{each.corrections:,} settlements taken back{pace}"
    )
    yield from _amounts(each, _TOTALS)
    for found in each.floats:
        yield from _float_lines(found)
    if each.patrons:
        yield (
            f"  {'patron':<24} {'coups':>6} {'minutes':>8} {'turnover':>14} {'average':>12} "
            f"{'win':>14} {'theoretical':>12}"
        )
    for patron in each.patrons:
        yield (
            f"  {_name(patron):<24} {patron.coups:>6,} {patron.minutes:>8,} "
            f"{patron.turnover:>14,} {patron.average:>12,} {patron.win:>14,} "
            f"{_or_unknown(patron.theoretical):>12}"
        )


def csv_rows(reports: Iterable[SummaryReport], what: str) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the head and the rows of one of `CSV_TABLES`; an unknown value is empty."""
    kinds: dict[str, tuple[type[Any], tuple[str, ...]]] = {
        "totals": (SummaryReport, ()),
        "patrons": (PatronReport, _KEY),
        "floats": (FloatReport, ()),
    }
    kind, first = kinds[what]
    no_columns = _LISTS | _LATER.get(kind, frozenset())
    head = [*first, *(name for name in kind.__struct_fields__ if name not in no_columns)]
    rows: list[dict[str, Any]] = []
    for each in reports:
        key = {name: getattr(each, name) for name in first}
        found: Sequence[msgspec.Struct] = [each] if what == "totals" else getattr(each, what)
        for line in found:
            values = key | {name: getattr(line, name, None) for name in head if name not in key}
            rows.append({name: _cell(value) for name, value in values.items()})
    return head, rows


def _cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(map(str, value)) if isinstance(value, tuple) else value


def _float_lines(each: FloatReport) -> Iterator[str]:
    state = "closed" if each.closed else "open, as of its last count"
    yield f"  float {each.float_id}, {each.currency}, {state}:"
    yield from (f"  {line}" for line in _amounts(each, _FLOAT))
    hold = "unknown" if each.hold is None else f"{each.hold * _PERCENT:.2f} %"
    yield f"    {'hold':<28} {hold:>16}"
    if each.repeated:
        yield f"    used more than once: {', '.join(each.repeated)}"


def _amounts(each: SummaryReport | FloatReport, lines: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, told in lines:
        yield f"  {told:<28} {_or_unknown(getattr(each, name)):>16}"


def _or_unknown(amount: int | None) -> str:
    return "unknown" if amount is None else f"{amount:,}"


def _name(patron: PatronReport) -> str:
    return patron.patron or f"seat {patron.seat}"


_TEMPLATE: Final = "report.html"
_MINUTE: Final = len("2026-11-27T21:40")
_UNKNOWN: Final = "unknown"


def report_page(reports: Sequence[SummaryReport], by: str, currencies: Currencies) -> str:
    """Return the reports in sequence, each from the top of a sheet, as self-contained HTML.

    Args:
        reports: in the order of printing.
        by: `shoe` or `day`.
        currencies: of every report and float; its code is empty where it is not known.
    """
    return _template().render(
        reports=reports, by=by, currencies=currencies, lead=_lead, notes=_notes
    )


@cache
def _template() -> Template:
    filters: dict[str, Callable[..., Any]] = {
        "money": _money,
        "signed": _signed,
        "percent": lambda ratio: _UNKNOWN if ratio is None else f"{ratio * 100:.2f} %",
        "when": lambda at: at[:_MINUTE].replace("T", " ") if at else "-",
        "count": lambda number: f"{number:,}",
        "minutes": lambda spent: f"{spent // 60}:{spent % 60:02}",
    }
    return page_template(_TEMPLATE, filters)


def _money(minor: int | None, currency: Currency) -> str:
    return _UNKNOWN if minor is None else amount(minor, currency)


def _signed(minor: int | None, currency: Currency) -> str:
    """Return a difference, with its sign in either direction."""
    return f"{'+' if minor and minor > 0 else ''}{_money(minor, currency)}"


def _lead(each: SummaryReport, currency: Currency) -> str:
    """Return the result of a report in a sentence or two."""
    if not each.coups:
        return "No coup was settled."
    unit = f" {currency}" if currency.code else ""
    won = f"won {amount(each.house, currency)}" if each.house >= 0 else (
        f"lost {amount(-each.house, currency)}"
    )  # fmt: skip
    said = (
        f"The house {won}{unit}, commission counted, on wagers of {amount(each.handle, currency)}."
    )
    if each.theoretical is None:
        return f"{said} What it wins of these on average is unknown: a rulebook's odds are missing."
    return f"{said} On average it wins {amount(each.theoretical, currency)} of such wagers."


def _notes(each: FloatReport, currency: Currency) -> Iterator[str]:
    """Yield sentences about everything that a person must look at."""

    def money(minor: int | None) -> str:
        return amount(abs(minor or 0), currency)

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
