"""What keeps an archive: backup and restore, retention, the reader's role, and exports."""

import asyncio
import csv
import io
import json
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from psycopg import sql

from benchmarks.instruments.postgres import Postgres
from events.errors import ArchiveError
from property.archive.database import connect_archive
from property.archive.partition_consumer import WORKERS_LOCK
from property.archive.questions import ARCHIVE_QUERIES
from property.archive.rebuild import rebuild, take_back
from property.archive.store import Archive
from property.hub.replicated_event import ReplicatedEvent
from tests.support.property.logs import (
    archived,
    carried_in,
    differences,
    into_archive,
    played,
    played_logs,
    write_log,
)
from tests.support.property.site import PropertySite

_ORIGINS: Final = ("harbour/t1", "harbour/t2")
_JANUARY_S: Final = 1_704_067_200  # 2024-01-01
_LATER: Final = "2024-02-15"
_DERIVED: Final = ("coup_row", "settlement_row", "total", "state", "edge", "shift", "feed_alarm")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return played_logs(tmp_path_factory.mktemp("logs"), _ORIGINS, first_seed=31)


@pytest.fixture
def site(postgres: Postgres, logs: list[Path], tmp_path: Path) -> PropertySite:
    url = postgres.database()
    into_archive(url, *logs)
    with psycopg.connect(url) as db:
        db.execute("INSERT INTO property.shift VALUES ('harbour', 'day', '06:00', 'Asia/Macau')")
        db.execute("INSERT INTO property.edge VALUES ('book', 'tie', 1, 7)")
        db.execute(
            'INSERT INTO property.feed_alarm (site, "table", kind, position, reason, cleared_at, '
            "cleared_by) VALUES ('harbour', 't1', 'fork', 7, 'was looked at', now(), 'mary')"
        )
    return PropertySite(tmp_path, url)


def _url(site: PropertySite) -> str:
    return str(json.loads(site.config.read_text("utf-8").splitlines()[1].partition("= ")[2]))


def _rows(url: str, *names: str) -> dict[str, list[Any]]:
    asked = sql.SQL("SELECT to_jsonb(r) FROM property.{} r ORDER BY r::text")
    with psycopg.connect(url) as db:
        return {n: db.execute(asked.format(sql.Identifier(n))).fetchall() for n in names}


def test_a_whole_backup_is_the_archive_again_and_goes_on(
    site: PropertySite, logs: list[Path], postgres: Postgres, tmp_path: Path
) -> None:
    file = tmp_path / "whole.zip"
    assert site.ask("backup", str(file)).code == 0
    assert "is there already" in site.ask("backup", str(file)).err
    assert "holds 2 tables" in site.ask("restore", str(file)).err
    other = PropertySite(tmp_path, postgres.database())
    assert other.ask("restore", str(file)).code == 0
    url = _url(other)
    assert differences(url, logs) == []
    was = _rows(_url(site), *_DERIVED, "head", "block", "tail")
    assert _rows(url, *was) == was
    more = tmp_path / "more.sqlite"
    write_log(more, "harbour/t3", played(41, 5))
    into_archive(url, more)
    assert differences(url, [*logs, more]) == []
    done = other.ask("rebuild", "--check")  # what came after the shifts is counted by them
    assert done.code == 0, done.out


