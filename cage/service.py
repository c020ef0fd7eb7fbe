"""The cage service, a durable consumer: reads every event once, books it, then acknowledges it.

    bus -> reorder buffer (log order) -> store (one transaction) -> acknowledgement

After every connect, and at every gap, the service requests a replay from its own position. The
retained `state` reveals that the newest event is missing. The service acknowledges only events that
are on disk. It therefore resumes after a day's absence, after a kill between any two steps, and
after the broker has lost everything. While the ledger's database is unavailable the service waits,
and the table raises its alarm.
"""

import asyncio
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final, TypeVar

import structlog
from msgspec import Struct

from cage.feed.reorder_buffer import READY_MOST, ReorderBuffer
from cage.feed.request_client import CageRequestClient
from cage.ledger.received_event import LedgerEvent, decode_published_event
from cage.ledger.store import LedgerStore
from events.clock import Clock
from events.commands.base import ANSWER_REFUSED, Answer
from events.commands.consumers import Ack, Replay
from events.errors import BusError, LedgerError, LedgerUnavailable, MalformedJson, UnreadableEvent
from events.json_form import decode_json
from events.mqtt.bus import Bus, BusSettings, Message
from events.mqtt.presence import PresencePublisher
from events.mqtt.topics import Topics
from events.types.table import BettingOpened, ShoeLoaded, WagersPlaced, WagersWithdrawn

__all__ = ["SERVICE", "CageCounters", "CageService", "Probe"]

SERVICE: Final = "cage"

Probe = Callable[[str], None]
"""Called with `book.before`, `book.after` and `ack.before` for each batch."""

# Most events of one commit: the service books a long backlog in steps.
_BATCH: Final = 512
# Events that move no value wait this many seconds for one that does.
_IDLE_S: Final = 1.0
# After this many seconds without progress, or after a refusal, request the replay again.
_STALLED_S: Final = 2.0
# Seconds to wait, after a replay's last event has arrived, for those still missing.
_SHUFFLED_S: Final = 0.1
# Seconds between two attempts to reach an unavailable database.
_DATABASE_S: Final = 0.5
_TRANSIENT_REFUSALS: Final = frozenset({"too_many_replays", "log_unwritable", "catching_up"})
# The service books these at once but acknowledges them with the settlement: an acknowledgement
# makes the table sync its disk, which must not delay its cards.
_ACKNOWLEDGED_LATER: Final = (ShoeLoaded, BettingOpened, WagersPlaced, WagersWithdrawn)
_NS_IN_MS: Final = 1_000_000

_T = TypeVar("_T")

_log: Final = structlog.get_logger()


class CageCounters(Struct, kw_only=True):
    """Counters since the service's start.

    Args:
        junk: messages that were no events.
        replays: requested replays.
        commits: booked batches.
        outages: losses of the database.
    """

    junk: int = 0
    replays: int = 0
    commits: int = 0
    outages: int = 0


class _StatePosition(Struct, frozen=True):
    """The part of the retained `state` that the cage reads: the table's position."""

    position: int


