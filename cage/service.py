"""The cage as a durable consumer: reads every event once, books it, then acknowledges.

    bus -> inflow (the log's order) -> store (one transaction) -> acknowledgement

After every connect, and wherever a position is missing, it asks for the events again from its own
place on; that the last one of all is missing it knows from the retained `state`. Nothing is
acknowledged that is not on disk, so a cage that was away for a day, killed between any two steps,
or beside a broker that lost everything, comes back and reads on. While the ledger's database is
away it waits, and the table raises its alarm.
"""

import asyncio
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final, TypeVar

import msgspec
import structlog
from msgspec import Struct

from cage.feed.reorder_buffer import READY_MOST, Inflow
from cage.feed.request_client import Asker
from cage.ledger.facts import Fact, fact_of_message
from cage.ledger.store import Store
from events.clock import Clock
from events.commands.base import ANSWER_REFUSED, Answer
from events.commands.consumers import Ack, Replay
from events.errors import BusError, LedgerError, LedgerUnavailable, UnreadableEvent
from events.mqtt.bus import Bus, BusSettings, Message
from events.mqtt.presence import Herald
from events.mqtt.topics import Topics
from events.types.table import BettingOpened, ShoeLoaded, WagersPlaced, WagersWithdrawn

__all__ = ["SERVICE", "CageService", "Counts", "Probe"]

SERVICE: Final = "cage"

Probe = Callable[[str], None]
"""Told `book.before`, `book.after` and `ack.before` of each batch."""

# One commit for so many events at the most: a long backlog is booked in steps.
_BATCH: Final = 512
# Events that move no value are booked with the next that does, or after so many seconds.
_IDLE_S: Final = 1.0
# A replay that brings nothing for so long is asked for again, and so is a refused one, seconds.
_STALLED_S: Final = 2.0
# Of a replay whose last event has come, the others are lost unless they come within, seconds.
_SHUFFLED_S: Final = 0.1
# Between two attempts to reach a database that is away, seconds.
_DATABASE_S: Final = 0.5
_PASSING: Final = frozenset({"too_many_replays", "log_unwritable", "catching_up"})
# What wagers are laid by is booked at once and acknowledged with the settlement: an acknowledgement
# is a forced write of the table's, and must not come between its cards.
_LAYING: Final = (ShoeLoaded, BettingOpened, WagersPlaced, WagersWithdrawn)
_NS_IN_MS: Final = 1_000_000

_T = TypeVar("_T")

_log: Final = structlog.get_logger()


class Counts(Struct, kw_only=True):
    """What came over the bus and was put right, since the start.

    Args:
        junk: messages that were no events.
        replays: how often events were asked for again.
        commits: batches that were booked.
        outages: how often the database went away.
    """

    junk: int = 0
    replays: int = 0
    commits: int = 0
    outages: int = 0


class _Shown(Struct, frozen=True):
    """What of the retained `state` matters here: how far the table is."""

    position: int


_shown: Final = msgspec.json.Decoder(_Shown)


