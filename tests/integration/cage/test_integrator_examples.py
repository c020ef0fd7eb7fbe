"""The examples of the integrator's guide keep a right book of a running table, through kills."""

import asyncio
import sqlite3
from pathlib import Path

from events.log.store import EventLog
from table_core.service.publishers import public_bytes
from tests.support.cage.consumers import (
    KEEP_EVENTS,
    cage_book,
    process,
    seats_of,
    settlements_of,
    shown,
)
from tests.support.cage.integrators import acknowledged, correct, coup
from tests.support.machine.waiting import until
from tests.support.service.table_service import TOPICS, Table1, played

ORIGIN = "site/t1"


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


async def test_the_python_example_keeps_the_right_book(table: Table1, tmp_path: Path) -> None:
    book, log = tmp_path / "book.sqlite", tmp_path / "table.sqlite"
    command = cage_book(book, table.port, TOPICS.root)
    async with played(table, tmp_path):  # before it is there
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
    settlements = settlements_of(log)
    assert [each.revision for each in settlements] == [1, 1, 2, 2, 1, 1]
    assert shown(book) == {"seats": seats_of(settlements)}


async def test_the_shell_example_keeps_every_event(table: Table1, tmp_path: Path) -> None:
    file, log = tmp_path / "events.jsonl", tmp_path / "table.sqlite"
    command = ("sh", KEEP_EVENTS, file, "127.0.0.1", str(table.port), TOPICS.root)
    async with played(table, tmp_path):
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
