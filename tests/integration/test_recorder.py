"""Journal, decoder and outbox in step: over lives, over a full disk, and with much left to tell."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from events.clock import SystemClock
from events.errors import LogRefused, LogUnwritable
from events.shoe import ShoeEvent
from shoe_driver.edge.catalogue import profile_text
from shoe_driver.edge.folder import JournalFolder
from shoe_driver.edge.recorder import Recorder
from shoe_driver.link import LinkState
from shoe_driver.outbox import IN_FLIGHT, KEPT
from shoe_driver.records import Record, RecordKind
from tests.support.disk import disk_full_at
from tests.support.shoe_bytes import PROFILE, frames, said, stream
from tests.support.shoe_line import only_journal, size_of_journal

CLOCK = SystemClock()
SHIPPED = profile_text("enq-bcc")


@asynccontextmanager
async def life(folder: Path, profile: bytes = SHIPPED) -> AsyncIterator[Recorder]:
    """One life of a driver on this folder, without its port and its bus."""
    with JournalFolder(folder) as locked:
        recorder = Recorder(locked, profile, CLOCK, lambda _: None)
        try:
            yield recorder
        finally:
            recorder.close()


def data(content: bytes) -> list[Record]:
    return [Record(RecordKind.DATA, CLOCK.mono_us(), CLOCK.utc_ns(), content)]


async def sent(recorder: Recorder) -> list[ShoeEvent]:
    """Everything that is not acknowledged, sent and acknowledged as a core would."""
    found: list[ShoeEvent] = []
    while True:
        await recorder.refill()
        batch = list(recorder.outbox.due())
        if not batch:
            return found
        assert len(batch) <= IN_FLIGHT
        for seq, message in batch:
            recorder.outbox.sent(seq)
            found.append(msgspec.json.decode(message, type=ShoeEvent))
        recorder.outbox.acknowledge(found[-1].seq)


async def test_a_new_life_tells_the_same_events_again_and_the_break(tmp_path: Path) -> None:
    async with life(tmp_path) as recorder:
        await recorder.happened(RecordKind.OPEN, "pty:/x")
        await recorder.arrived(data(stream("D P1 9H, D B1 2D")))
        first = await sent(recorder)
        journal = recorder.journal
    assert said(first) == [
        "link_open pty:/x",
        "link_up",
        "card_drawn player 1 9H",
        "card_drawn banker 1 2D",
    ]
    (tmp_path / f"{journal}.acked").write_bytes(b"2\n")  # killed before the note was renewed
    async with life(tmp_path) as recorder:
        await recorder.settle()
        assert recorder.journal == journal
        again = await sent(recorder)
        assert recorder.counts == (0, 0, 0)
    assert again[:2] == first[2:]
    assert said(again[2:]) == ["link_down driver restarted"]


async def test_what_was_acknowledged_is_not_told_again(tmp_path: Path) -> None:
    async with life(tmp_path) as recorder:
        await recorder.happened(RecordKind.OPEN, "pty:/x")
        await recorder.hang_up("stopped")
        assert len(await sent(recorder)) == 2
    async with life(tmp_path) as recorder:
        await recorder.settle()
        assert await sent(recorder) == []
        assert recorder.decoder.head == 2


async def test_days_without_a_core_cost_no_memory_and_no_event(tmp_path: Path) -> None:
    cards = KEPT + 3 * IN_FLIGHT
    async with life(tmp_path) as recorder:
        reports = stream(", ".join(["D P1 9H"] * cards), copies=1)
        for start in range(0, len(reports), 4096):
            await recorder.arrived(data(reports[start : start + 4096]))
        assert (recorder.decoder.head, recorder.outbox.kept) == (cards, KEPT)
        told = await sent(recorder)
        assert recorder.outbox.kept == 0
    assert [event.seq for event in told] == list(range(1, cards + 1))
    assert told[-1].offset == (cards - 1) * 8


async def test_a_break_that_could_not_be_stored_is_owed_and_a_card_is_not(tmp_path: Path) -> None:
    async with life(tmp_path) as recorder:
        await recorder.happened(RecordKind.OPEN, "pty:/x")
        with disk_full_at(size_of_journal(tmp_path)):
            with pytest.raises(LogUnwritable):
                await recorder.arrived(data(frames("D P1 9H")[0]))
            for reason in ("full", "still full"):
                with pytest.raises(LogUnwritable):
                    await recorder.hang_up(reason)
            assert recorder.decoder.link is LinkState.OPEN
        await recorder.settle()
        assert said(await sent(recorder)) == ["link_open pty:/x", "link_down full"]


async def test_a_disk_that_lost_what_was_acknowledged_begins_a_new_journal(tmp_path: Path) -> None:
    """Its numbers are taken: the core would drop new cards under them as copies of old ones."""
    async with life(tmp_path) as recorder:
        await recorder.happened(RecordKind.OPEN, "pty:/x")
        await recorder.hang_up("stopped")
        await sent(recorder)
        before, path = recorder.journal, tmp_path / f"{recorder.journal}.journal"
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    async with life(tmp_path) as recorder:
        await recorder.settle()
        await recorder.happened(RecordKind.OPEN, "pty:/x")
        assert recorder.journal != before
        assert [event.seq for event in await sent(recorder)] == [1]
    assert path.exists()


async def test_a_damaged_journal_stops_the_driver_and_is_left_alone(tmp_path: Path) -> None:
    async with life(tmp_path) as recorder:
        await recorder.happened(RecordKind.OPEN, "pty:/x")
        await recorder.hang_up("stopped")
    path = only_journal(tmp_path)
    damaged = bytearray(path.read_bytes())
    damaged[-60] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(LogRefused, match="the journal is damaged"):
        async with life(tmp_path):
            pytest.fail("it started")
    assert path.read_bytes() == damaged


async def test_a_journal_is_read_to_its_end_with_the_profile_it_was_begun_with(
    tmp_path: Path,
) -> None:
    other = SHIPPED.replace(b'1 = "cannot_read"', b'1 = "blind"')
    async with life(tmp_path) as recorder:
        await recorder.arrived(data(stream("E 1")))
    async with life(tmp_path, other) as recorder:
        await recorder.settle()
        assert recorder.wants_to_roll
        assert not recorder.roll()  # not while something is unacknowledged
        await recorder.arrived(data(stream("E 1", first_seq=2)))
        told = await sent(recorder)
        assert said(told) == ["error_raised cannot_read", "error_raised cannot_read"]
        assert {event.profile_hash for event in told} == {PROFILE.digest}
        before, counts = recorder.journal, recorder.counts
        assert recorder.roll()
        assert recorder.journal != before
        assert recorder.counts == counts == (1, 0, 0)
        await recorder.arrived(data(stream("E 1", first_seq=3)))
        assert said(await sent(recorder)) == ["error_raised blind"]
        assert not recorder.wants_to_roll
