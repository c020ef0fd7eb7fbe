"""The cage service: runs the cage's process on asyncio, and its ledger in a thread."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from cage.ledger.received_event import LedgerEvent
from cage.ledger.store import LedgerStore
from cage.process import Book, CageCounters, CageProcess, CloseLedger, OpenLedger
from cage.reorder_buffer import ReorderBuffer
from events.clock import Clock
from events.mqtt.bus import BusSettings
from events.mqtt.process_shell import ProcessShell
from events.mqtt.topics import Topics

__all__ = ["CageService", "Probe"]

Probe = Callable[[str], None]
"""Called with `book.before`, `book.after`, `ack.before` and `ack.after` for each batch."""

_NS_IN_MS: Final = 1_000_000

_T = TypeVar("_T")


class CageService:
    """Books one table's events; see `cage.process`.

    Args:
        settings: the broker and the login.
        topics: the table's topics.
        open_store: opens the table's book; called again after a database outage.
        clock: for timestamps, and to tell this run's transactions from an earlier run's.
        user: the login's name on the bus, which the table lists as a cage.
        consumer: the name under which the table stores the acknowledged position.
        probe: called at each step.
        on_booked: called with the events that were booked, each once; must not wait.
    """

    def __init__(
        self,
        settings: BusSettings,
        topics: Topics,
        open_store: Callable[[], LedgerStore],
        clock: Clock,
        *,
        user: str = "cage",
        consumer: str = "cage",
        probe: Probe = lambda _: None,
        on_booked: Callable[[Sequence[LedgerEvent]], None] = lambda _: None,
    ) -> None:
        self._open, self._on_booked = open_store, on_booked
        self._store = open_store()
        self._reported = self._store.position
        self._process = CageProcess(
            topics,
            position=self._store.position,
            head=self._store.head,
            utc_ns=clock.utc_ns(),
            session=clock.utc_ns() // _NS_IN_MS,
            user=user,
            consumer=consumer,
        )
        self._shell = ProcessShell(
            self._process,
            settings,
            clock,
            at_once={CloseLedger: lambda _: self._store.close()},
            waiting={Book: self._book, OpenLedger: self._reopen},
            probe=probe,
        )

    @property
    def counts(self) -> CageCounters:
        """Counters since the start."""
        return self._process.counts

    @property
    def inflow(self) -> ReorderBuffer:
        """The received events, in log order."""
        return self._process.inflow

    @property
    def booked(self) -> int:
        """The position up to which everything is in the ledger."""
        return self._process.booked

    @property
    def acknowledged(self) -> int:
        """The newest position that the table has recorded as booked."""
        return self._process.acknowledged

    async def run(self, stop: asyncio.Event) -> None:
        """Consume until `stop` is set.

        Raises:
            ExceptionGroup: holds a TableError: the broker refuses the login, the table refuses an
                acknowledgement, or the ledger and the log contradict one another.
        """
        try:
            await self._shell.run(stop)
        finally:
            self._store.close()

    async def caught_up(self, position: int) -> None:
        """Wait until everything up to `position` is booked and acknowledged."""
        await self._shell.performer.perform(self._process.caught_up(position))

    async def _book(self, effect: Book) -> int:
        await _in_thread(lambda: self._store.book(effect.events))
        self._on_booked([fact for fact in effect.events if fact.position > self._reported])
        self._reported = self._store.position
        return self._store.position

    async def _reopen(self, _: OpenLedger) -> int:
        self._store = await _in_thread(self._open)
        return self._store.position


async def _in_thread(work: Callable[[], _T]) -> _T:
    """Run a blocking function in a thread; a cancellation waits for its end.

    Nothing can stop the thread.
    """
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running})
        raise
