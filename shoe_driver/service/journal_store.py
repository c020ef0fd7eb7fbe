"""The journals of a driver's folder: performs the effects of the driver's process on them."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Event, Thread
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
# How long the loop waits for the disk before it does other things: a forced write takes 0.2 to
# 0.4 ms, and a millisecond later neither a byte's time nor a heartbeat is wrong.
_QUICK_S: Final = 0.001


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
        self._thread = _DiskThread()
        self._noted = Event()
        self._noted.set()
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
        self._noted.wait(_NOTE_S)
        self._thread.end()
        if self._chain:
            self._chain.close()

    def _threaded(self, perform: Callable[[Any], object]) -> Callable[[Any], Any]:
        def performed(effect: Effect[Any]) -> asyncio.Future[object]:
            return self._thread.result_of(perform, effect)

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
        self._noted.clear()
        self._thread.begin(lambda: self._write_note(effect))

    def _write_note(self, effect: NoteAcked) -> None:
        try:
            self._folder.note_acked(effect.journal, effect.seq)
        finally:
            self._noted.set()


class _DiskThread:
    """A thread that does one thing after another, for a loop that must not wait for a disk.

    A card waits until this thread wakes, and then until the loop does. An executor, with locks and
    a future of its own, takes half as long again. The thread is a daemon: a disk that hangs does
    not keep the process.
    """

    def __init__(self) -> None:
        self._work: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        Thread(target=self._run, name="shoe-journal", daemon=True).start()

    def result_of(self, perform: Callable[[Any], object], effect: Any) -> asyncio.Future[object]:
        """Perform an effect after all others; return its result to the running loop.

        The loop stands still for `_QUICK_S` at most. A disk in order is done by then, and the loop
        need not be woken.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[object] = loop.create_future()
        outcome: SimpleQueue[Callable[[], None]] = SimpleQueue()
        loop_went_on = False

        def work() -> None:
            try:
                outcome.put(partial(done.set_result, perform(effect)))
            except Exception as error:  # noqa: BLE001 - the process decides what it means
                outcome.put(partial(done.set_exception, error))
            if loop_went_on:
                with suppress(RuntimeError):  # the loop is closed, and nobody waits
                    loop.call_soon_threadsafe(take)

        def take() -> None:
            with suppress(Empty):  # taken already
                tell = outcome.get_nowait()
                if not done.done():  # somebody still waits
                    tell()

        self._work.put(work)
        try:
            outcome.get(timeout=_QUICK_S)()
        except Empty:
            loop_went_on = True
            take()
        return done

    def begin(self, work: Callable[[], object]) -> None:
        """Do something after all else. It must not raise."""
        self._work.put(work)

    def end(self) -> None:
        """End the thread after what it has to do. Does not wait."""
        self._work.put(None)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()