def test_what_the_logs_cannot_bring_goes_into_an_archive_that_was_made_again(
    site: PropertySite, logs: list[Path], postgres: Postgres, tmp_path: Path
) -> None:
    file = tmp_path / "rest.zip"
    assert site.ask("backup", str(file), "--without-events").code == 0
    url = postgres.database()
    into_archive(url, *logs)
    with psycopg.connect(url) as db:
        db.execute("INSERT INTO property.edge VALUES ('book', 'tie', 1, 8)")
    other = PropertySite(tmp_path, url)
    for _ in range(2):  # what is there stays
        assert other.ask("restore", str(file)).code == 0
    was, now = (_rows(each, *_DERIVED) for each in (_url(site), url))
    for table in ("coup_row", "total", "shift"):
        assert now[table] == was[table]
    assert [row["denominator"] for (row,) in now["edge"]] == [8]
    assert [row["cleared_by"] for (row,) in now["feed_alarm"]] == ["mary"]


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (lambda data: data[:2] + b" no", "cannot be read as a backup"),
        (lambda data: data[: len(data) // 2], "cannot be read as a backup"),
        (lambda data: data.replace(b"harbour", b"harbOur", 1), "damaged|not whole"),
        (lambda data: _changed(data, version="0001"), "of version 0001"),
        (lambda data: _changed(data, form="another"), "is damaged: its manifest"),
    ],
)
def test_a_file_that_is_no_backup_changes_nothing(
    site: PropertySite,
    postgres: Postgres,
    tmp_path: Path,
    harm: Callable[[bytes], bytes],
    says: str,
) -> None:
    file = tmp_path / "whole.zip"
    assert site.ask("backup", str(file)).code == 0
    _stored(file)
    file.write_bytes(harm(file.read_bytes()))
    other = PropertySite(tmp_path, postgres.database())
    done = other.ask("restore", str(file))
    assert done.code == 2
    assert any(each in done.err for each in says.split("|")), done.err
    assert _rows(_url(other), "head", "shift") == {"head": [], "shift": []}


def _stored(file: Path) -> None:
    """Write a ZIP archive again without compression, so that its bytes can be found."""
    with zipfile.ZipFile(file) as given:
        members = {name: given.read(name) for name in given.namelist()}
    with zipfile.ZipFile(file, "w") as out:
        for name, data in members.items():
            out.writestr(name, data)


