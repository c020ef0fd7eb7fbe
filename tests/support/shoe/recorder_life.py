"""A driver's recorder on a folder, without a port and a bus; and a core that takes all it tells."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from events.clock import Clock, SystemClock
from events.mqtt.process import Steps
from events.mqtt.process_shell import clock_and_log_lines, perform_at_once
from events.types import ShoeEvent
from shoe_driver.journal.folder import JournalFolder
from shoe_driver.journal.records import Record, RecordKind
from shoe_driver.outbox import IN_FLIGHT
from shoe_driver.process.recorder import Recorder
from shoe_driver.process.retention import JournalRetention
from shoe_driver.profiles.catalogue import profile_text
from shoe_driver.service.journal_store import JournalStore

CLOCK = SystemClock()
SHIPPED = profile_text("enq-bcc")

Do: TypeAlias = Callable[[Steps[Any]], Any]
"""Performs a recorder's steps, and returns their result."""


@contextmanager
def life(
    folder: Path,
    profile: bytes = SHIPPED,
    keep: JournalRetention = JournalRetention(),  # noqa: B008 - it is frozen
    clock: Clock = CLOCK,
) -> Iterator[tuple[Recorder, Do]]:
    """One life of a driver on this folder, without its port and its bus."""
    with JournalFolder(folder) as locked:
        store, recorder = JournalStore(locked, clock), Recorder(profile, keep)
        performers = {**clock_and_log_lines(clock), **store.at_once, **store.in_order}

        def do(steps: Steps[Any]) -> Any:
            return perform_at_once(steps, performers)

        try:
            do(recorder.start())
            yield recorder, do
            do(recorder.note_acked())
        finally:
            store.close()


@contextmanager
def open_life(folder: Path, *args: Any, **more: Any) -> Iterator[tuple[Recorder, Do]]:
    """The same, once its port is open."""
    with life(folder, *args, **more) as (recorder, do):
        do(recorder.happened(RecordKind.OPEN, "pty:/x"))
        yield recorder, do


def data(content: bytes, clock: Clock = CLOCK) -> list[Record]:
    return [Record(RecordKind.DATA, clock.mono_us(), clock.utc_ns(), content)]


def sent(recorder: Recorder, do: Do) -> list[ShoeEvent]:
    """Everything that is not acknowledged, sent and acknowledged as a core would."""
    found: list[ShoeEvent] = []
    while True:
        do(recorder.refill())
        batch = list(recorder.outbox.due())
        if not batch:
            return found
        assert len(batch) <= IN_FLIGHT
        for seq, message in batch:
            recorder.outbox.sent(seq)
            found.append(msgspec.json.decode(message, type=ShoeEvent))
        recorder.outbox.acknowledge(found[-1].seq)
