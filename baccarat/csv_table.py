"""Write a table as CSV (RFC 4180) that a spreadsheet shows and never runs."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TextIO

from events.free_text import show_text

__all__ = ["write_csv"]

_FORMULA: Final = ("=", "+", "-", "@")


def write_csv(
    out: TextIO, head: Sequence[str], rows: Iterable[Mapping[str, Any]], *, goes_on: bool = False
) -> None:
    """Write a head line and the rows; a text that would be a formula gets an apostrophe first.

    Args:
        out: where to.
        head: the columns; what else a row has is left out.
        rows: column to value.
        goes_on: whether these are more rows of a table whose head line is there.
    """
    writer = csv.DictWriter(out, head, extrasaction="ignore", lineterminator="\r\n")
    if not goes_on:
        writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    shown = show_text(value)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown
