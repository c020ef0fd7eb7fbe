"""Alarms of the archive: each stands, its page is followed, and it is over; the feed goes on."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from psycopg.rows import tuple_row

from benchmarks.instruments.postgres import Postgres
from events.proof.chain import next_hash
from property.archive.database import connect_archive, migrate
from property.archive.store import Archive
from property.hub.replicated_event import ReplicatedEvent
from property.hub.uplink_status import QUIET_S, UplinkStatus, UplinkStatusFilter, stopped_status
from tests.support.alarm_pages import part, release_by_page, typed
from tests.support.machine.commands import here
from tests.support.property.logs import archive_config, archived, carried_in, dealt, write_log

_ORIGIN = "harbour/b7"
_GOOD = 20  # events before the fault

Events = list[ReplicatedEvent]


def _after(log: Events, stored: bytes) -> ReplicatedEvent:
    digest = next_hash(log[_GOOD - 1].hash, stored)
    return ReplicatedEvent(_ORIGIN, _GOOD + 1, stored, digest)


# By the alarm, the event that the hub has after some good ones.
_FALSE: dict[str, Callable[[Events], ReplicatedEvent]] = {
    "fork": lambda log: log[_GOOD - 1]._replace(hash=bytes(32)),
    "forged": lambda log: log[_GOOD]._replace(stored=log[_GOOD].stored + b" "),
    "foreign": lambda log: _after(log, log[_GOOD + 1].stored),
    "unreadable": lambda log: _after(log, b"{}"),
    "gap": lambda log: log[_GOOD + 1],
}


async def _standing(url: str) -> set[str]:
    async with await connect_archive(url) as db, db.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute("SELECT kind FROM property.feed_alarm WHERE cleared_at IS NULL")
        return {row[0] for row in await cursor.fetchall()}


@pytest.mark.parametrize("name", _FALSE)
async def test_the_page_ends_the_alarm_of_a_feed(
    name: str, postgres: Postgres, tmp_path: Path
) -> None:
    url, path = postgres.database(), tmp_path / "table.sqlite"
    await asyncio.to_thread(write_log, path, _ORIGIN, dealt(1, 4))
    await asyncio.to_thread(migrate, url)
    log = carried_in(path)
    async with await connect_archive(url) as connection:
        archive = Archive(url, connection)
        await archive.keep({}, log[:_GOOD], ())
        head = {_ORIGIN: log[_GOOD - 1].head}
        found, _ = await archive.keep(head, [_FALSE[name](log)], ())
        assert [fault.kind for fault in found.faults] == [name]
        assert await _standing(url) == {name}
        if name == "gap":
            # The hub has the event again, which the worker looks for.
            assert any("property refill" in command for command in typed(name))
        else:
            command = release_by_page(name, archive_config(tmp_path, url), _ORIGIN)
            assert (await asyncio.to_thread(here, *command)).code == 0
        await archive.keep(head, log[_GOOD:], ())
        await archive.mended(_ORIGIN)
    assert await _standing(url) == set()
    assert (await asyncio.to_thread(archived, url, _ORIGIN))[1] == log


async def test_the_page_of_a_stopped_uplink_ends_its_alarm(
    postgres: Postgres, tmp_path: Path
) -> None:
    """It is restarted, and has run for a minute and a half without another stop."""
    assert "has run for a minute and a half" in part("uplink", "Clears when")
    url, path = postgres.database(), tmp_path / "table.sqlite"
    await asyncio.to_thread(write_log, path, _ORIGIN, dealt(1, 4))
    await asyncio.to_thread(migrate, url)
    running, heard = UplinkStatus(state="running"), UplinkStatusFilter(0.0)
    async with await connect_archive(url) as connection:
        archive = Archive(url, connection)
        await archive.keep({}, carried_in(path), ())
        for word, now, stands in (
            (stopped_status("fork", 9, "another event"), 1.0, {"uplink"}),
            (running, QUIET_S, {"uplink"}),
            (running, QUIET_S + 2, set()),
        ):
            if heard.counts(_ORIGIN, word, now):
                await archive.uplink(_ORIGIN, word)
            assert await _standing(url) == stands
    assert QUIET_S <= 90
