"""What the cage does: it reads every event once, books it, then acknowledges it. Pure.

    bus -> reorder buffer (log order) -> ledger (one transaction) -> acknowledgement

After every connect, and at every gap, the cage requests a replay from its own position. The
retained `state` reveals that the newest event is missing. The cage acknowledges only events that
are on disk. It therefore resumes after a day's absence, after a kill between any two steps, and
after the broker has lost everything. While the ledger's database is unavailable the cage waits, and
the table raises its alarm.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

from msgspec import Struct

from cage.ledger.received_event import LedgerEvent, decode_published_event
from cage.reorder_buffer import READY_MOST, ReorderBuffer
from events.commands import ANSWER_REFUSED, Ack, Answer, Replay
from events.errors import BusError, LedgerError, LedgerUnavailable, MalformedJson, UnreadableEvent
from events.json_form import decode_json
from events.mqtt.messages import Message
from events.mqtt.peer_keys import PeerKeys
from events.mqtt.presence import PresencePublisher
from events.mqtt.process import FOREVER_S, Effect, LogLine, Now, Signal, Steps, Wait
from events.mqtt.request_client import RequestClient, Retry
from events.mqtt.topics import Topics
from events.types import BettingOpened, ShoeLoaded, WagersPlaced, WagersWithdrawn

__all__ = ["Book", "CageCounters", "CageProcess", "CloseLedger", "OpenLedger"]

_SERVICE: Final = "cage"

# Most events of one commit: the cage books a long backlog in steps.
_BATCH: Final = 512
# Events that move no value wait this many seconds for one that does.
_IDLE_S: Final = 1.0
# After this many seconds without progress, or after a refusal, request the replay again.
_STALLED_S: Final = 2.0
# Seconds to wait, after a replay's last event has arrived, for those still missing.
_SHUFFLED_S: Final = 0.1
# Seconds between two attempts to reach an unavailable database.
_DATABASE_S: Final = 0.5
_US: Final = 1_000_000
# A cage asks once a second for ever; it handles each refusal itself.
_RETRY: Final = Retry(back_off_s=1.0, passing=())
_TRANSIENT_REFUSALS: Final = frozenset({"too_many_replays", "log_unwritable", "catching_up"})
# The cage books these at once but acknowledges them with the settlement: an acknowledgement makes
# the table sync its disk, which must not delay its cards.
_ACKNOWLEDGED_LATER: Final = (ShoeLoaded, BettingOpened, WagersPlaced, WagersWithdrawn)


class Book(Effect[int], frozen=True):
    """Book events in log order, all or none; return the ledger's position. Waits.

    Raises:
        LedgerUnavailable: the database did not store them, or nobody knows whether it did.
        LedgerError: they contradict what is booked.
    """

    events: Sequence[LedgerEvent]


class CloseLedger(Effect[None], frozen=True):
    """Release a ledger whose database is unavailable. Does not wait."""


class OpenLedger(Effect[int], frozen=True):
    """Open the ledger again, and return its position. Waits.

    Raises:
        LedgerUnavailable: the database does not answer yet.
    """


class CageCounters(Struct, kw_only=True):
    """Counters since the cage's start.

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


