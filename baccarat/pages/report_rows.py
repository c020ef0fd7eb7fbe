"""Render a ledger's reports as lines for a terminal and as rows for a spreadsheet; minor units."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from cage.reports.drop_and_hold import FloatReport
from cage.reports.patrons import PatronReport
from cage.reports.summary import SummaryReport

__all__ = ["CSV_TABLES", "csv_rows", "report_lines"]

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
_KEY: Final = ("table", "key")


def report_lines(each: SummaryReport, by: str) -> Iterator[str]:
    """Yield the lines of a report."""
    pace = "" if each.hands_per_hour is None else f", {each.hands_per_hour:g} hands an hour"
    yield (
        f"{each.table}, {by} {each.key}: {each.coups:,} coups, {each.voids:,} void, "
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
    head = [*first, *(name for name in kind.__struct_fields__ if name not in _LISTS)]
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
