"""The table's process: the product's `Table` on the world's log, and a shell that never waits.

It does what `table_core.shell.service` does, one message or one publication at a time: append, then
acknowledge; publish behind a cursor; answer; send again what is asked for; notice what does not
come.
"""

from collections import deque
from collections.abc import Callable, Iterable
from random import Random
from typing import Final, Literal

import msgspec

from events.bus import Message, Publication
from events.clock import rfc3339
from events.commands import ANSWER_ACCEPTED, Ack, Answer, Replay
from events.errors import LogUnwritable
from events.log import Stored
from events.presence import Presence, Status, encode_status, read_status
from events.shoe import LinkStatus, ShoeEvent
from events.topics import Topics
from simulators.world.clock import MICROSECONDS, WorldClock
from simulators.world.courier import Client, Courier
from simulators.world.log_disk import LogDisk
from table_core.coup import Phase
from table_core.rulebook import Rulebook
from table_core.shell.catching_up import DriverHead
from table_core.shell.driver_journal import DriverJournal
from table_core.shell.publishers import public_bytes
from table_core.shell.service import RESULT_OVERDUE_S
from table_core.shell.table import Heard, Table, parse_command
from table_core.shell.transactions import refused
from table_core.state import Alarm
from table_core.view import encode_view, view

__all__ = ["CAGE", "PEOPLE", "TableProcess"]

