"""Archive workers against a real hub and a real PostgreSQL, and what is killed under them."""

import os
import random
import re
import signal
import string
import time
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
import pytest

from benchmarks.instruments.postgres import Postgres, postgres_cluster
from events.proof.chain import next_hash
from events.types import TableEvent
from property.archive.database import connect_archive
from property.archive.store import release
from property.hub.connection import publish_uplink_ended, purge_table
from property.hub.replicated_event import HASH, POSITION, ReplicatedEvent, replication_headers
from property.hub.subjects import (
    CHECKPOINTS,
    COSIGNED,
    EDITIONS,
    EVENTS,
    FEEDS,
    PARTITIONS,
    event_subject,
    feed_subject,
    split_origin,
)
from property.hub.uplink_status import UplinkStatus
from tests.support.property.archive_site import ArchiveSite
from tests.support.property.logs import archived, carried_in, dealt, differences, write_log
from tests.support.property.nats_hub import Hub, made_streams, running_hub

_TABLES: Final = 6
_MOVES_WITHIN_S: Final = 10.0  # what is promised
_TRIES: Final = 3  # of a machine that is busy with other suites
_STEPS: Final = ("keep.before", "keep.copied", "keep.written", "keep.after", "told")


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """One node: what three of them do is the uplink's matter."""
    with running_hub(tmp_path_factory.mktemp("hub"), nodes=1) as running:
        yield running


@pytest.fixture(scope="module")
def games() -> list[list[TableEvent]]:
    return [dealt(seed, 12) for seed in range(_TABLES)]


@pytest.fixture
def logs(tmp_path: Path, games: list[list[TableEvent]]) -> list[Path]:
    found = []
    for number, events in enumerate(games):
        path = tmp_path / f"{number}.sqlite"
        write_log(path, f"harbour/b{number}", events)
        found.append(path)
    return found


@pytest.fixture
async def site(hub: Hub, postgres: Postgres, tmp_path: Path) -> AsyncIterator[ArchiveSite]:
    """An archive and a stream that hold nothing."""
    await made_streams(hub)
    async with ArchiveSite(hub, postgres.database(), tmp_path) as made:
        yield made
        await _emptied(made)


def _forged(event: ReplicatedEvent) -> ReplicatedEvent:
    return event._replace(stored=event.stored.replace(b'"actor":"shoe"', b'"actor":"core"'))


def _tail(events: list[ReplicatedEvent], stored: bytes) -> ReplicatedEvent:
    """An event that goes on from these, honestly hashed, whatever its bytes are."""
    last = events[-1]
    return ReplicatedEvent(last.origin, last.position + 1, stored, next_hash(last.hash, stored))


async def test_what_the_hub_has_is_archived_byte_by_byte(
    site: ArchiveSite, logs: list[Path]
) -> None:
    site.worker()
    await site.say(*(carried_in(log) for log in logs))
    await site.until_archived(*logs)
    assert site.ask("SELECT * FROM property.feed_alarm") == []


async def test_a_worker_killed_at_any_step_stores_nothing_twice(
    site: ArchiveSite, logs: list[Path]
) -> None:
    events = [carried_in(log) for log in logs]
    for number, step in enumerate(_STEPS):
        part = slice(number * 40, (number + 1) * 40)
        await site.say(*(each[part] for each in events))
        child = site.worker(step=step, nth=2, how="die")
        await site.until_over(child, f"it dies at {step}")
        assert child.code == -signal.SIGKILL
        # What is there is a beginning of each log, and its head says which.
        for log, each in zip(logs, events, strict=True):
            head, rows = archived(site.url, each[0].origin)
            assert [row.hash for row in rows] == [e.hash for e in carried_in(log)[: head.position]]
    site.worker()
    await site.say(*(each[len(_STEPS) * 40 :] for each in events))
    await site.until_archived(*logs)


