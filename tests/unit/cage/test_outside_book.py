"""Another system's book: every fault by line and column, and the comparison with a log."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import pytest

from cage.reports.outside_book import BookRow, book_difference, read_rows
from events.errors import InputError
from events.types import Settlement
from tests.support.cage.consumers import settlements_of
from tests.support.cage.ledgers import play_log
from tests.support.machine.commands import complaint, here, said
from tests.support.table import evidence

HEAD: Final = "settlement_id,seat,staked,paid,commission"
ONE: Final = "b7/20261127-02/1/2/1"

# A file -> its faults, without the file's name.
FAULTY: Final = {
    "": ["1: the first line is"],
    "seat,paid\r\n": ["1: the first line is"],
    f"{HEAD}\n{ONE},3,2500,0,0\n{ONE},3,25.00,0,x\n": [
        "3: column staked: '25.00' is not an integer (minor units)",
        "3: column commission: 'x' is not",
    ],
    f"{HEAD}\n{ONE},0,1,1,1\nb7/1,1,1,1,9007199254740992\n{ONE},1\n": [
        "2: column seat: 0 is not a seat",
        "3: column settlement_id: 'b7/1' is not like 'b7/20261127-02/1/2/1'",
        "3: column commission: '9007199254740992' is not",
        "4: 2 columns; 5 are due",
    ],
    f'{HEAD}\n"{ONE},1,1,1,1\n': ["2: unexpected end of data"],
    f'{{"settlement_id": "{ONE}", "seat": true, "staked": 1.5, "paid": 0, "commission": 0}}\n[]\n'
    '{"seat": 1, "seat": 2, "odd": 3, "staked": 0, "paid": 0, "commission": 0}': [
        "1: column seat: True is not an integer",
        "1: column staked: 1.5 is not an integer",
        "2: not a JSON object",
        "3: column settlement_id is missing",
        "3: column odd is not known",
        "3: column seat comes twice",
    ],
}


@pytest.mark.parametrize("text", FAULTY)
def test_every_fault_is_named_with_line_and_column(text: str) -> None:
    with pytest.raises(InputError) as raised:
        read_rows(text.encode(), "book")
    lines = str(raised.value).splitlines()
    assert len(lines) == len(FAULTY[text])
    for line, fault in zip(lines, FAULTY[text], strict=True):
        assert line.startswith(f"book:{fault}")


def test_bytes_that_are_no_text_and_many_faults_are_named() -> None:
    with pytest.raises(InputError, match="book:2: byte 43 is not UTF-8"):
        read_rows(HEAD.encode() + b"\n,\xff", "book")
    with pytest.raises(InputError, match="book: 5 more faults"):
        read_rows((HEAD + "\n1,2" * 25).encode(), "book")


def rows_of(settlements: Sequence[Settlement]) -> list[BookRow]:
    """A row a line of each, as a book does that takes one settlement after another."""
    return [
        BookRow(
            settlement_id=each.settlement_id,
            seat=line.seat,
            staked=0 if line.kind == "promo" else line.stake,
            paid=line.paid,
            commission=line.commission,
        )
        for each in settlements
        for line in each.lines
    ]


def in_force(settlements: Sequence[Settlement]) -> list[BookRow]:
    """Drop what a later one reverses."""
    gone = {each.reverses for each in settlements}
    return rows_of([each for each in settlements if each.settlement_id not in gone])


def taken_back(settlements: Sequence[Settlement]) -> list[BookRow]:
    """Keep every row, and add rows that take back what is reversed."""
    rows = rows_of(settlements)
    gone = {each.reverses for each in settlements}
    return rows + [
        BookRow(
            settlement_id=row.settlement_id,
            seat=row.seat,
            staked=-row.staked,
            paid=-row.paid,
            commission=-row.commission,
        )
        for row in rows
        if row.settlement_id in gone
    ]


def differences(settlements: Sequence[Settlement]) -> list[BookRow]:
    """Book the differences that corrections name."""
    return rows_of([each for each in settlements if each.reverses is None]) + [
        BookRow(
            settlement_id=each.settlement_id,
            seat=change.seat,
            staked=change.staked,
            paid=change.paid,
            commission=change.commission,
        )
        for each in settlements
        for change in each.difference
    ]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "table.sqlite"
    play_log(path, seed=3, coups=12)
    return path


@pytest.mark.parametrize("form", [in_force, taken_back, differences])
def test_each_way_to_book_a_correction_agrees(
    form: Callable[[Sequence[Settlement]], list[BookRow]], log: Path
) -> None:
    settlements = settlements_of(log)
    assert any(each.reverses for each in settlements)
    rows = form(settlements)
    assert book_difference(rows, settlements) == (None, 0)
    first = next(row for row in rows if row.staked and row.paid)
    for wrong, says in (
        ([*rows, first], f"seat {first.seat}: "),
        ([row for row in rows if row.phase != first.phase], " is not in the book"),
        (rows_of(settlements), "in the book and"),
        ([BookRow(settlement_id=ONE, seat=1, staked=1, paid=0, commission=0)], "not in the log"),
    ):
        found, _ = book_difference(wrong, settlements)
        assert found is not None
        assert says in found
    booked = {row.phase for row in rows}
    phases = dict.fromkeys(each.settlement_id.rpartition("/")[0] for each in settlements)
    newest = [phase for phase in phases if phase in booked][-1]
    assert book_difference([row for row in rows if row.phase != newest], settlements) == (None, 1)


def written(path: Path, rows: Sequence[BookRow], form: str) -> Path:
    """The rows as a file."""
    names = HEAD.split(",")
    dicts = [{name: getattr(row, name) for name in names} for row in rows]
    lines = [json.dumps(each) for each in dicts]
    if form == "csv":
        lines = [HEAD, *(",".join(str(each[name]) for name in names) for each in dicts)]
    path.write_text("\r\n".join(lines) + "\r\n", encoding="utf-8-sig")
    return path


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_the_command_answers_with_its_exit_code(form: str, tmp_path: Path) -> None:
    log = evidence.played(tmp_path / "table.sqlite")
    settlements = settlements_of(log)
    rows = in_force(settlements)
    day = settlements[0].coup[:8]
    other = BookRow(settlement_id="b9/20261127-01/1/2/1", seat=1, staked=1, paid=0, commission=0)
    book = written(tmp_path / "book", [*rows, other], form)
    command = ("cage", "reconcile", log, "--book", book)
    assert "the book agrees with the log to the unit" in said(here(*command))
    dated = said(here(*command, "--day", f"{day[:4]}-{day[4:6]}-{day[6:]}", "--json"))
    assert json.loads(dated)["left_out"] == 1
    written(book, [row for row in rows if row.seat != rows[0].seat], form)
    done = here(*command)
    assert (done.code, "they differ first at settlement" in done.out) == (1, True)
    book.write_text(f"{HEAD}\n1,2,3,4,5\n")
    done = here(*command)
    assert (done.code, "book:2: column settlement_id" in done.err) == (2, True)
    written(book, rows, form)
    assert "write a business day" in complaint(here(*command, "--day", "x"))
