"""The examples of the integrator's guide keep a right book of a running table, through kills."""

import asyncio
import sqlite3
from pathlib import Path

from events.cards import Card, Hand
from events.commands import (
    CloseBetting,
    CorrectCard,
    OpenBetting,
    PlaceWager,
    VoidCoup,
    WagerRequest,
)
from events.log import EventLog
from events.shoe import DeviceResult
from table_core.shell.publishers import public_bytes
from tests.support.consumers import (
    KEEP_EVENTS,
    cage_book,
    process,
    seats_of,
    settlements_of,
    shown,
)
from tests.support.coups import NATURAL_NINE, ORDER, SHOE, drawn, shoe_event
from tests.support.table_service import TOPICS, Table1, play, service
from tests.support.waiting import until

ORIGIN = "site/t1"


async def coup(table: Table1, number: int) -> None:
    """One more like the first, with two seats; its number begins at 2."""
    await table.ask("dealer", OpenBetting(transaction=f"o{number}"))
    wagers = (
        WagerRequest(seat=1, bet="player", stake=1000 * number),
        WagerRequest(seat=number, bet="banker", stake=500 * number),
    )
    await table.ask("wagers", PlaceWager(transaction=f"w{number}", wagers=wagers))
    await table.ask("dealer", CloseBetting(transaction=f"c{number}"))
    first, before = 3 + 5 * (number - 1), len(table.settlements)
    for seq, ((hand, place), face) in enumerate(zip(ORDER, NATURAL_NINE, strict=True), start=first):
        await table.say(shoe_event(seq, drawn(hand, place, face)))
    await table.say(shoe_event(first + 4, DeviceResult(winner="player")))
    await until(lambda: len(table.settlements) > before, f"coup {number} was not settled")


async def correct(table: Table1) -> None:
    """The first coup had another card, and the second does not count."""
    face = CorrectCard(
        transaction="f",
        hand=Hand.BANKER,
        number=1,
        face=Card.D6,
        reason="camera 4",
        coup=f"{SHOE}/1",
    )
    assert (await table.ask("supervisor", face)).result == "accepted"
    void = VoidCoup(transaction="v", reason="a wrong shoe", coup=f"{SHOE}/2")
    assert (await table.ask("supervisor", void)).result == "accepted"


def kept(book: Path) -> int:
    """How far the Python example has come."""
    if not book.exists():
        return 0
    try:
        with sqlite3.connect(f"file:{book}?mode=ro", uri=True) as read:
            found = read.execute("SELECT position FROM reader").fetchone()
    except sqlite3.OperationalError:  # it is being made
        return 0
    read.close()
    return int(found[0]) if found else 0


async def acknowledged(table: Table1, path: Path, consumer: str) -> None:
    """The newest settlement is acknowledged in the log."""
    newest = table.settlements[-1].position

    def told() -> bool:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as read:
            row = read.execute(
                "SELECT position FROM cursor WHERE name = ?", (f"consumer/cage/{consumer}",)
            ).fetchone()
        read.close()
        return bool(row and row[0] >= newest)

    await until(told, f"{consumer} has not acknowledged {newest}")


async def test_the_python_example_keeps_the_right_book(table: Table1, tmp_path: Path) -> None:
    book, log = tmp_path / "book.sqlite", tmp_path / "table.sqlite"
    command = cage_book(book, table.port, TOPICS.root)
    async with service(table.port, tmp_path):
        await table.driver_comes()
        await play(table)  # before it is there
        with process(*command):
            await acknowledged(table, log, "cage")
            await coup(table, 2)
            await until(lambda: kept(book) > 10, "nothing is read live")
        await correct(table)  # while it is gone: killed where it stood
        await coup(table, 3)
        with process(*command):
            await acknowledged(table, log, "cage")
            await coup(table, 4)
            await acknowledged(table, log, "cage")
    settlements = settlements_of(log, ORIGIN)
    assert [each.revision for each in settlements] == [1, 1, 2, 2, 1, 1]
    assert shown(book) == {"seats": seats_of(settlements)}


async def test_the_shell_example_keeps_every_event(table: Table1, tmp_path: Path) -> None:
    file, log = tmp_path / "events.jsonl", tmp_path / "table.sqlite"
    command = ("sh", KEEP_EVENTS, file, "127.0.0.1", str(table.port), TOPICS.root)
    async with service(table.port, tmp_path):
        await table.driver_comes()
        await play(table)
        with process(*command):
            await acknowledged(table, log, "events")
        with file.open("ab") as half:
            half.write(b'{"event_id":"cut off')  # as a kill in mid-write would leave it
        await coup(table, 2)
        with process(*command):
            await acknowledged(table, log, "events")
            await correct(table)
            await acknowledged(table, log, "events")
    with EventLog.open(log, ORIGIN) as opened:
        stored = [public_bytes(each) for each in opened.read(1)]
    lines = await asyncio.to_thread(file.read_bytes)
    assert lines.split(b"\n")[:-1] == stored[: lines.count(b"\n")]
    assert lines.count(b"\n") >= table.settlements[-1].position
