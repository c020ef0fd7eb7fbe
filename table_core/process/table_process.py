"""What the table's service does: it appends, acknowledges, and publishes with cursors. Pure.

Every change to the table comes in through a handler, one message at a time, and is appended before
anything about it is sent. Publishers with cursors send the events.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import msgspec

from events.errors import LogUnwritable, MalformedJson
from events.json_form import decode_json
from events.mqtt.messages import Message
from events.mqtt.presence import PresencePublisher, read_status
from events.mqtt.process import (
    FOREVER_S,
    Effect,
    Instant,
    IsConnected,
    LogLine,
    Now,
    Post,
    Signal,
    Steps,
    Wait,
)
from events.types import CoupSettled, LinkStatus, ShoeEvent
from table_core.process.alarm_publisher import AlarmPublisher
from table_core.process.checkpoints import Checkpoints
from table_core.process.consumer_health import ConsumerHealth
from table_core.process.consumer_requests import ConsumerRequests
from table_core.process.event_replays import Replays
from table_core.process.history_client import HistoryClient
from table_core.process.known_driver import KnownDriver
from table_core.process.log_health import LogHealth
from table_core.process.publishers import CursorPublisher, LatestPublisher, PagesPublisher
from table_core.process.requests import Requests
from table_core.process.table_writer import LANDMARKS, ShoeEventResult, TableWriter
from table_core.projections.public_document import encode_public_view
from table_core.projections.table_document import encode_state_view, project_table
from table_core.projections.wager_pages import has_pages, pages_of
from table_core.state.coup import Phase
from table_core.state.table import Alarm
from table_core.trust.access import SHOE
from table_core.trust.bus_guard import BusGuard

__all__ = ["RESULT_OVERDUE_S", "SERVICE", "InspectLog", "TableProcess"]

SERVICE: Final = "table"
_DRIVER: Final = "shoe"

# The house's limit for the device's own result after the deal is complete (docs/shoe/connect.md).
RESULT_OVERDUE_S: Final = 30
_WATCH_EVERY_S: Final = 1.0
# After the last card: its state is out by then, and the fastest shoe's result is not there yet.
_AFTER_LAST_CARD_S: Final = 0.015
# A driver's largest event holds some hundred bytes of the wire; a longer message is no driver's.
_SHOE_EVENT_BYTES: Final = 64 * 1024
_RESULT_OVERDUE_US: Final = RESULT_OVERDUE_S * 1_000_000


class InspectLog(Effect[str | None], frozen=True):
    """Verify the whole log, however long it takes; return the fault in one line, or None. Waits."""


class TableProcess:
    """One table, from a start of its service to the end.

    Args:
        writer: the table, started.
        presence: the service's.
        checkpoints: of the log, started; None where no key is configured.
        consumers: durable consumers that must acknowledge, `<user>/<consumer>`; others may.
        has_reader: whether a history reader answers `AskHistory`; else the table reads its log.
        unsigned: a site runs the table without a key, which an alarm says.
        guarded: whether `ReadAccess` says how the bus is trusted; else every message counts.
    """

    def __init__(
        self,
        writer: TableWriter,
        presence: PresencePublisher,
        *,
        checkpoints: Checkpoints | None = None,
        consumers: Iterable[str] = (),
        has_reader: bool = False,
        unsigned: bool = False,
        guarded: bool = False,
    ) -> None:
        topics = writer.topics
        self._writer, self._topics, self._presence = writer, topics, presence
        self._checkpoints = checkpoints
        self._driver = KnownDriver()
        self._guard = BusGuard(topics, writer.set_roles, watched=guarded)
        self._without_result: str | None = None  # the coup that waits for it, since that time
        self._complete_since = 0
        self._completed = Signal()
        self._shown_caught_up = False
        self.will = presence.will
        self.subscriptions: Mapping[str, Callable[[Message], Steps[None]]] = {
            topics.status(SERVICE): presence.on_own_status,
            topics.shoe_event: self._on_shoe_event,
            topics.link_shoe: self._on_link,
            topics.requests: self._on_request,
            topics.status(_DRIVER): self._on_driver_status,
        }
        self._consumers = ConsumerHealth(consumers)
        self._settlements = CursorPublisher(
            "settlement",
            topics.settlement,
            types={CoupSettled.TYPE},
            on_offer=self._consumers.settled,
        )
        self._events = CursorPublisher("event", topics.event)
        self._state = LatestPublisher(topics.state, self._render, retain=True)
        self._pages = PagesPublisher(topics, lambda: pages_of(writer.state.coup))
        self._acks = LatestPublisher(topics.shoe_ack, self._ack, retain=False, step="ack")
        self._alarms = AlarmPublisher(topics.alarm)
        self._health = LogHealth(writer, self._state.kick, unsigned=unsigned)
        self._requests = Requests(
            writer,
            ConsumerRequests(writer, self._consumers, Replays(topics, self._guard)),
            HistoryClient(writer, has_reader=has_reader),
            self._health,
            self._guard,
            caught_up=self._caught_up,
            changed=self._changed,
        )

    def start(self) -> Steps[None]:
        """Read the cursors: how far was published, and how far consumers acknowledged."""
        yield from self._guard.start()
        yield from self._consumers.start()
        yield from self._settlements.start()
        yield from self._events.start()

    def running(self) -> Iterable[Steps[None]]:
        """See `Process.running`."""
        yield self._settlements.run()
        yield self._events.run()
        yield self._state.run()
        yield self._pages.run()
        yield self._acks.run()
        yield self._presence.beat()
        yield self._watch()
        yield self._look_ahead()
        yield self._inspect()
        if self._checkpoints:
            yield self._checkpoints.run()

    def on_connect(self) -> Steps[None]:
        """Say hello to the driver, and publish what the broker may have lost."""
        yield from self._presence.announce()
        yield from self._hello()
        self._settlements.kick()
        self._pages.kick(again=True)
        self._changed()
        if self._checkpoints:
            self._checkpoints.kick(again=True)

    def on_disconnect(self) -> Steps[None]:
        """Forget what the driver said: it may be out of date."""
        self._driver.disconnected()
        yield from ()

    def ending(self) -> Steps[None]:
        """Store the cursors and a checkpoint that is due, and publish offline."""
        yield from self._settlements.note()
        yield from self._events.note()
        if self._checkpoints:
            yield from self._checkpoints.make_last()
        yield from self._presence.publish_offline()

    def _caught_up(self) -> Steps[bool]:
        """Return whether every event that the driver is known to have numbered is appended."""
        connected = yield from IsConnected()
        return connected and self._driver.is_covered_by(self._writer.state.link)

    def _on_driver_status(self, message: Message) -> Steps[None]:
        status = read_status(message.payload)
        if status is None:
            return
        utc_ns, mono_us = yield from Now()
        self._driver.said(status, retained=message.retain, utc_ns=utc_ns, mono_us=mono_us)
        yield from self._mind_driver()

    def _mind_driver(self) -> Steps[None]:
        """Check whether the driver is there and trusted; update displays as soon as it changes."""
        doubt = self._driver.doubt
        self._driver.must_prove = self._guard.driver_must_prove
        if self._driver.look((yield from Now()).mono_us):
            self._state.kick()
        if self._driver.doubt != doubt:
            reason = {"reason": self._driver.doubt or "over"}
            yield from LogLine("error", "shoe_driver.doubted", reason)

    def _on_shoe_event(self, message: Message) -> Steps[None]:
        if len(message.payload) > _SHOE_EVENT_BYTES:
            size = {"bytes": len(message.payload)}
            yield from LogLine("error", "shoe_event.too_large", size)
            return
        opened = yield from self._guard.shoe_event(message)
        yield from self._appending(self._report_access())
        if opened is None:
            self._state.kick()
            return
        try:
            event = decode_json(opened.payload, ShoeEvent)
        except MalformedJson as error:
            why = {"topic": message.topic, "reason": str(error)}
            yield from LogLine("error", "shoe_event.unreadable", why)
            return
        if self._driver.names(event.journal, self._writer.state.link):
            yield from self._hello()
        try:
            heard = yield from self._writer.hear(event)
        except LogUnwritable as error:
            yield from self._health.refuse(error)
            return
        self._driver.numbered(event.journal, event.seq)
        if heard is ShoeEventResult.GAP:
            at = {"journal": event.journal, "seq": event.seq}
            yield from LogLine("warning", "shoe_event.gap", at)
        if heard is ShoeEventResult.CONTRADICTED:
            at = {"journal": event.journal, "seq": event.seq, "why": self._writer.contradiction}
            yield from LogLine("error", "shoe_event.contradicted", at)
            self._state.kick()
            return
        if heard is ShoeEventResult.APPENDED:
            yield from self._health.accept()
            self._changed()
        self._acks.kick()

    def _on_link(self, message: Message) -> Steps[None]:
        proved_before = self._guard.has_proved_driver
        opened = yield from self._guard.link(message)
        if opened is None:
            self._state.kick()
            return
        try:
            status = decode_json(opened.payload, LinkStatus)
        except MalformedJson as error:
            why = {"topic": message.topic, "reason": str(error)}
            yield from LogLine("error", "link.unreadable", why)
            return
        before = yield from self._caught_up()
        lost = self._driver.lost
        link, now_us = self._writer.state.link, (yield from Now()).mono_us
        named = self._driver.linked(status, link, retained=message.retain, mono_us=now_us)
        # Until the driver has proved itself by a key, the table does not know which one it has.
        if named or self._guard.has_proved_driver is not proved_before:
            yield from self._hello()
        if self._driver.lost != lost:
            reason = {"reason": self._driver.lost or "over"}
            yield from LogLine("error", "shoe_journal.lost", reason)
            self._state.kick()
        # The events of a head that runs ahead follow at once, and must not wait for a state that
        # they make out of date. If they do not come, the watch notices.
        if not before and (yield from self._caught_up()):
            self._state.kick()

    def _on_request(self, message: Message) -> Steps[None]:
        before = self._guard.refused
        opened = yield from self._guard.request(message)
        yield from self._appending(self._report_access())
        if opened is not None:
            yield from self._requests.hear(opened)
        elif self._guard.refused != before:
            self._state.kick()

    def _hello(self) -> Steps[None]:
        """Ask the driver for its head, and tell it which events are appended."""
        yield from Post(self._topics.shoe_ack, (yield from self._encode_ack(hello=True)))

    def _ack(self) -> Steps[bytes]:
        """Return one acknowledgement for all appended events: a burst is acknowledged once."""
        return (yield from self._encode_ack(hello=False))

    def _encode_ack(self, *, hello: bool) -> Steps[bytes]:
        settled = self._driver.settled(self._writer.state)
        ack = msgspec.structs.replace(self._writer.shoe_ack, hello=hello, settled=settled)
        body = msgspec.json.encode(ack)
        return (yield from self._guard.authenticated(SHOE, self._topics.shoe_ack, body))

    def _changed(self) -> None:
        """Wake the publishers: events were appended, or the broker is back.

        The money comes first: every send wakes the broker, which may take the processor from us.
        """
        appended = self._writer.take_appended()
        if CoupSettled.TYPE in appended:
            self._settlements.kick()
        self._events.kick()
        self._state.kick()
        if has_pages(self._writer.state.coup):
            self._pages.kick()
        if self._writer.state.phase is Phase.COMPLETE:
            self._completed.set()
        if self._checkpoints and not appended.isdisjoint(LANDMARKS):
            self._checkpoints.kick()

    def _look_ahead(self) -> Steps[None]:
        """Compute a settlement while the shoe has yet to send its result, after the last card."""
        while True:
            yield from Wait(FOREVER_S, self._completed, _AFTER_LAST_CARD_S)
            self._completed.clear()
            self._writer.look_ahead()

    def _render(self) -> Steps[bytes]:
        self._shown_caught_up = yield from self._caught_up()
        now = yield from Now()
        document = project_table(
            self._writer.state,
            table=self._topics.table,
            rulebook=self._writer.rulebook,
            catching_up=not self._shown_caught_up,
            faults=tuple(self._faults(now)),
            consumers=self._consumers.view(now),
            library=self._writer.library,
            fault=self._writer.fault,
            dealers=self._writer.dealers,
        )
        yield from self._alarms.look(document.alarms, document.position)
        yield from Post(self._topics.display, encode_public_view(document), retain=True)
        return encode_state_view(document)

    def _faults(self, now: Instant) -> Iterator[Alarm]:
        """Yield the active alarms that cannot be in the log."""
        yield from self._health.alarms()
        if faults := self._writer.rulebook_faults:
            text = f"{self._writer.rulebook.id}: {faults[0].code}: {faults[0]}"
            yield Alarm(name="rulebook_faulty", text=text)
        yield from self._driver.alarms()
        yield from self._guard.alarms(now)
        if self._writer.contradiction is not None:
            text = f"{self._writer.contradiction}: not taken; the driver sends it again"
            yield Alarm(name="shoe_event_contradicted", text=text)
        yield from self._consumers.alarms(now)

    def _inspect(self) -> Steps[None]:
        """Verify, while the table is in play, what the opening of the log took on trust."""
        fault = yield from InspectLog()
        if fault is not None:
            yield from self._health.distrust(fault)

    def _watch(self) -> Steps[None]:
        """Notice what is missing: the device's result, the driver's heartbeat, its events."""
        while True:
            yield from Wait(_WATCH_EVERY_S)
            yield from self._guard.refresh()
            yield from self._appending(self._report_access())
            yield from self._mind_driver()
            if (yield from self._caught_up()) is not self._shown_caught_up:
                self._state.kick()
            if self._result_is_overdue((yield from Now()).mono_us):
                yield from self._appending(self._writer.report_overdue(RESULT_OVERDUE_S))
            yield from self._appending(self._writer.close_books())
            yield from self._appending(self._writer.report_clock())
            yield from self._appending(self._writer.append_due_limits())

    def _result_is_overdue(self, now_us: int) -> bool:
        coup = self._writer.state.coup
        waits = coup.id if coup is not None and coup.phase is Phase.COMPLETE else None
        if waits != self._without_result:
            self._without_result, self._complete_since = waits, now_us
        return waits is not None and now_us - self._complete_since >= _RESULT_OVERDUE_US

    def _report_access(self) -> Steps[None]:
        """Record a change of the access, before anything is done by it."""
        if changes := self._guard.take_changes():
            try:
                yield from self._writer.report_access(changes)
            except LogUnwritable:
                self._guard.return_changes(changes)
                raise

    def _appending(self, steps: Steps[None]) -> Steps[None]:
        """Append events that the table decides by itself, outside the course of the game."""
        position = self._writer.state.position
        try:
            yield from steps
        except LogUnwritable as error:
            yield from self._health.refuse(error)
        if self._writer.state.position != position:
            yield from self._health.accept()
            self._changed()