class CageProcess:
    """Books one table's events; see the module.

    Args:
        topics: the table's topics.
        position: of the ledger.
        head: the hash of the log's chain there; None to believe the next event.
        utc_ns: now, nanoseconds since 1970 UTC.
        session: tells this run's transactions from an earlier run's; rises.
        user: the login's name on the bus, which the table lists as a cage.
        consumer: the name under which the table stores the acknowledged position.
        keys: the cage's message keys. With them it books only what the table has proved: what comes
            live says no more than that there is something to ask for.

    Attributes:
        booked: everything up to this position is in the ledger.
        acknowledged: the newest position that the table has recorded as booked.
        inflow: the received events, in log order.
    """

    def __init__(
        self,
        topics: Topics,
        *,
        position: int,
        head: bytes | None = None,
        utc_ns: int,
        session: int,
        user: str = "cage",
        consumer: str = "cage",
        keys: PeerKeys | None = None,
    ) -> None:
        self._keys = keys or PeerKeys()
        self.counts = CageCounters()
        self.booked, self.acknowledged = position, 0
        self.inflow = ReorderBuffer(position, head)
        self._live = topics.event
        self._user, self._consumer, self._session = user, consumer, session
        self._presence = PresencePublisher(topics.status(_SERVICE), session, utc_ns)
        self._requests = RequestClient(topics, self._keys)
        self._replayed = 0  # the newest position received in this replay
        self._reread_due, self._ack_due, self._fell_behind = Signal(), Signal(), Signal()
        # Set at every change; each has one waiting step.
        self._ready_changed, self._inflow_changed, self._ack_came = Signal(), Signal(), Signal()
        self.will = self._presence.will
        self.subscriptions: Mapping[str, Callable[[Message], Steps[None]]] = {
            topics.response(user): self._requests.on_answer,
            topics.replayed(user): self._on_event,
            topics.event: self._on_event,
            topics.state: self._on_state,
            topics.status(_SERVICE): self._presence.on_own_status,
        }

    def running(self) -> Iterable[Steps[None]]:
        """See `Process.running`."""
        return (
            self._presence.beat(),
            self._reread(),
            self._watch_for_silence(),
            self._write(),
            self._acknowledge(),
        )

    def on_connect(self) -> Steps[None]:
        """Announce the cage, and request what was missed."""
        yield from self._presence.announce()
        self._reread_due.set()

    def on_disconnect(self) -> Steps[None]:
        """Do nothing: requests are repeated, and the next connection reads again."""
        yield from ()

    def ending(self) -> Steps[None]:
        """Do nothing: the Will reports the end."""
        yield from ()

    # ---- in ----

    def _on_state(self, message: Message) -> Steps[None]:
        yield from ()
        try:
            self.inflow.extend_to(decode_json(message.payload, _StatePosition).position)
        except MalformedJson:
            self.counts.junk += 1
        if self.inflow.behind:
            self._fell_behind.set()

    def _on_event(self, message: Message) -> Steps[None]:
        payload = message.payload
        if self._keys.enrolled:
            if message.topic == self._live:
                self._reread_due.set()
                return
            proved = yield from self._keys.checked(message.topic, payload)
            if proved is None:
                self.counts.junk += 1
                fields = {"topic": message.topic, "count": self._keys.refused}
                yield from LogLine("error", "event.forged", fields)
                return
            payload = proved
        try:
            fact = decode_published_event(payload)
        except UnreadableEvent as error:
            self.counts.junk += 1
            fields = {"topic": message.topic, "reason": str(error)}
            yield from LogLine("error", "event.unreadable", fields)
            return
        if message.topic != self._live:
            self._replayed = max(self._replayed, fact.position)
        ready = self.inflow.ready
        waited = len(ready)
        if self.inflow.offer(fact):
            gap = {"read": self.inflow.taken, "came": fact.position}
            yield from LogLine("warning", "event.gap", gap)
            self._reread_due.set()
        news = islice(reversed(ready), len(ready) - waited)
        # An event that moves no value waits for one that does, or for `_IDLE_S` after the first.
        if not waited or len(ready) >= _BATCH or any(each.data is not None for each in news):
            self._ready_changed.set()
        self._inflow_changed.set()
        if self.inflow.behind:
            self._fell_behind.set()

    def _reread(self) -> Steps[None]:
        while True:
            yield from Wait(FOREVER_S, self._reread_due)
            self._reread_due.clear()
            yield from _until(
                self._inflow_changed, lambda: len(self.inflow.ready) <= READY_MOST // 2
            )
            self.inflow.overflowed = False
            self._replayed = 0
            self.counts.replays += 1
            read = self.inflow.taken
            transaction = f"replay-{self._session}-{self.counts.replays}"
            # With the last event that was read: its hash shows whether this is the same log.
            request = Replay(transaction=transaction, start=max(1, read))
            answer = yield from self._requests.ask(self._user, request, _RETRY)
            head = answer.position or 0
            beyond = answer.code == "unknown_position"
            if answer.result == ANSWER_REFUSED and not beyond:
                yield from _log_if_transient(answer, "a replay")
                self._reread_due.set()
                yield from Wait(_STALLED_S)
                continue
            if beyond or head < read:
                raise LedgerError(
                    f"the ledger has read {read} events and the table's log ends at {head}: it was "
                    "cut or restored from an older copy; nothing more is booked"
                )
            yield from self._follow(head)

    def _follow(self, head: int) -> Steps[None]:
        """Wait until the replay reaches `head`, overflows the buffer or stalls."""
        self.inflow.ends_at(head)
        while self.inflow.taken < head and not self.inflow.overflowed:
            before, over = self.inflow.taken, self._replayed >= head
            # Live events that arrive early are no progress.
            if not (
                yield from _within(
                    _SHUFFLED_S if over else _STALLED_S,
                    self._inflow_changed,
                    lambda: (
                        self.inflow.taken > before  # noqa: B023 - asked within this turn
                        or self.inflow.overflowed
                        or (self._replayed >= head and not over)  # noqa: B023 - the same
                    ),
                )
            ):
                break
        if self.inflow.behind:
            self._reread_due.set()
        else:
            self._ack_due.set()

    def _watch_for_silence(self) -> Steps[None]:
        """Request a replay if the table has moved on and no event arrives."""
        while True:
            yield from Wait(FOREVER_S, self._fell_behind)
            read = -1
            while self.inflow.behind:
                if self.inflow.taken == read:
                    self._reread_due.set()
                read = self.inflow.taken
                yield from Wait(_STALLED_S)
            self._fell_behind.clear()

    # ---- into the ledger ----

    def _write(self) -> Steps[None]:
        while True:
            yield from self._wait_for_batch()
            batch = list(islice(self.inflow.ready, _BATCH))
            yield from self._book(batch)
            self.counts.commits += 1
            for _ in batch:
                self.inflow.ready.popleft()
            self._inflow_changed.set()
            if self.inflow.overflowed:
                self._reread_due.set()
            if not all(isinstance(fact.data, _ACKNOWLEDGED_LATER) for fact in batch):
                self._ack_due.set()

    def _wait_for_batch(self) -> Steps[None]:
        """Wait for events to book; events that move no value wait up to `_IDLE_S`."""
        ready = self.inflow.ready
        yield from _until(self._ready_changed, lambda: bool(ready))
        yield from _within(
            _IDLE_S,
            self._ready_changed,
            lambda: (
                len(ready) >= _BATCH or any(fact.data is not None for fact in islice(ready, _BATCH))
            ),
        )

    def _book(self, batch: Sequence[LedgerEvent]) -> Steps[None]:
        while True:
            try:
                self.booked = yield from Book(batch, step="book")
            except LedgerUnavailable as error:
                yield from self._reopen(error)
            else:
                return

    def _reopen(self, error: LedgerUnavailable) -> Steps[None]:
        """Wait for the database; its cursor shows what was committed before the outage."""
        self.counts.outages += 1
        yield from LogLine("error", "ledger.away", {"reason": str(error)})
        yield from CloseLedger()
        while True:
            yield from Wait(_DATABASE_S)
            try:
                position = yield from OpenLedger()
            except LedgerUnavailable:
                continue
            yield from LogLine("info", "ledger.back", {"position": position})
            return

    # ---- and out ----

    def _acknowledge(self) -> Steps[None]:
        while True:
            yield from Wait(FOREVER_S, self._ack_due)
            self._ack_due.clear()
            position = self.booked
            if position <= self.acknowledged:
                continue
            transaction = f"ack-{self._session}-{position}"
            ack = Ack(transaction=transaction, consumer=self._consumer, position=position)
            answer = yield from self._requests.ask(self._user, ack, _RETRY, step="ack")
            if answer.result == ANSWER_REFUSED:
                yield from _log_if_transient(answer, f"the acknowledgement of {position}")
                yield from Wait(_STALLED_S)
                self._ack_due.set()
                continue
            self.acknowledged = position
            self._ack_came.set()

    def caught_up(self, position: int) -> Steps[None]:
        """Wait until everything up to `position` is booked and acknowledged."""
        yield from _until(self._ack_came, lambda: self.acknowledged >= position)


def _until(changed: Signal, holds: Callable[[], bool]) -> Steps[None]:
    """Wait until a condition holds; ask it whenever `changed` is set."""
    while not holds():
        changed.clear()
        yield from Wait(FOREVER_S, changed)


def _within(seconds: float, changed: Signal, holds: Callable[[], bool]) -> Steps[bool]:
    """Return whether a condition holds in time; ask it whenever `changed` is set."""
    now = yield from Now()
    limit_us = now.mono_us + round(seconds * _US)
    while not holds():
        changed.clear()
        now = yield from Now()
        if now.mono_us >= limit_us:
            return False
        yield from Wait((limit_us - now.mono_us) / _US, changed)
    return True


def _log_if_transient(answer: Answer, what: str) -> Steps[None]:
    """Log a refusal that will pass by itself.

    Raises:
        BusError: the refusal is permanent.
    """
    if answer.code not in _TRANSIENT_REFUSALS:
        raise BusError(f"the table refuses {what}: {answer.code}: {answer.text}")
    yield from LogLine("warning", "request.refused", {"what": what, "code": answer.code})
