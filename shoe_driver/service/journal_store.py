"""The journals of a driver's folder: performs the effects of the driver's process on them."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Final

from events.clock import Clock
from events.errors import OurBug
from events.mqtt.process import Effect
from events.mqtt.process_shell import AtOnce, Waiting
from shoe_driver.journal.folder import JournalFolder
from shoe_driver.process.effects import (
    BeginJournal,
    BeginSegment,
    DropFile,
    JournalFile,
    JournalNote,
    JournalSegment,
    ListFiles,
    LookUpJournal,
    NoteAcked,
    OpenJournal,
    OpenNewest,
    ReadJournal,
    StoreRecords,
)
from shoe_driver.service.journal_segments import JournalChain

__all__ = ["JournalStore"]

# The limit for a stopping driver's last note; without it some events are sent twice after the next
# start.
_NOTE_S: Final = 0.5


class JournalStore:
    """Performs effects on the journals.

    Args:
        folder: theirs.
        clock: stamps the first records of files.

    Attributes:
        at_once: performs those that do not wait.
        in_order: performs all others, right away.
        in_thread: performs the same in a thread of its own, one after another.
    """

    def __init__(self, folder: JournalFolder, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock
        self._chain: JournalChain | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="shoe-journal")
        self._noting: Future[None] | None = None
        self.at_once: AtOnce = {LookUpJournal: self._look_up, NoteAcked: self._note}
        self.in_order: AtOnce = {
            OpenNewest: self._open_newest,
            BeginJournal: self._begin,
            ReadJournal: self._read,
            StoreRecords: self._append,
            BeginSegment: self._go_on,
            ListFiles: self._list,
            DropFile: self._drop,
        }
        self.in_thread: Waiting = {
            effect: self._threaded(perform) for effect, perform in self.in_order.items()
        }

    def close(self) -> None:
        """Close the files. Does not wait for a hanging disk."""
        self._thread.shutdown(wait=False)
        if self._noting:
            wait([self._noting], _NOTE_S)
        if self._chain:
            self._chain.close()

    def _threaded(self, perform: Callable[[Any], object]) -> Callable[[Any], Any]:
        def performed(effect: Effect[Any]) -> asyncio.Future[object]:
            return asyncio.get_running_loop().run_in_executor(self._thread, perform, effect)

        return performed

    @property
    def _opened(self) -> JournalChain:
        if self._chain is None:
            raise OurBug("no journal is open")
        return self._chain

    def _open_newest(self, _: OpenNewest) -> OpenJournal | None:
        newest = self._folder.newest()
        if not newest:
            return None
        self._chain = JournalChain(newest)
        self._folder.keep_profile(self._chain.header.profile.encode())
        return self._described(self._chain)

    def _begin(self, effect: BeginJournal) -> OpenJournal:
        begun = self._folder.begin(effect.profile, self._clock, effect.carried)
        begun.close()
        old, self._chain = self._chain, JournalChain([begun.path])
        if old:
            old.close()
        return self._described(self._chain)

    def _described(self, chain: JournalChain) -> OpenJournal:
        return OpenJournal(
            header=chain.header,
            file=chain.path.name,
            size=chain.size,
            floor=chain.floor,
            acked=self._folder.acked(chain.header.journal),
            torn=chain.torn,
        )

    def _read(self, effect: ReadJournal) -> None:
        for record in self._opened.records(effect.after):
            effect.visit(record)

    def _append(self, effect: StoreRecords) -> int:
        self._opened.append(effect.records)
        return self._opened.size

    def _go_on(self, effect: BeginSegment) -> JournalSegment:
        state = self._opened.go_on(effect.carried, self._clock)
        return JournalSegment(self._opened.path.name, self._opened.size, state)

    def _list(self, _: ListFiles) -> list[JournalFile]:
        if self._folder.on_hold:
            return []
        last = self._opened.last_events
        found = [(path, path.stat()) for path in self._folder.files()]
        return [
            JournalFile(path.name, status.st_size, status.st_mtime, last.get(path, 0))
            for path, status in found
        ]

    def _drop(self, effect: DropFile) -> None:
        path = self._folder.path / effect.name
        self._folder.drop(path)
        self._opened.forget(path)

    def _look_up(self, effect: LookUpJournal) -> JournalNote:
        folder, journal = self._folder, effect.journal
        return JournalNote(folder.knows(journal), folder.acked(journal))

    def _note(self, effect: NoteAcked) -> None:
        self._noting = self._thread.submit(self._folder.note_acked, effect.journal, effect.seq)
