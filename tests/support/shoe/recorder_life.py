"""A driver's recorder on a folder, without a port and a bus; and a core that takes all it tells."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from events.clock import Clock, SystemClock
from events.types.shoe_reports import ShoeEvent
from shoe_driver.journal.folder import JournalFolder
from shoe_driver.journal.records import Record, RecordKind
from shoe_driver.outbox import IN_FLIGHT
from shoe_driver.profiles.catalogue import profile_text
from shoe_driver.service.recorder import Recorder
from shoe_driver.service.retention import JournalRetention

CLOCK = SystemClock()
SHIPPED = profile_text("enq-bcc")


@asynccontextmanager
async def life(
    folder: Path,
    profile: bytes = SHIPPED,
    keep: JournalRetention | None = None,
    clock: Clock = CLOCK,
) -> AsyncIterator[Recorder]:
    """One life of a driver on this folder, without its port and its bus."""
    with JournalFolder(folder) as locked:
        recorder = Recorder(locked, profile, clock, lambda _: None, keep)
        try:
            yield recorder
        finally:
            recorder.close()


@asynccontextmanager
async def open_life(folder: Path, *args: Any, **more: Any) -> AsyncIterator[Recorder]:
    """The same, once its port is open."""
    async with life(folder, *args, **more) as recorder:
        await recorder.happened(RecordKind.OPEN, "pty:/x")
        yield recorder


def data(content: bytes, clock: Clock = CLOCK) -> list[Record]:
    return [Record(RecordKind.DATA, clock.mono_us(), clock.utc_ns(), content)]


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
