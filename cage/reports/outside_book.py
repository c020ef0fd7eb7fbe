"""A third party's book, as CSV or JSON Lines, and its comparison with the settlements of a log.

A row books one seat's part of one settlement. A book may drop the rows of a settlement that a
correction reversed, add rows that take it back, or book a correction's `difference` under the
correction's id: for every phase of a coup the sums by seat are the same.
"""

import csv
import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from events.errors import InputError, MalformedJson
from events.json_form import decode_json, repeated_key
from events.types import Settlement

__all__ = ["SUMS", "BookRow", "SettlementSums", "book_difference", "read_rows"]

SUMS: Final = ("staked", "paid", "commission")
_COLUMNS: Final = ("settlement_id", "seat", *SUMS)
_ID: Final = re.compile(r"(?P<phase>[a-z0-9_-]+/[0-9]{8}-[0-9]{2,}/[1-9][0-9]*/[12])/[1-9][0-9]*")
_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]{0,15})")
_EXACT: Final = 2**53 - 1  # of an integer in JSON
_SEATS: Final = range(1, 100)
_FAULTS_NAMED: Final = 20

SettlementSums = dict[str, dict[int, Counter[str]]]
"""By the phase of a coup, `<table>/<shoe>/<n>/<phase>`: by seat, its sums in minor units."""


class BookRow(Struct, frozen=True, kw_only=True):
    """One row: amounts are minor units, negative where something is taken back."""

    settlement_id: str
    seat: int
    staked: int
    paid: int
    commission: int

    @property
    def phase(self) -> str:
        """The settlement's id without its revision."""
        return self.settlement_id.rpartition("/")[0]


def read_rows(data: bytes, name: str) -> list[BookRow]:
    """Read a book; JSON Lines if its first character is `{`, else CSV.

    Args:
        data: the file's bytes, UTF-8.
        name: the file's name, for the faults.

    Raises:
        InputError: a line for every fault, with its line and column.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{name}:{line}: byte {error.start} is not UTF-8") from error
    faults: list[str] = []
    lines = _json_lines(text, faults) if text.lstrip()[:1] == "{" else _csv_lines(text, faults)
    rows = [row for line, fields in lines if (row := _row(line, fields, faults)) is not None]
    if faults:
        named = [f"{name}:{fault}" for fault in faults[:_FAULTS_NAMED]]
        if more := len(faults) - len(named):
            named.append(f"{name}: {more:,} more faults")
        raise InputError("\n".join(named))
    return rows


def _csv_lines(text: str, faults: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        head = next(reader, [])
        if sorted(head) != sorted(_COLUMNS):
            faults.append(f"1: the first line is {','.join(_COLUMNS)}, in any order; not {head}")
            return
        for cells in reader:
            if len(cells) == len(head):
                yield reader.line_num, dict(zip(head, cells, strict=True))
            elif cells:
                faults.append(f"{reader.line_num}: {len(cells)} columns; {len(head)} are due")
    except csv.Error as error:
        faults.append(f"{reader.line_num}: {error}")


def _json_lines(text: str, faults: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            fields = decode_json(line, dict[str, Any])
            twice = repeated_key(line)
        except MalformedJson as error:
            faults.append(f"{number}: not a JSON object: {error}")
            continue
        wrong = [f"column {each} is missing" for each in _COLUMNS if each not in fields]
        wrong += [f"column {each} is not known" for each in fields if each not in _COLUMNS]
        wrong += [f"column {twice} comes twice"] if twice else []
        faults += [f"{number}: {each}" for each in wrong]
        if not wrong:
            yield number, fields


def _row(line: int, fields: Mapping[str, Any], faults: list[str]) -> BookRow | None:
    before, amounts = len(faults), dict[str, int]()
    name = fields["settlement_id"]
    if not (isinstance(name, str) and _ID.fullmatch(name)):
        faults.append(
            f"{line}: column settlement_id: {name!r} is not like 'b7/20261127-02/1/2/1', "
            "which is table/shoe/coup/phase/revision"
        )
    for column in _COLUMNS[1:]:
        found = fields[column]
        whole = type(found) is int or (isinstance(found, str) and _INTEGER.fullmatch(found))
        if not whole or abs(int(found)) > _EXACT:
            faults.append(f"{line}: column {column}: {found!r} is not an integer (minor units)")
        else:
            amounts[column] = int(found)
    if amounts.get("seat", 1) not in _SEATS:
        faults.append(f"{line}: column seat: {amounts['seat']} is not a seat, 1 to 99")
    return BookRow(settlement_id=name, **amounts) if len(faults) == before else None


def book_difference(
    rows: Iterable[BookRow], settlements: Sequence[Settlement]
) -> tuple[str | None, int]:
    """Return the first difference in one line or None, and the number of phases not yet booked.

    Phases without a row are not yet booked where they come after the last phase that has one.

    Args:
        rows: the book's, of the same table.
        settlements: the log's, in its order, revisions included.
    """
    known = {each.settlement_id for each in settlements}
    newest = {each.settlement_id.rpartition("/")[0]: each for each in settlements}
    held: SettlementSums = defaultdict(lambda: defaultdict(Counter))
    for row in rows:
        if row.settlement_id not in known:
            return f"settlement {row.settlement_id} is not in the log", 0
        held[row.phase][row.seat].update({each: getattr(row, each) for each in SUMS})
    due = [(phase, _right(settlement)) for phase, settlement in newest.items()]
    end = max((at for at, (phase, _) in enumerate(due, start=1) if phase in held), default=0)
    for phase, right in due[:end]:
        name = newest[phase].settlement_id
        if phase not in held and any(any(sums.values()) for sums in right.values()):
            return f"settlement {name} is not in the book", 0
        for seat in sorted({*right, *held[phase]}):
            for each in SUMS:
                is_, ought = held[phase][seat][each], right.get(seat, Counter())[each]
                if is_ != ought:
                    text = f"seat {seat}: {each} {is_} in the book and {ought} in the log"
                    return f"settlement {name}: {text}", 0
    return None, sum(bool(right) for _, right in due[end:])


def _right(settlement: Settlement) -> dict[int, Counter[str]]:
    sums: dict[int, Counter[str]] = {}
    for line in settlement.lines:
        staked = 0 if line.kind == "promo" else line.stake
        part = {"staked": staked, "paid": line.paid, "commission": line.commission}
        sums.setdefault(line.seat, Counter()).update(part)
    return sums