class CageService:
    """See the module.

    Args:
        settings: the broker and the login.
        topics: the table.
        open_store: opens the ledger for this table; called again after its database was away.
        clock: for stamps, and for transactions unlike those of an earlier run.
        user: the login's name on the bus, which the table knows as a cage.
        consumer: under which the table remembers what was acknowledged.
        probe: told of each step.
    """

    def __init__(
        self,
        settings: BusSettings,
        topics: Topics,
        open_store: Callable[[], Store],
        clock: Clock,
        *,
        user: str = "cage",
        consumer: str = "cage",
        probe: Probe = lambda _: None,
    ) -> None:
        self.counts = Counts()
        self.acknowledged = 0
        self._topics, self._consumer = topics, consumer
        self._open, self._probe = open_store, probe
        self._store = open_store()
        self.inflow = Inflow(self._store.position)
        self._session = clock.utc_ns() // _NS_IN_MS
        self._herald = Herald(topics.status(SERVICE), self._session, clock)
        self._asker = Asker(topics, user)
        self._to_acknowledge = self._store.position
        self._replayed = 0  # how far the newest replay has come
        self._reread_due = asyncio.Event()
        self._ack_due = asyncio.Event()
        self._moved = asyncio.Condition()
        self._bus = Bus(
            settings,
            subscriptions={
                topics.response(user): self._asker.on_answer,
                topics.replayed(user): self._on_event,
                topics.event: self._on_event,
                topics.state: self._on_state,
                topics.status(SERVICE): self._on_own_status,
            },
            will=self._herald.will,
            on_connect=self._on_connect,
        )

    @property
    def booked(self) -> int:
        """Everything up to this position is in the ledger."""
        return self._store.position

    async def run(self, stop: asyncio.Event) -> None:
        """Consume until `stop` is set.

        Raises:
            ExceptionGroup: with a TableError in it: the broker refuses the login, the table
                refuses an acknowledgement, or the ledger and the log contradict one another.
        """
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(each)
                    for each in (
                        self._bus.run(),
                        self._herald.beat(self._bus),
                        self._reread(),
                        self._mind_silence(),
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
        self._herald.announce(self._bus)
        self._reread_due.set()

    async def _on_own_status(self, message: Message) -> None:
        if self._herald.contradicted_by(message.payload):
            self._herald.announce(self._bus)

    async def _on_state(self, message: Message) -> None:
        try:
            self.inflow.known_to(_shown.decode(message.payload).position)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            self.counts.junk += 1

    async def _on_event(self, message: Message) -> None:
        try:
            fact = fact_of_message(message.payload)
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
            answer = await self._asker.ask(
                self._bus,
                Replay(
                    transaction=f"replay-{self._session}-{self.counts.replays}",
                    start=read + 1,
                ),
            )
            if answer.result == ANSWER_REFUSED:
                _passing_or_raise(answer, "a replay")
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
        """Wait until the replay has come to `head`, was too much at once, or has stalled."""
        self.inflow.ends_at(head)
        async with self._moved:
            while self.inflow.taken < head and not self.inflow.overflowed:
                before, over = self.inflow.taken, self._replayed >= head
                # Live events that come before their turn are no progress.
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

    async def _mind_silence(self) -> None:
        """Ask where the table has gone on and nothing of it came: the last event may be lost."""
        read = -1
        while True:
            if self.inflow.behind and self.inflow.taken == read:
                self._reread_due.set()
            read = self.inflow.taken
            await asyncio.sleep(_STALLED_S)

    async def _within(self, seconds: float, holds: Callable[[], bool]) -> bool:
        """Whether it came to hold in time; asked with `_moved` held."""
        try:
            async with asyncio.timeout(seconds):
                await self._moved.wait_for(holds)
        except TimeoutError:
            return False
        return True

    # ---- into the ledger ----

    async def _write(self) -> None:
        while True:
            await self._something_to_book()
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
            if not all(isinstance(fact.data, _LAYING) for fact in batch):
                self._ack_due.set()

    async def _something_to_book(self) -> None:
        """Wait for a batch; for what moves no value a little longer, in case more comes."""
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

    async def _book(self, batch: Sequence[Fact]) -> None:
        while True:
            try:
                await _in_thread(lambda: self._store.book(batch))
            except LedgerUnavailable as error:
                await self._reopen(error)
            else:
                return

    async def _reopen(self, error: LedgerUnavailable) -> None:
        """Wait for the database; what was committed before it went shows in the cursor."""
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
            answer = await self._asker.ask(self._bus, ack)
            if answer.result == ANSWER_REFUSED:
                _passing_or_raise(answer, f"the acknowledgement of {position}")
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
    """Run what blocks beside the loop; a cancellation waits for its end, which nothing can undo."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running})
        raise


def _passing_or_raise(answer: Answer, what: str) -> None:
    """Go on where the refusal passes by itself.

    Raises:
        BusError: it does not.
    """
    if answer.code not in _PASSING:
        raise BusError(f"the table refuses {what}: {answer.code}: {answer.text}")
    _log.warning("request.refused", what=what, code=answer.code)
