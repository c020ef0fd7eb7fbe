"""Performs the effects of the driver's process on the world's journals and on its line."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

from events.mqtt.process_shell import AtOnce
from shoe_driver.journal.records import Record, RecordKind, encode_record
from shoe_driver.process.effects import (
    AckReceived,
    BeginJournal,
    BytesWait,
    ClosePort,
    JournalNote,
    LookUpJournal,
    NoteAcked,
    OpenJournal,
    OpenNewest,
    OpenPort,
    ReadJournal,
    StoreRecords,
    TakeRead,
    Uniform,
    WritePort,
)
from simulators.world.parts.clock import WorldClock
from simulators.world.parts.fault_injector import Killed
from simulators.world.parts.journal_disk import JournalDisk, WorldJournal
from simulators.world.parts.port import WorldPort

__all__ = ["DriverEffects"]

_READS: Final = (4096, 4096, 4096, 32, 7, 1)  # bytes at most


class DriverEffects:
    """Performs the effects of one life of a driver.

    Args:
        disk: where the journals are.
        port: the shoe's line.
        clock: the world's.
        rng: how a read is cut, and what the driver draws.
        probe: told of a write that is under way; it may kill the process there.

    Attributes:
        at_once: performs those that do not wait.
        waiting: performs those that wait.
    """

    def __init__(
        self,
        disk: JournalDisk,
        port: WorldPort,
        clock: WorldClock,
        rng: Random,
        probe: Callable[[str], None],
    ) -> None:
        self._disk, self._port, self._clock, self._rng = disk, port, clock, rng
        self._probe = probe
        self._journal: WorldJournal
        self.at_once: AtOnce = {
            AckReceived: lambda _: None,
            BytesWait: lambda _: port.readable,
            ClosePort: lambda _: port.close(),
            LookUpJournal: self._look_up,
            NoteAcked: lambda effect: disk.acked.update({effect.journal: effect.seq}),
            TakeRead: self._take,
            Uniform: lambda effect: rng.uniform(effect.least, effect.most),
            WritePort: lambda effect: port.say(effect.data),
        }
        self.waiting: AtOnce = {
            BeginJournal: lambda effect: self._opened(disk.begin(effect.profile, clock)),
            OpenNewest: self._open_newest,
            OpenPort: self._open_port,
            ReadJournal: self._read,
            StoreRecords: self._store,
        }

    def _open_newest(self, _: OpenNewest) -> OpenJournal | None:
        journals = self._disk.journals
        return self._opened(WorldJournal(self._disk, journals[-1])) if journals else None

    def _opened(self, journal: WorldJournal) -> OpenJournal:
        self._journal, header = journal, journal.header
        return OpenJournal(
            header=header,
            file=header.journal,
            size=journal.size,
            acked=self._disk.acked.get(header.journal, 0),
            torn=journal.torn,
        )

    def _read(self, effect: ReadJournal) -> None:
        for record in self._journal.records():
            effect.visit(record)

    def _store(self, effect: StoreRecords) -> int:
        try:
            self._probe("a write")
        except Killed:
            data = b"".join(map(encode_record, effect.records))
            self._disk.tear(self._journal.header.journal, data)
            raise
        self._journal.append(effect.records)
        return self._journal.size

    def _look_up(self, effect: LookUpJournal) -> JournalNote:
        known = effect.journal in self._disk.journals
        return JournalNote(known, self._disk.acked.get(effect.journal, 0))

    def _open_port(self, effect: OpenPort) -> float:
        self._port.open(effect.arrived.set)
        return 0.0

    def _take(self, _: TakeRead) -> Sequence[Record]:
        """Take what there is; the kernel sometimes hands it over in pieces."""
        if not self._port.readable:
            return ()
        data = self._port.read(self._rng.choice(_READS))
        return (Record(RecordKind.DATA, self._clock.mono_us(), self._clock.utc_ns(), data),)