PEOPLE: Final = ("dealer", "supervisor", "wagers")
CAGE: Final = "cage"
_ROLES: Final = {name: frozenset({name}) for name in (*PEOPLE, CAGE)}
_SERVICE: Final = "table"
_WATCH_US: Final = MICROSECONDS
_GATHER_US: Final = 8_000
_AGAIN_US: Final = 5 * MICROSECONDS
_CURSOR: Final = "event"
_BATCH: Final = 64
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
        courier: Courier,
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
        self.client = Client(
            courier,
            (*self._hearers, topics.requests),
            Publication(self._status, self._presence("offline"), retain=True),
        )
        self._driver, self._driver_journal = DriverHead(), DriverJournal()
        self._driver_presence = Presence()
        self._published = self._noted = self._log.cursor(_CURSOR)
        self._ack_due = False
        self._state_us = self._again_us = self._watch_us = clock.now_us
        self._complete_since: int | None = None
        self._unwritable: str | None = None
        self._replays: deque[tuple[str, int, int]] = deque()

    @property
    def caught_up(self) -> bool:
        """Whether everything the driver is known to have numbered has been appended."""
        return self.client.connected and self._driver.reached_by(self.table.shoe_ack)

    @property
    def wakes_us(self) -> int:
        """When it next does something by itself."""
        return min(self._watch_us, self._state_us if self.client.connected else _NEVER)

    @property
    def busy(self) -> bool:
        """Whether there is something to do now."""
        return bool(self.client.inbox or self._to_say) or self._clock.now_us >= self.wakes_us

    @property
    def _to_say(self) -> bool:
        behind = self._published < self.table.state.position
        return self.client.connected and (self._ack_due or behind or bool(self._replays))

    def work(self) -> None:
        """Do one thing.

        Raises:
            LogUnwritable: the log must be opened again: this process is over.
        """
        now = self._clock.now_us
        if self.client.inbox and (not self._to_say or self._rng.random() < 0.5):  # noqa: PLR2004 - either
            self._hear(self.client.inbox.popleft())
        elif self._to_say:
            self._say()
        elif now >= self._watch_us:
            self._watch_us = now + _WATCH_US
            self._watch()
        elif now >= self._state_us:
            self._show()

    def connect(self) -> None:
        """The broker is there."""
        self.client.connect()
        self._announce()
        self.client.post(self._topics.shoe_ack, self._ack(hello=True))
        self._changed()

    def disconnected(self) -> None:
        """The broker is gone, and what it had."""
        self._driver = DriverHead()
        self._replays.clear()

    def die(self) -> None:
        """The process is gone."""
        self.client.hang_up()

    # ---- in ----

    def _hear(self, message: Message) -> None:
        hearer = self._hearers.get(message.topic, self._on_request)
        hearer(message)

    def _on_shoe_event(self, message: Message) -> None:
        event = msgspec.json.decode(message.payload, type=ShoeEvent)
        try:
            heard = self.table.hear(event)
        except LogUnwritable as error:
            self._disk_refuses(error)
            return
        self._unwritable = None
        self._driver = self._driver.heard(event.journal, event.seq)
        self._ack_due = True
        if heard is Heard.APPENDED:
            self._changed()

    def _on_link(self, message: Message) -> None:
        status = msgspec.json.decode(message.payload, type=LinkStatus)
        self._driver = self._driver.told(status, retained=message.retain)
        if not message.retain and self._driver_journal.told(
            status, self.table.shoe_ack, self._clock.mono_us()
        ):
            self.client.post(self._topics.shoe_ack, self._ack(hello=True))
        self._kick_state()

    def _on_driver_status(self, message: Message) -> None:
        status = read_status(message.payload)
        if status is not None:
            self._driver_presence = self._driver_presence.heard(status)
            self._mind_driver()

    def _mind_driver(self) -> None:
        """A driver that is away may hold cards: nothing of it is known until it speaks again."""
        presence = self._driver_presence
        away = presence.status is not None and not presence.online(self._clock.utc_ns())
        if away and self._driver != DriverHead():
            self._driver = DriverHead()
            self._kick_state()

    def _on_request(self, message: Message) -> None:
        parsed = self._topics.parse_request(message.topic)
        if parsed is None or not message.payload:
            return
        user, name = parsed
        answer = self._answer(user, name, message.payload)
        self._probe("answer.before")
        self.client.post(self._topics.response(user), msgspec.json.encode(answer))
        self._probe("answer.after")

    def _answer(self, user: str, name: str, body: bytes) -> Answer:
        command = parse_command(name, body)
        if isinstance(command, Answer):
            return command
        position = self.table.state.position
        try:
            if isinstance(command, Ack):
                self._log.move_cursor(f"consumer/{user}/{command.consumer}", command.position)
            elif isinstance(command, Replay):
                self._replays.append((user, command.start, position))
            else:
                answer = self.table.ask(user, command, caught_up=self.caught_up)
                if self.table.state.position != position:
                    self._unwritable = None
                    self._changed()
                return answer
        except LogUnwritable as error:
            self._disk_refuses(error)
            return refused(command.transaction, "log_unwritable", str(error))
        return Answer(transaction=command.transaction, result=ANSWER_ACCEPTED, position=position)

    def _disk_refuses(self, error: LogUnwritable) -> None:
        if self._log.closed:
            raise error
        self._unwritable = str(error)
        self._kick_state()

    # ---- out ----

    def _say(self) -> None:
        if self._ack_due:
            self._ack_due = False
            self._probe("ack.before")
            self.client.post(self._topics.shoe_ack, self._ack())
            self._probe("ack.after")
        elif self._published < self.table.state.position:
            for stored in list(self._log.read(self._published + 1, _BATCH)):
                self._probe("event.before")
                self.client.post(self._topics.event, public_bytes(stored))
                self._probe("event.after")
                self._published = stored.position
        else:
            user, first, last = self._replays.popleft()
            replayed: Iterable[Stored] = self._log.read(first, min(_BATCH, last - first + 1))
            for stored in list(replayed):
                self.client.post(self._topics.replayed(user), public_bytes(stored))
            if first + _BATCH <= last:
                self._replays.append((user, first + _BATCH, last))

    def _show(self) -> None:
        """The newest state; what was overtaken meanwhile is never sent."""
        self._state_us = self._clock.now_us + _AGAIN_US
        document = view(
            self.table.state,
            table=self._topics.table,
            rulebook=self.table.rulebook,
            catching_up=not self.caught_up,
            faults=tuple(self._faults()),
        )
        self.client.post(self._topics.state, encode_view(document), retain=True)

    def _faults(self) -> Iterable[Alarm]:
        if self._unwritable:
            yield Alarm(name="log_unwritable", text=self._unwritable)
        if self.table.fault:
            yield Alarm(name="log_unsound", text=self.table.fault)
        if self._driver_journal.lost:
            yield Alarm(name="shoe_journal_lost", text=self._driver_journal.lost)

    def _ack(self, *, hello: bool = False) -> bytes:
        settled = self._driver_journal.settled(self.table.state)
        ack = msgspec.structs.replace(self.table.shoe_ack, hello=hello, settled=settled)
        return msgspec.json.encode(ack)

    def _changed(self) -> None:
        self._kick_state()

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
        if self._noted != self._published:
            self._noted = self._published
            self._appending(lambda: self._log.move_cursor(_CURSOR, self._published))
        self._overdue()
        self._appending(self.table.close_books)

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