async def test_workers_share_and_the_share_of_one_that_dies_hangs_or_leaves_moves(
    site: ArchiveSite, logs: list[Path]
) -> None:
    events = [carried_in(log) for log in logs]
    first = site.worker()
    await site.until_shared(PARTITIONS)
    second = site.worker()
    await site.until_shared(PARTITIONS // 2, PARTITIONS // 2)
    site.worker()
    await site.until_shared(4, 6, 6)
    await site.say(*(each[:100] for each in events))
    for _ in range(_TRIES):
        first.kill()
        began = time.monotonic()
        await site.until_shared(PARTITIONS // 2, PARTITIONS // 2)
        took = time.monotonic() - began
        if took < _MOVES_WITHIN_S:
            break
        first = site.worker()
        await site.until_shared(4, 6, 6)
    await site.say(*(each[100:150] for each in events))
    await site.until(lambda: site.count() == 150 * _TABLES, "archived")
    assert took < _MOVES_WITHIN_S, f"{took:.1f} s"
    os.kill(second.pid, signal.SIGSTOP)
    await site.until_shared(PARTITIONS)
    os.kill(second.pid, signal.SIGCONT)
    await site.until_shared(PARTITIONS // 2, PARTITIONS // 2)
    os.kill(second.pid, signal.SIGTERM)
    await site.say(*(each[150:] for each in events))
    await site.until_over(second, "it ends")
    assert second.code == 0
    await site.until_shared(PARTITIONS)
    await site.until_archived(*logs)


async def test_a_database_that_is_killed_is_waited_for(
    hub: Hub, logs: list[Path], tmp_path: Path
) -> None:
    await made_streams(hub)
    with postgres_cluster() as server:
        async with ArchiveSite(hub, server.database(), tmp_path) as site:
            children = [site.worker(), site.worker()]
            events = [carried_in(log) for log in logs]
            await site.until_shared(PARTITIONS // 2, PARTITIONS // 2)
            for part in (slice(0, 100), slice(100, None)):
                await site.say(*(each[part] for each in events[:3]))
                server.kill()
                await site.say(*(each[part] for each in events[3:]))
                server.start()
            await site.until_archived(*logs)
            assert [child.code for child in children] == [None, None]
            await _emptied(site)


async def test_a_wiped_hub_is_read_again_from_the_beginning(
    site: ArchiveSite, logs: list[Path]
) -> None:
    events = [carried_in(log) for log in logs]
    worker = site.worker()
    await site.say(*(each[:80] for each in events))
    await site.until(lambda: site.count() == 80 * _TABLES, "archived")
    os.kill(worker.pid, signal.SIGSTOP)  # it sees a stream that is longer than the one it knows
    await made_streams(site.hub, anew=True)
    # The uplinks fill it again, in another order than before; one has not come back.
    await site.say(*reversed(events[1:]))
    os.kill(worker.pid, signal.SIGCONT)
    await site.until_archived(*logs[1:])
    await site.say(events[0])
    await site.until_archived(*logs)
    assert site.ask("SELECT * FROM property.feed_alarm") == []
    assert "hub_read_again" in site.said()


async def test_forged_replayed_reordered_and_gapped_events_are_named_and_harm_no_other(
    site: ArchiveSite, logs: list[Path]
) -> None:
    forged, forked, replayed, reordered, gapped, sound = (carried_in(log) for log in logs)
    site.worker()
    await site.say(*(each[:50] for each in (forged, forked, replayed, reordered, gapped, sound)))
    await site.until(lambda: site.count() == 50 * _TABLES, "archived")

    await site.say([_forged(forged[50]), *forged[51:]])
    other = forked[49]._replace(hash=forked[48].hash)
    await site.say([other, *forked[50:]])
    await site.say([*replayed[20:50], *replayed[20:50], *replayed[50:]])
    await site.say([*reordered[:50:-1], *reordered[50:]])
    await site.say(gapped[51:])
    await site.say(sound[50:])

    await site.until_archived(logs[2], logs[3], logs[5])
    assert (await site.until_alarm(forged[0].origin, "forged"))["position"] == 51
    assert (await site.until_alarm(forked[0].origin, "fork"))["position"] == 50
    # The batches are as they come: what comes first of the later ones is named.
    assert (await site.until_alarm(gapped[0].origin, "gap"))["position"] > 51
    for each in (forged, forked, gapped):
        head, rows = archived(site.url, each[0].origin)
        assert (head, len(rows)) == (each[49].head, 50)
    states = {row["table"]: row["state"] for row in site.ask("SELECT * FROM property.head")}
    stopped = {each[0].origin.split("/")[1] for each in (forged, forked)}
    assert {name for name, state in states.items() if state == "stopped"} == stopped

    # The uplink of the gapped table finds that the hub lacks something, and says it.
    await site.say(gapped[50:])
    await site.until_archived(logs[4])
    # Of the reordered one the gap was there for a moment: it is over, and on record.
    asked = 'SELECT kind, cleared_at FROM property.feed_alarm WHERE "table" = ANY (%s)'
    names = [each[0].origin.split("/")[1] for each in (reordered, gapped)]
    await site.until(lambda: all(row["cleared_at"] for row in site.ask(asked, names)), "cleared")
    assert {row["kind"] for row in site.ask(asked, names)} == {"gap"}


async def test_a_rewritten_past_is_a_fork_wherever_it_begins(
    site: ArchiveSite, logs: list[Path]
) -> None:
    honest = carried_in(logs[0])
    site.worker()
    await site.say(honest)
    await site.until_archived(logs[0])
    # The hub was wiped, and the table comes with another past, hashed anew from event 30 on.
    await made_streams(site.hub, anew=True)
    rewritten = honest[:29]
    for each in honest[29:60]:
        stored = each.stored.replace(b'"actor":"shoe"', b'"actor":"core"', 1)
        rewritten.append(_tail(rewritten, stored))
    await site.say(rewritten)
    alarm = await site.until_alarm(honest[0].origin, "fork")
    assert alarm["position"] >= 30
    assert "is archived with" in alarm["reason"]
    assert differences(site.url, logs[:1]) == []


async def _released(site: ArchiveSite, origin: str) -> bool:
    async with await connect_archive(site.url) as db:
        return await release(site.url, db, origin, "s-1")


async def test_a_stopped_feed_goes_on_when_a_person_has_released_it(
    site: ArchiveSite, logs: list[Path]
) -> None:
    events = carried_in(logs[0])
    site.worker()
    await site.say(events[:50])
    await site.say([_forged(events[50]), *events[51:]])
    await site.until_alarm(events[0].origin, "forged")
    await purge_table((await site.keeper()).jetstream(), events[0].origin)
    await site.say(events)
    assert await _released(site, events[0].origin)
    assert not await _released(site, events[0].origin)
    await site.until_archived(logs[0])
    rows = site.ask("SELECT kind, cleared_by FROM property.feed_alarm")
    assert [tuple(row.values()) for row in rows] == [("forged", "s-1")]
    running = "SELECT * FROM property.head WHERE state = 'running'"
    await site.until(lambda: site.ask(running), "runs")


async def test_an_uplink_that_has_stopped_is_an_alarm_until_it_is_set_right(
    site: ArchiveSite, logs: list[Path]
) -> None:
    events = carried_in(logs[0])
    origin = split_origin(events[0].origin)
    site.worker()
    await site.say(events)
    stopped = UplinkStatus(state="stopped", position=9, code="fork", reason="another event")
    for data in (b"\xff no word", b"{}", msgspec.json.encode(stopped)):
        await site.say_raw(feed_subject(*origin), data, {})
    alarm = await site.until_alarm(events[0].origin, "uplink")
    assert (alarm["position"], alarm["reason"]) == (9, "fork: another event")
    await site.until_archived(logs[0])  # what the hub holds goes on into the archive
    # Nobody can say in an uplink's stead that it runs.
    assert not await _released(site, events[0].origin)
    assert await site.until_alarm(events[0].origin, "uplink") == alarm
    # Another uplink of the same table does not set it right; the newest reason stands.
    other = UplinkStatus(state="stopped", position=12, code="gap", reason="12 is not there")
    for word in (UplinkStatus(state="running"), UplinkStatus(state="ended"), other):
        await site.say_raw(feed_subject(*origin), msgspec.json.encode(word), {})
    newest = "SELECT 1 FROM property.feed_alarm WHERE position = 12 AND cleared_at IS NULL"
    await site.until(lambda: site.ask(newest), "the newest reason stands")
    await publish_uplink_ended((await site.keeper()).jetstream(), events[0].origin, "s-1")
    ended = "SELECT kind, reason, cleared_by FROM property.feed_alarm WHERE cleared_at > raised_at"
    await site.until(lambda: site.ask(ended), "the alarm is cleared")
    assert [tuple(row.values()) for row in site.ask(ended)] == [
        ("uplink", "gap: 12 is not there", "s-1")
    ]


async def test_what_a_restored_hub_has_before_the_place_is_asked_for(
    site: ArchiveSite, logs: list[Path]
) -> None:
    """The archive's place is the hub's, and yet something before it was never read."""
    events = carried_in(logs[0])
    worker = site.worker()
    await site.say(events[:50])
    await site.until(lambda: site.count() == 50, "archived")
    worker.stop()
    await site.say(events[50:100])
    place = {"sequence": 100, "hash": events[99].hash}
    site.ask("UPDATE property.feed SET sequence = %s, hash = %s RETURNING 1", *place.values())
    site.worker()
    await site.say(events[100:])
    await site.until_archived(logs[0])
    rows = site.ask("SELECT kind, cleared_at FROM property.feed_alarm")
    assert [row["kind"] for row in rows] == ["gap"]
    await site.until(
        lambda: site.ask("SELECT 1 FROM property.feed_alarm WHERE cleared_at > raised_at"),
        "cleared",
    )


def _there(site: ArchiveSite, events: list[ReplicatedEvent]) -> bool:
    return archived(site.url, events[0].origin) == (events[-1].head, events)


def _odd(
    events: list[ReplicatedEvent], data: bytes, at: bytes = b"2026", actor: bytes = b"shoe"
) -> list[ReplicatedEvent]:
    """With one more event, of which the envelope is in order."""
    position = b'"position":%d' % len(events)
    stored = events[-1].stored.partition(b'"data":')[0] + b'"data":' + data + b"}"
    stored = stored.replace(position, b'"position":%d' % (len(events) + 1))
    stored = re.sub(rb'"type":"[a-z_]+"', b'"type":"coup_settled"', stored, count=1)
    stored = stored.replace(b'"actor":"shoe"', b'"actor":"%b"' % actor)
    return [*events, _tail(events, stored.replace(b'"at":"2026', b'"at":"' + at))]


async def test_what_a_database_cannot_hold_stops_one_table_alone(
    site: ArchiveSite, logs: list[Path]
) -> None:
    ages, long, nul, sound, named = (carried_in(log)[:30] for log in logs[:5])
    name = "".join(random.Random(7).choices(string.ascii_letters, k=9000))  # nothing to compress
    odd = [_odd(ages, b"{}", at=b"0000")]
    long = _odd(long, b'{"coup":"%b"}' % name.encode())
    nul = _odd(nul, b'{"x":"\\u0000"}', actor=b"a\\u0000")
    site.worker()
    await site.say(*odd, long, nul, sound, named)
    # No event, honestly hashed; what is said of it holds the NUL.
    odd.append(_odd(named, b'{},"a\\u0000":1'))
    last = {POSITION: str(odd[-1][-1].position), HASH: odd[-1][-1].hash.hex()}
    await site.say_raw(event_subject(*split_origin(named[0].origin)), odd[-1][-1].stored, last)
    subject = event_subject(*split_origin(sound[0].origin))
    await site.say_raw(subject, b"?", {**replication_headers(sound[0]), "Bac-Position": "first"})
    await site.say(carried_in(logs[3])[30:])
    await site.until_archived(logs[3])
    for each in (long, nul):  # an event that this build cannot read is archived all the same
        await site.until(partial(_there, site, each), "what no row follows from")
    for each in odd:
        alarm = await site.until_alarm(each[0].origin, "unreadable")
        assert alarm["reason"]
        # All or nothing of a batch: what came with the odd one waits for a person too.
        head, rows = archived(site.url, each[0].origin)
        assert len(rows) == head.position <= 30
        assert [row.stored for row in rows] == [e.stored for e in each[: head.position]]
    assert r"\u0000" in (await site.until_alarm(named[0].origin, "unreadable"))["reason"]
    assert (await site.until_alarm(sound[0].origin, "nonsense"))["position"] == 0


async def _emptied(site: ArchiveSite) -> None:
    js = (await site.keeper()).jetstream()
    for name in (EVENTS, CHECKPOINTS, COSIGNED, FEEDS, EDITIONS):
        await js.delete_stream(name)