def _changed(data: bytes, **changes: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as given:
        members = {name: given.read(name) for name in given.namelist()}
    manifest = json.loads(members["manifest.json"]) | changes
    members["manifest.json"] = json.dumps(manifest).encode()
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as out:
        for name, part in members.items():
            out.writestr(name, part)
    return made.getvalue()


def test_nothing_is_restored_while_a_worker_runs(site: PropertySite, tmp_path: Path) -> None:
    file = tmp_path / "rest.zip"
    assert site.ask("backup", str(file), "--without-events").code == 0
    with psycopg.connect(_url(site)) as db:
        db.execute("SELECT pg_advisory_lock_shared(%s, 0)", (WORKERS_LOCK,))
        assert "end all of them first" in site.ask("restore", str(file)).err
    assert site.ask("restore", str(file)).code == 0


@pytest.fixture
def old_site(
    postgres: Postgres, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[PropertySite, list[Path]]:
    """Two tables that play from January to March 2024."""
    folder, url = tmp_path_factory.mktemp("old"), postgres.database()
    paths = [folder / f"{number}.sqlite" for number in range(len(_ORIGINS))]
    for seed, (path, origin) in enumerate(zip(paths, _ORIGINS, strict=True), 51):
        write_log(path, origin, played(seed, 60), every_s=4_000, begin_s=_JANUARY_S)
    into_archive(url, *paths)
    return PropertySite(tmp_path, url), paths


def test_old_events_go_and_what_is_asked_stays(old_site: tuple[PropertySite, list[Path]]) -> None:
    site, logs = old_site
    url = _url(site)
    was = _rows(url, *_DERIVED[:3])
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    assert f"{today} is in use" in site.ask("retain", "--before", today).err
    assert _rows(url, "block") != {"block": []}
    with psycopg.connect(url) as db:
        db.execute("UPDATE property.head SET state = 'stopped' WHERE \"table\" = 't2'")
    done = site.ask("retain", "--before", _LATER)
    assert done.code == 0, done.err
    assert "harbour/t1: 1 to " in done.out
    assert "harbour/t2: its feed is stopped" in done.out
    assert _kept(site, "harbour/t2") == [each.stored for each in carried_in(logs[1])]
    kept, every = _kept(site, "harbour/t1"), [each.stored for each in carried_in(logs[0])]
    assert 0 < len(kept) < len(every)
    assert kept == every[-len(kept) :]
    assert all(json.loads(each)["at"] < _LATER for each in every[: -len(kept)])
    for words in (("--check",), (), ("--check",)):
        done = site.ask("rebuild", *words)
        assert (done.code, _rows(url, *_DERIVED[:3])) == (0, was), done.out
    assert "harbour/t1: nothing dropped" in site.ask("retain", "--before", _LATER).out


def test_a_table_goes_on_and_is_taken_back_after_its_old_events_went(
    old_site: tuple[PropertySite, list[Path]],
) -> None:
    site, logs = old_site
    url, events = _url(site), carried_in(logs[0])
    assert site.ask("retain", "--before", _LATER).code == 0
    asyncio.run(_taken_back_and_on(url, events))
    assert archived(url, "harbour/t1")[0] == events[-1].head


async def _taken_back_and_on(url: str, events: list[ReplicatedEvent]) -> None:
    back = len(events) - 100
    async with await connect_archive(url) as connection:
        assert await take_back(url, connection, "harbour/t1", back) == events[back:]
        with pytest.raises(ArchiveError, match="5 is not in the archive"):
            await take_back(url, connection, "harbour/t1", 5)
        archive = Archive(url, connection)
        plan, _ = await archive.keep({"harbour/t1": events[back - 1].head}, events[back:], ())
        assert not plan.faults
        # What comes again of the events that are gone is no fault, and what is there is compared.
        again = [events[3], events[-2]._replace(hash=bytes(32))]
        for each, kinds in zip(again, ([], ["fork"]), strict=True):
            plan, _ = await archive.keep({"harbour/t1": events[-1].head}, [each], ())
            assert [fault.kind for fault in plan.faults] == kinds
        assert (await rebuild(url, connection, "harbour/t1", keep=False))[1] == []


def _kept(site: PropertySite, table: str) -> list[bytes]:
    done = site.ask("events", table)
    assert done.code == 0, done.err
    return [line.encode() for line in done.out.splitlines()]


def test_events_are_given_back_as_they_were_stored(site: PropertySite, logs: list[Path]) -> None:
    events = [each.stored for each in carried_in(logs[0])]
    assert _kept(site, "harbour/t1") == events
    done = site.ask("events", "harbour/t1", "--from", "70", "--upto", "700")
    assert done.out.encode().splitlines() == events[69:700]
    assert "no such table" in site.ask("events", "harbour/t9").err


def test_every_question_is_exported_whole(site: PropertySite) -> None:
    done = site.ask("query", "coups", "--csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    with psycopg.connect(_url(site)) as db:
        row = db.execute("SELECT count(*) FROM property.coup").fetchone()
    assert row == (len(rows),)
    every = site.rows("coups", "--most", "10000")
    assert [each["coup"] for each in rows] == [each["coup"] for each in every]
    assert [each["player"].split() for each in rows] == [each["player"] for each in every]
    for name in ARCHIVE_QUERIES:
        done = site.ask("query", name, "--csv")
        assert done.code == 0, done.err
        head, *_ = done.out.splitlines()
        assert len(head.split(",")) > 1
    assert "--csv or --json" in site.ask("query", "win", "--csv", "--json").err


def test_a_reader_asks_and_changes_nothing(site: PropertySite) -> None:
    url = _url(site)
    assert site.ask("reader", "asker_of_all").code == 2
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("CREATE ROLE asker_of_all LOGIN")
    assert site.ask("reader", "asker_of_all").code == 0
    with psycopg.connect(url.replace("postgres@", "asker_of_all@"), autocommit=True) as db:
        assert db.execute("SHOW jit").fetchone() == ("off",)
        assert db.execute("SELECT count(*) > 100 FROM property.find_coups()").fetchone() == (True,)
        for change in ("DELETE FROM property.total", "SELECT property.recount('harbour')"):
            with pytest.raises(psycopg.Error, match=r"read-only|permission denied"):
                db.execute(change.encode())