class CageService:
    """Books one table's events; see the module.

    Args:
        settings: the broker and the login.
        topics: the table's topics.
        open_store: opens the table's book; called again after a database outage.
        clock: for timestamps, and to tell this run's transactions from an earlier run's.
        user: the login's name on the bus, which the table lists as a cage.
        consumer: the name under which the table stores the acknowledged position.
        probe: called at each step.
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
    ) -> None:
        self.counts = CageCounters()
        self.acknowledged = 0
        self._topics, self._consumer = topics, consumer
        self._open, self._probe = open_store, probe
        self._store = open_store()
        self.inflow = ReorderBuffer(self._store.position)
        self._session = clock.utc_ns() // _NS_IN_MS
        self._presence_publisher = PresencePublisher(topics.status(SERVICE), self._session, clock)
        self._request_client = CageRequestClient(topics, user)
        self._to_acknowledge = self._store.position
        self._replayed = 0  # the newest position received in this replay
        self._reread_due = asyncio.Event()
        self._ack_due = asyncio.Event()
        self._moved = asyncio.Condition()
        self._bus = Bus(
            settings,
            subscriptions={
                topics.response(user): self._request_client.on_answer,
                topics.replayed(user): self._on_event,
                topics.event: self._on_event,
                topics.state: self._on_state,
                topics.status(SERVICE): self._on_own_status,
            },
            will=self._presence_publisher.will,
            on_connect=self._on_connect,
        )

    @property
    def booked(self) -> int:
        """The position up to which everything is in the ledger."""
        return self._store.position

    async def run(self, stop: asyncio.Event) -> None:
        """Consume until `stop` is set.

        Raises:
            ExceptionGroup: holds a TableError: the broker refuses the login, the table refuses an
                acknowledgement, or the ledger and the log contradict one another.
        """
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(each)
                    for each in (
                        self._bus.run(),
                        self._presence_publisher.beat(self._bus),
                        self._reread(),
                        self._watch_for_silence(),
                        self._write(),
                        self._acknowledge(),
                    )
                ]
                await stop.wait()
                for task in tasks:
                    task.cancel()
        finally:
            self._store.close()

    # ---- in ----

    async def _on_connect(self) -> None:
        self._presence_publisher.announce(self._bus)
        self._reread_due.set()

    async def _on_own_status(self, message: Message) -> None:
        if self._presence_publisher.is_stale_will(message.payload):
            self._presence_publisher.announce(self._bus)

    async def _on_state(self, message: Message) -> None:
        try:
            self.inflow.extend_to(decode_json(message.payload, _StatePosition).position)
        except MalformedJson:
            self.counts.junk += 1

    async def _on_event(self, message: Message) -> None:
        try:
            fact = decode_published_event(message.payload)
        except UnreadableEvent as error:
            self.counts.junk += 1
            _log.error("event.unreadable", topic=message.topic, reason=str(error))
            return
        if message.topic != self._topics.event:
            self._replayed = max(self._replayed, fact.position)
        if self.inflow.offer(fact):
            _log.warning("event.gap", read=self.inflow.taken, came=fact.position)
            self._reread_due.set()
        async with self._moved:
            self._moved.notify_all()

    async def _reread(self) -> None:
        while True:
            await self._reread_due.wait()
            self._reread_due.clear()
            async with self._moved:
                await self._moved.wait_for(lambda: len(self.inflow.ready) <= READY_MOST // 2)
            self.inflow.overflowed = False
            self._replayed = 0
            self.counts.replays += 1
            read = self.inflow.taken
            answer = await self._request_client.ask(
                self._bus,
                Replay(
                    transaction=f"replay-{self._session}-{self.counts.replays}",
                    start=read + 1,
                ),
            )
            if answer.result == ANSWER_REFUSED:
                _log_if_transient(answer, "a replay")
                self._reread_due.set()
                await asyncio.sleep(_STALLED_S)
                continue
            head = answer.position or 0
            if head < read:
                raise LedgerError(
                    f"the ledger has read {read} events and the table's log ends at {head}: it was "
                    "cut or restored from an older copy; nothing more is booked"
                )
            await self._follow(head)

    async def _follow(self, head: int) -> None:
        """Wait until the replay reaches `head`, overflows the buffer or stalls."""
        self.inflow.ends_at(head)
        async with self._moved:
            while self.inflow.taken < head and not self.inflow.overflowed:
                before, over = self.inflow.taken, self._replayed >= head
                # Live events that arrive early are no progress.
                if not await self._within(
                    _SHUFFLED_S if over else _STALLED_S,
                    lambda: (
                        self.inflow.taken > before  # noqa: B023 - asked within this turn
                        or self.inflow.overflowed
                        or (self._replayed >= head and not over)  # noqa: B023 - the same
                    ),
                ):
                    break
        if self.inflow.behind:
            self._reread_due.set()
        else:
            self._ack_due.set()

    async def _watch_for_silence(self) -> None:
        """Request a replay if the table has moved on and no event arrives."""
        read = -1
        while True:
            if self.inflow.behind and self.inflow.taken == read:
                self._reread_due.set()
            read = self.inflow.taken
            await asyncio.sleep(_STALLED_S)

    async def _within(self, seconds: float, holds: Callable[[], bool]) -> bool:
        """Return whether the condition held in time; call this with `_moved` locked."""
        try:
            async with asyncio.timeout(seconds):
                await self._moved.wait_for(holds)
        except TimeoutError:
            return False
        return True

    # ---- into the ledger ----

    async def _write(self) -> None:
        while True:
            await self._wait_for_batch()
            batch = list(islice(self.inflow.ready, _BATCH))
            self._probe("book.before")
            await self._book(batch)
            self._probe("book.after")
            self.counts.commits += 1
            for _ in batch:
                self.inflow.ready.popleft()
            async with self._moved:
                self._moved.notify_all()
            if self.inflow.overflowed:
                self._reread_due.set()
            self._to_acknowledge = self._store.position
            if not all(isinstance(fact.data, _ACKNOWLEDGED_LATER) for fact in batch):
                self._ack_due.set()

    async def _wait_for_batch(self) -> None:
        """Wait for events to book; events that move no value wait up to `_IDLE_S`."""
        ready = self.inflow.ready
        async with self._moved:
            await self._moved.wait_for(lambda: ready)
            await self._within(
                _IDLE_S,
                lambda: (
                    len(ready) >= _BATCH
                    or any(fact.data is not None for fact in islice(ready, _BATCH))
                ),
            )

    async def _book(self, batch: Sequence[LedgerEvent]) -> None:
        while True:
            try:
                await _in_thread(lambda: self._store.book(batch))
            except LedgerUnavailable as error:
                await self._reopen(error)
            else:
                return

    async def _reopen(self, error: LedgerUnavailable) -> None:
        """Wait for the database; its cursor shows what was committed before the outage."""
        self.counts.outages += 1
        _log.error("ledger.away", reason=str(error))
        self._store.close()
        while True:
            await asyncio.sleep(_DATABASE_S)
            try:
                self._store = await _in_thread(self._open)
            except LedgerUnavailable:
                continue
            _log.info("ledger.back", position=self._store.position)
            return

    # ---- and out ----

    async def _acknowledge(self) -> None:
        while True:
            await self._ack_due.wait()
            self._ack_due.clear()
            position = self._to_acknowledge
            if position <= self.acknowledged:
                continue
            self._probe("ack.before")
            transaction = f"ack-{self._session}-{position}"
            ack = Ack(transaction=transaction, consumer=self._consumer, position=position)
            answer = await self._request_client.ask(self._bus, ack)
            if answer.result == ANSWER_REFUSED:
                _log_if_transient(answer, f"the acknowledgement of {position}")
                await asyncio.sleep(_STALLED_S)
                self._ack_due.set()
                continue
            self.acknowledged = position
            async with self._moved:
                self._moved.notify_all()

    async def caught_up(self, position: int) -> None:
        """Wait until everything up to `position` is booked and acknowledged."""
        async with self._moved:
            await self._moved.wait_for(lambda: self.acknowledged >= position)


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


def _log_if_transient(answer: Answer, what: str) -> None:
    """Log a refusal that will pass by itself.

    Raises:
        BusError: the refusal is permanent.
    """
    if answer.code not in _TRANSIENT_REFUSALS:
        raise BusError(f"the table refuses {what}: {answer.code}: {answer.text}")
    _log.warning("request.refused", what=what, code=answer.code)
