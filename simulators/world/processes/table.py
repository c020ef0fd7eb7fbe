"""The table's process: the product's `Table` on the world's log, and a shell that never waits.

Requests, their answers, replays, what consumers owe, alarms and checkpoints are the product's own
parts. What waits in `table_core.service.service` is done here one message or one publication at a
time: append, then acknowledge; publish behind a cursor; notice what does not come.
"""

from collections.abc import Callable, Iterator
from random import Random
from typing import Final, Literal, NoReturn

import msgspec

from events.clock import rfc3339
from events.errors import LogUnwritable, OurBug
from events.mqtt.messages import Message, Publication
from events.mqtt.presence import Status, encode_status, read_status
from events.mqtt.topics import Topics
from events.proof.note import SigningKey
from events.types.shoe_reports import LinkStatus, ShoeEvent
from events.types.stored import Stored
from simulators.world.parts.broker import FakeBroker, FakeClient
from simulators.world.parts.clock import MICROSECONDS, WorldClock
from simulators.world.parts.log_disk import LogDisk
from simulators.world.people.float_keeper import COUNT_ROOM
from simulators.world.processes.effects import QueuedReplays, WorldPublisher
from table_core.projections.table_document import encode_state_view, project_table
from table_core.rules.rulebook import Rulebook
from table_core.service.alarm_publisher import AlarmPublisher
from table_core.service.checkpoints import CheckpointKeys, Checkpoints
from table_core.service.consumer_health import ConsumerHealth
from table_core.service.consumer_requests import ConsumerRequests
from table_core.service.history_client import HistoryClient
from table_core.service.known_driver import KnownDriver
from table_core.service.requests import RequestCallbacks, Requests
from table_core.service.service import RESULT_OVERDUE_S
from table_core.service.table_writer import ShoeEventResult, Table
from table_core.state.coup import Phase
from table_core.state.table import Alarm

__all__ = ["CAGE", "CONSUMER", "PEOPLE", "TableProcess", "signing_key"]

PEOPLE: Final = ("dealer", "supervisor", "wagers")
CAGE: Final = "cage"
CONSUMER: Final = "cage-1"
_ROLES: Final = {name: frozenset({name}) for name in (*PEOPLE, CAGE)} | {
    COUNT_ROOM: frozenset({CAGE})
}
_SERVICE: Final = "table"
_WATCH_US: Final = MICROSECONDS
_GATHER_US: Final = 8_000
_AGAIN_US: Final = 5 * MICROSECONDS
_SIGN_US: Final = 10_000
_CHECKPOINT_S: Final = 300
_NEVER: Final = 1 << 62


