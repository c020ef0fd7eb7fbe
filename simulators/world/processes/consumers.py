"""Who reads the table: the cage, which books every event once, and a display.

The cage is the product's inflow, chain check and posting; its ledger is the world's disk. It asks,
acknowledges and reads again as `cage.service` does.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from cage.feed.reorder_buffer import ReorderBuffer
from cage.ledger.entries import LedgerEntry, Posting, PostingState
from cage.ledger.posting import post
from cage.ledger.received_event import LedgerEvent, check_continues_chain, decode_published_event
from displays.live import LiveState
from events.commands.base import ANSWER_REFUSED, Answer, Command
from events.commands.consumers import Ack, Replay
from events.commands.registry import COMMAND_NAMES
from events.errors import LedgerError
from events.mqtt.messages import Message
from events.mqtt.topics import Topics
from events.proof.chain import origin_hash
from simulators.world.parts.broker import FakeBroker, FakeClient
from simulators.world.parts.clock import MICROSECONDS, WorldClock
from simulators.world.people.logins import CAGE, CONSUMER

__all__ = ["CageProcess", "DisplayProcess", "WorldLedger"]

_ASK_AGAIN_US: Final = MICROSECONDS
_STALLED_US: Final = 2 * MICROSECONDS
_BATCH: Final = 512
_NEVER: Final = 1 << 62

_answers: Final = msgspec.json.Decoder(Answer)


class WorldLedger:
    """The cage's disk: a batch of events is booked whole, or not at all.

    Args:
        stream: `<site>/<table>`, whose book it is.

    Attributes:
        position: everything up to here is booked.
        entries: by reference, in the order they were booked.
    """

    def __init__(self, stream: str) -> None:
        self.stream = stream
        self.position = 0
        self.entries: dict[str, LedgerEntry] = {}
        self._head = origin_hash(stream)
        self._books = PostingState()

    def book(self, facts: Iterable[LedgerEvent]) -> Sequence[LedgerEntry]:
        """Book events in the order of the log; those read before are dropped.

        Raises:
            LedgerError: they do not follow, or contradict what is booked; nothing is booked.
        """
        position, head, books = self.position, self._head, self._books
        made: dict[str, LedgerEntry] = {}

        def recall(name: str) -> Sequence[Posting] | None:
            found = made.get(name) or self.entries.get(name)
            return found.postings if found else None

        for fact in facts:
            if fact.position <= position:
                continue
            if fact.position != position + 1:
                raise LedgerError(f"event {position + 1} is missing before {fact.position}")
            check_continues_chain(self.stream, head, fact)
            if fact.data is not None:
                books, entries = post(books, fact.data, event_id=fact.event_id, recall=recall)
                for entry in entries:
                    if entry.ref in made or entry.ref in self.entries:
                        raise LedgerError(f"{entry.ref} comes a second time")
                    made[entry.ref] = entry
            position, head = fact.position, fact.hash
        self.position, self._head, self._books = position, head, books
        self.entries.update(made)
        return tuple(made.values())


class CageProcess:
    """One life of a cage.

    Args:
        topics: the table's.
        ledger: its disk.
        courier: the broker.
        clock: the world's.
        session: how often one was started; its transactions are its own.
        probe: told of each step; it may kill the process there.
    """

    def __init__(
        self,
        topics: Topics,
        ledger: WorldLedger,
        courier: FakeBroker,
        clock: WorldClock,
        session: int,
        probe: Callable[[str], None],
    ) -> None:
        self._topics, self._ledger, self._clock, self._probe = topics, ledger, clock, probe
        self._session = session
        self._events = frozenset({topics.event, topics.replayed(CAGE)})
        self.client = FakeClient(courier, (topics.response(CAGE), *self._events))
        self.inflow = ReorderBuffer(ledger.position)
        self._asked: dict[str, tuple[Command, int]] = {}
        self._replays = 0
        self._acknowledged = 0
        self._stalled_us = _NEVER

    @property
    def wakes_us(self) -> int:
        """When it next does something by itself."""
        if not self.client.connected:
            return _NEVER
        if not self._asked:
            return self._stalled_us
        return min(self._stalled_us, *(then for _, then in self._asked.values()))

    @property
    def busy(self) -> bool:
        """Whether there is something to do now."""
        waiting = self.client.inbox or self.inflow.ready
        return bool(waiting) or self._clock.now_us >= self.wakes_us

    def work(self) -> None:
        """Do one thing.

        Raises:
            LedgerError: the events contradict what is booked, and never should.
        """
        now = self._clock.now_us
        if self.client.inbox:
            for _ in range(min(len(self.client.inbox), _BATCH)):
                self._hear(self.client.inbox.popleft())
        elif self.inflow.ready:
            self._book()
        elif now >= self._stalled_us:
            self._reread()
        else:
            for transaction, (command, then) in list(self._asked.items()):
                if then <= now:
                    self._ask(transaction, command)

    def connect(self) -> None:
        """The broker is there: whatever came meanwhile is read again."""
        self.client.connect()
        self._reread()

    def disconnected(self) -> None:
        """The broker is gone."""
        self._asked.clear()

    def die(self) -> None:
        """The process is gone."""
        self.client.hang_up()

    def _hear(self, message: Message) -> None:
        if message.topic in self._events:
            if self.inflow.offer(decode_published_event(message.payload)):
                self._reread()
            return
        answer = _answers.decode(message.payload)
        asked = self._asked.pop(answer.transaction, None)
        if asked is None:
            return
        if answer.result == ANSWER_REFUSED:
            self._asked[answer.transaction] = (asked[0], self._clock.now_us + _STALLED_US)
        elif isinstance(asked[0], Replay):
            self.inflow.extend_to(answer.position or 0)
            self._mind_gap()

    def _book(self) -> None:
        batch = list(self.inflow.ready)
        self._probe("book.before")
        self._ledger.book(batch)
        self._probe("book.after")
        self.inflow.ready.clear()
        self._mind_gap()
        position = self._ledger.position
        if position > self._acknowledged and not self._asked:
            self._acknowledged = position
            self._probe("ack.before")
            transaction = f"ack-{self._session}-{position}"
            ack = Ack(transaction=transaction, consumer=CONSUMER, position=position)
            self._ask(transaction, ack)

    def _mind_gap(self) -> None:
        behind = self.inflow.behind
        self._stalled_us = self._clock.now_us + _STALLED_US if behind else _NEVER

    def _reread(self) -> None:
        self._replays += 1
        transaction = f"replay-{self._session}-{self._replays}"
        self._stalled_us = self._clock.now_us + _STALLED_US
        self._ask(transaction, Replay(transaction=transaction, start=self.inflow.taken + 1))

    def _ask(self, transaction: str, command: Command) -> None:
        self._asked[transaction] = (command, self._clock.now_us + _ASK_AGAIN_US)
        topic = self._topics.request(CAGE, COMMAND_NAMES[type(command)])
        self.client.post(topic, msgspec.json.encode(command))


class DisplayProcess:
    """A screen: the product's `LiveState`, told by the bus."""

    def __init__(self, topics: Topics, courier: FakeBroker, clock: WorldClock) -> None:
        self._topics = topics
        self._status = topics.status("table")
        self.client = FakeClient(courier, (self._status, topics.state))
        self.live = LiveState(clock)

    @property
    def wakes_us(self) -> int:
        """Never: it only listens."""
        return _NEVER

    @property
    def busy(self) -> bool:
        """Whether something has come."""
        return bool(self.client.inbox)

    def work(self) -> None:
        """Take what has come."""
        while self.client.inbox:
            message = self.client.inbox.popleft()
            if message.topic == self._status:
                self.live.on_status(message.payload, retain=message.retain)
            else:
                self.live.on_state(message.payload, retain=message.retain)

    def connect(self) -> None:
        """The broker is there."""
        self.client.connect()
        self.live.connected()

    def disconnected(self) -> None:
        """The broker is gone."""
        self.live.disconnected()

    def die(self) -> None:
        """The process is gone, and what it showed."""
        self.client.hang_up()
