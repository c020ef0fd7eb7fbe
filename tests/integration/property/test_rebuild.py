"""An archive's rows are made again from its events, taken back, and read from an older archive."""

from collections import Counter
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from psycopg import sql

from benchmarks.instruments.postgres import Postgres
from events.types import CoupSettled, Settlement
from property.archive.database import connect_archive, migrate
from property.archive.rebuild import archived_tables, read_earlier, rebuild, take_back
from property.archive.store import Archive
from property.hub.replicated_event import Head, ReplicatedEvent
from tests.support.property.logs import archived, carried_in, differences, entries_in, played_logs
from tests.support.property.older_archive import make_older_archive, migrate_to

_ORIGINS: Final = ("harbour/t1", "harbour/t2")
# In turn, as they may come: some events leave a coup open, and others are several blocks.
_BATCHES: Final = (1, 2, 40, 7, 900)
_ROWS: Final = ("coup_row", "settlement_row", "wager", "total", "state")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return played_logs(tmp_path_factory.mktemp("logs"), _ORIGINS, first_seed=21)


@pytest.fixture
def url(postgres: Postgres) -> str:
    made = postgres.database()
    migrate(made)
    return made


async def _kept(url: str, events: list[ReplicatedEvent], head: Head, *sizes: int) -> None:
    async with await connect_archive(url) as connection:
        archive, at, turn = Archive(url, connection), 0, 0
        while at < len(events):
            part = events[at : at + sizes[turn % len(sizes)]]
            plan, _ = await archive.keep({part[0].origin: head}, part, ())
            assert not plan.faults
            head, at, turn = part[-1].head, at + len(part), turn + 1


async def _checked(url: str, origin: str, *, keep: bool = False) -> tuple[int, list[str]]:
    async with await connect_archive(url) as connection:
        return await rebuild(url, connection, origin, keep=keep)


async def test_rows_are_what_the_events_make_of_them_however_they_came(
    url: str, logs: list[Path]
) -> None:
    for path in logs:
        events = carried_in(path)
        await _kept(url, events, Head.beginning(events[0].origin), *_BATCHES)
    assert differences(url, logs) == []
    for path, origin in zip(logs, _ORIGINS, strict=True):
        assert await _checked(url, origin) == (len(carried_in(path)), [])
    with psycopg.connect(url) as db:
        assert db.execute("SELECT count(*) > 4 FROM property.block").fetchone() == (True,)
        db.execute("UPDATE property.coup_row SET dealer = 'nobody' WHERE position > 900")
        db.execute("UPDATE property.total SET win = win + 1")
    for keep, differs in ((False, True), (True, True), (True, False)):
        _, differing = await _checked(url, _ORIGINS[0], keep=keep)
        assert differing == (["coup_row", "total"] if differs else [])


@pytest.mark.parametrize("position", [0, 1, 700, 701, 1500])
async def test_what_is_taken_back_was_never_there(
    url: str, logs: list[Path], postgres: Postgres, position: int
) -> None:
    events = carried_in(logs[0])
    beginning = Head.beginning(_ORIGINS[0])
    await _kept(url, events, beginning, 300)
    async with await connect_archive(url) as connection:
        gone = await take_back(url, connection, _ORIGINS[0], position)
    assert gone == events[position:]
    assert archived(url, _ORIGINS[0])[1] == events[:position]
    other = postgres.database()
    migrate(other)
    if position:
        await _kept(other, events[:position], beginning, position)
        assert _documents(url) == _documents(other)
    await _kept(url, gone, events[position - 1].head if position else beginning, 300)
    assert differences(url, logs[:1]) == []
    assert await _checked(url, _ORIGINS[0]) == (len(events), [])


def _documents(url: str) -> dict[str, list[Any]]:
    """All rows that follow from the events, but for how much of these is in the tail."""
    asked = sql.SQL("SELECT to_jsonb(r) FROM property.{} r ORDER BY r::text")
    with psycopg.connect(url) as db:
        found = {name: db.execute(asked.format(sql.Identifier(name))).fetchall() for name in _ROWS}
    for (row,) in found["state"]:
        for each in (row["document"], row["document"].get("open", {})):
            each.pop("tail_bytes", None)
    return found


async def test_an_archive_of_before_is_read_into_blocks(
    postgres: Postgres, logs: list[Path]
) -> None:
    url = postgres.database()
    make_older_archive(url, *logs)
    migrate(url)
    async with await connect_archive(url) as connection:
        assert [each async for each in read_earlier(url, connection)] == [*_ORIGINS]
        assert [each async for each in read_earlier(url, connection)] == []
        tables = await archived_tables(url, connection)
    assert [table.origin for table in tables] == [*_ORIGINS]
    assert differences(url, logs) == []
    with psycopg.connect(url) as db:
        assert db.execute("SELECT to_regclass('property.event_before')").fetchone() == (None,)
    for origin, path in zip(_ORIGINS, logs, strict=True):
        assert await _checked(url, origin) == (len(carried_in(path)), [])


async def test_a_correction_that_books_nothing_takes_back_wagers_from_version_8_on(
    postgres: Postgres, logs: list[Path]
) -> None:
    settled = dict[str, Settlement]()
    wanted = Counter[tuple[str, int, int, int]]()
    unbooked = 0
    for entry in entries_in(logs[0]):
        if isinstance(entry.data, CoupSettled):
            made = entry.data.settlement
            settled[made.settlement_id] = made
            key = (made.coup, made.phase, made.revision)
            back = len(settled[made.reverses].lines) if made.reverses else 0
            wanted += Counter({(*key, 1): len(made.lines), (*key, -1): back})
            unbooked += back if not made.lines else 0
    assert unbooked > 0
    url = postgres.database()
    migrate_to(url, "0007")
    await _kept(url, carried_in(logs[0]), Head.beginning(_ORIGINS[0]), 300)
    asked = "SELECT coup, phase, revision, sign FROM property.find_wagers(most => 1000000)"
    with psycopg.connect(url, autocommit=True) as db:
        assert len(db.execute(asked).fetchall()) == wanted.total() - unbooked
        migrate(url)
        assert Counter(db.execute(asked).fetchall()) == wanted