class TableProcess:
    """One life of a table.

    Args:
        topics: the table's.
        rulebook: in force.
        disk: where the log is.
        told: what it stores.
        courier: the broker.
        clock: the world's.
        rng: what it does first.
        probe: told of each step; it may kill the process there.

    Raises:
        LogUnwritable: the disk refused what a start writes.
        LogRefused: the log is not what was stored.

    Attributes:
        table: the table's truth.
        client: its place on the bus.
    """

    def __init__(
        self,
        topics: Topics,
        rulebook: Rulebook,
        disk: LogDisk,
        told: Callable[[tuple[Stored, ...]], None],
        courier: FakeBroker,
        clock: WorldClock,
        rng: Random,
        probe: Callable[[str], None],
    ) -> None:
        self._topics, self._clock, self._rng, self._probe = topics, clock, rng, probe
        self._log = disk.open(told)
        self._session = self._log.next_session()
        self.table = Table(self._log, topics, rulebook, clock, roles=_ROLES, probe=probe)
        self._status = topics.status(_SERVICE)
        self._hearers: dict[str, Callable[[Message], None]] = {
            topics.shoe_event: self._on_shoe_event,
            topics.link_shoe: self._on_link,
            topics.status("shoe"): self._on_driver_status,
            self._status: lambda _: None,
        }
        self.client = FakeClient(
            courier,
            (*self._hearers, topics.requests),
            Publication(self._status, self._presence("offline"), retain=True),
        )
        self._driver = KnownDriver()
        self._feed = ConsumerHealth(self._log, clock, [f"{CAGE}/{CONSUMER}"])
        self._settlements = self._publisher("settlement", topics.settlement, self._feed.settled)
        self._events = self._publisher("event", topics.event, lambda _: True)
        self._replays = QueuedReplays(
            self._log, lambda user, message: self.client.post(topics.replayed(user), message)
        )
        self._requests = self._answering()
        self._bell = AlarmPublisher(lambda notice: self.client.post(topics.alarm, notice))
        keys = CheckpointKeys(signing_key(topics), None, _CHECKPOINT_S)
        self._checkpoints = Checkpoints(self.table, self._log, keys, clock)
        self._signed: bytes | None = None  # what of it was published
        self._ack_due = False
        self._state_us = self._again_us = self._watch_us = self._sign_us = clock.now_us
        self._complete_since: int | None = None
        self._unwritable: str | None = None

    def _publisher(self, name: str, topic: str, wanted: Callable[[Stored], bool]) -> WorldPublisher:
        return WorldPublisher(name, self._log, self.client, topic, wanted=wanted, probe=self._probe)

    def _answering(self) -> Requests:
        return Requests(
            self._topics,
            self.table,
            ConsumerRequests(self.table, self._feed, self._replays),
            HistoryClient(self.table, None),
            post=self.client.post,
            caught_up=lambda: self.caught_up,
            told=RequestCallbacks(
                self._disk_refuses, self._disk_takes, self.table.start_lockdown, self._changed
            ),
            probe=self._probe,
        )

    @property
    def caught_up(self) -> bool:
        """Whether everything the driver is known to have numbered has been appended."""
        return self.client.connected and self._driver.is_covered_by(self.table.state.link)

    @property
    def wakes_us(self) -> int:
        """When it next does something by itself."""
        said_us = self._state_us if self.client.connected else _NEVER
        return min(self._watch_us, self._sign_us, said_us)

    @property
    def busy(self) -> bool:
        """Whether there is something to do now."""
        return bool(self.client.inbox or self._to_say) or self._clock.now_us >= self.wakes_us

    @property
    def _to_say(self) -> bool:
        position = self.table.state.position
        return self.client.connected and (
            self._ack_due
            or self._events.position < position
            or self._settlements.position < position
            or self._replays.waiting
        )

    def work(self) -> None:
        """Do one thing.

        Raises:
            LogUnwritable: the log must be opened again: this process is over.
        """
        now, to_say = self._clock.now_us, self._to_say
        if self.client.inbox and (not to_say or self._rng.random() < 0.5):  # noqa: PLR2004 - either
            self._hear(self.client.inbox.popleft())
        elif to_say:
            self._say()
        elif now >= self._watch_us:
            self._watch_us = now + _WATCH_US
            self._watch()
        elif now >= self._sign_us:
            self._sign()
        elif now >= self._state_us:
            self._show()

    def connect(self) -> None:
        """The broker is there."""
        self.client.connect()
        self._announce()
        self.client.post(self._topics.shoe_ack, self._ack(hello=True))
        self._signed = None
        self._changed()

    def disconnected(self) -> None:
        """The broker is gone, and what it had."""
        self._driver.disconnected()
        self._replays.stop()

    def die(self) -> None:
        """The process is gone."""
        self.client.hang_up()

    # ---- in ----

    def _hear(self, message: Message) -> None:
        hearer = self._hearers.get(message.topic, self._on_request)
        hearer(message)

    def _on_shoe_event(self, message: Message) -> None:
        event = msgspec.json.decode(message.payload, type=ShoeEvent)
        if self._driver.names(event.journal, self.table.state.link):
            self.client.post(self._topics.shoe_ack, self._ack(hello=True))
        try:
            heard = self.table.hear(event)
        except LogUnwritable as error:
            self._disk_refuses(error)
            return
        self._disk_takes()
        self._driver.numbered(event.journal, event.seq)
        self._ack_due = True
        if heard is ShoeEventResult.APPENDED:
            self._changed()

    def _on_link(self, message: Message) -> None:
        status = msgspec.json.decode(message.payload, type=LinkStatus)
        link, now = self.table.state.link, self._clock.mono_us()
        if self._driver.linked(status, link, retained=message.retain, mono_us=now):
            self.client.post(self._topics.shoe_ack, self._ack(hello=True))
        self._kick_state()

    def _on_driver_status(self, message: Message) -> None:
        status = read_status(message.payload)
        if status is not None:
            self._driver.said(
                status,
                retained=message.retain,
                utc_ns=self._clock.utc_ns(),
                mono_us=self._clock.mono_us(),
            )
            self._mind_driver()

    def _mind_driver(self) -> None:
        if self._driver.look(self._clock.mono_us()):
            self._kick_state()

    def _on_request(self, message: Message) -> None:
        self._requests.hear(message, _nothing_runs_beside)

    def _disk_refuses(self, error: LogUnwritable) -> None:
        if self._log.closed:
            raise error
        self._unwritable = str(error)
        self._kick_state()

    def _disk_takes(self) -> None:
        self._unwritable = None

    # ---- out ----

    def _say(self) -> None:
        if self._ack_due:
            self._ack_due = False
            self._probe("ack.before")
            self.client.post(self._topics.shoe_ack, self._ack())
            self._probe("ack.after")
        elif self._replays.waiting and self._rng.random() < 0.5:  # noqa: PLR2004 - either
            self._replays.say()
        elif self._settlements.position < self.table.state.position:
            self._settlements.say()  # the money first
        elif self._events.position < self.table.state.position:
            self._events.say()
        else:
            self._replays.say()

    def _show(self) -> None:
        """The newest state; what was overtaken meanwhile is never sent."""
        self._state_us = self._clock.now_us + _AGAIN_US
        document = project_table(
            self.table.state,
            table=self._topics.table,
            rulebook=self.table.rulebook,
            catching_up=not self.caught_up,
            faults=tuple(self._faults()),
            consumers=self._feed.view(),
        )
        self._bell.look(document.alarms, document.position)
        self.client.post(self._topics.state, encode_state_view(document), retain=True)

    def _sign(self) -> None:
        """A checkpoint where one is due, and the newest to whoever has not heard of it."""
        self._sign_us = self._clock.now_us + _WATCH_US
        try:
            self._checkpoints.look()
        except LogUnwritable:
            if self._log.closed:
                raise
        newest = self._checkpoints.newest
        if newest is not None and newest is not self._signed:
            taken = self.client.post(self._topics.checkpoint, newest, retain=True)
            self._signed = newest if taken else None

    def _faults(self) -> Iterator[Alarm]:
        if self._unwritable:
            yield Alarm(name="log_unwritable", text=self._unwritable)
        if self.table.fault:
            yield Alarm(name="log_unsound", text=self.table.fault)
        yield from self._driver.alarms()
        yield from self._feed.alarms()

    def _ack(self, *, hello: bool = False) -> bytes:
        settled = self._driver.settled(self.table.state)
        ack = msgspec.structs.replace(self.table.shoe_ack, hello=hello, settled=settled)
        return msgspec.json.encode(ack)

    def _changed(self) -> None:
        self._kick_state()
        self._sign_us = min(self._sign_us, self._clock.now_us + _SIGN_US)

    def _kick_state(self) -> None:
        self._state_us = min(self._state_us, self._clock.now_us + _GATHER_US)

    def _announce(self) -> None:
        self.client.post(self._status, self._presence("online"), retain=True)

    def _presence(self, state: Literal["online", "offline"]) -> bytes:
        ts = rfc3339(self._clock.utc_ns())
        return encode_status(Status(state=state, session=self._session, ts=ts))

    # ---- by the clock ----

    def _watch(self) -> None:
        """Notice what does not come, and write down what has time."""
        self._announce()
        self._mind_driver()
        for publisher in (self._settlements, self._events):
            self._appending(publisher.note)
        self._overdue()
        self._appending(self.table.close_books)
        self._appending(self.table.report_clock)

    def _overdue(self) -> None:
        now = self._clock.mono_us()
        if self.table.state.phase is not Phase.COMPLETE:
            self._complete_since = None
        elif self._complete_since is None:
            self._complete_since = now
        elif now - self._complete_since >= RESULT_OVERDUE_S * MICROSECONDS:
            self._appending(lambda: self.table.report_overdue(RESULT_OVERDUE_S))

    def _appending(self, act: Callable[[], None]) -> None:
        position = self.table.state.position
        try:
            act()
        except LogUnwritable as error:
            self._disk_refuses(error)
        if self.table.state.position != position:
            self._changed()


def signing_key(topics: Topics) -> SigningKey:
    """The world's table signs with it, and nobody outside believes it."""
    return SigningKey(f"{topics.site}/{topics.table}", b"a world's key is no secret: 32 b")


def _nothing_runs_beside(task: object) -> NoReturn:
    raise OurBug(f"{task}: nothing runs beside the table in a world")
