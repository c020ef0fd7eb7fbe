"""The table as a service on the bus: it appends, acknowledges, and publishes with cursors.

Every change to the table comes in through a handler, one message at a time, and is appended before
anything about it is sent. Publishers with cursors send the events.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from typing import Final

import msgspec
import structlog

from events.clock import Clock
from events.errors import LogUnwritable, MalformedJson
from events.json_form import decode_json
from events.log.store import EventLog
from events.mqtt.bus import Bus, BusSettings, Message
from events.mqtt.presence import PresencePublisher, read_status
from events.mqtt.topics import Topics
from events.types.shoe_reports import LinkStatus, ShoeEvent
from table_core.projections.table_document import encode_state_view, project_table
from table_core.service.alarm_publisher import AlarmPublisher
from table_core.service.checkpoints import Checkpoints
from table_core.service.consumer_health import ConsumerHealth
from table_core.service.consumer_requests import ConsumerRequests
from table_core.service.event_replays import Replays
from table_core.service.history_client import HistoryClient, HistoryReader
from table_core.service.known_driver import KnownDriver
from table_core.service.publishers import CursorPublisher, LatestPublisher
from table_core.service.requests import RequestCallbacks, Requests
from table_core.service.table_writer import ShoeEventResult, Table, no_probe
from table_core.state.coup import Phase
from table_core.state.table import Alarm

__all__ = ["RESULT_OVERDUE_S", "SERVICE", "Inspection", "TableService"]

Inspection = Callable[[], Awaitable[str | None]]
"""Verifies the whole log, however long it takes; returns the fault in one line, or None."""

SERVICE: Final = "table"
_DRIVER: Final = "shoe"

# The house's limit for the device's own result after the deal is complete (docs/shoe-link.md).
RESULT_OVERDUE_S: Final = 30
_WATCH_EVERY_S: Final = 1.0
# Seconds to publish the offline status on a broker that does not answer.
_FAREWELL_S: Final = 1.0
# A driver's largest event holds some hundred bytes of the wire; a longer message is no driver's.
_SHOE_EVENT_BYTES: Final = 64 * 1024
_MICROSECONDS: Final = 1_000_000

_log: Final = structlog.get_logger()


class TableService:
    """Runs one table until it is cancelled.

    Args:
        table: the table on its log.
        log: the same log, for cursors and replays.
        topics: that it subscribes to and publishes on.
        settings: how to reach the broker.
        clock: for time-outs and timestamps.
        checkpoints: of the log; None where no key is configured.
        probe: called with the name of each step; tests pass their own.
        inspection: verifies the whole log while the table runs.
        past: reads the log's past in another process; None where the table does so itself.
        consumers: durable consumers that must acknowledge, `<user>/<consumer>`; others may.
    """

    def __init__(  # noqa: PLR0913 - its parts; those by keyword may be left out
        self,
        table: Table,
        log: EventLog,
        topics: Topics,
        settings: BusSettings,
        clock: Clock,
        *,
        checkpoints: Checkpoints | None = None,
        probe: Callable[[str], None] = no_probe,
        inspection: Inspection | None = None,
        past: HistoryReader | None = None,
        consumers: Iterable[str] = (),
    ) -> None:
        self._checkpoints = checkpoints
        self._inspection = inspection
        self._table = table
        self._log = log
        self._topics = topics
        self._clock = clock
        self._probe = probe
        self._driver = KnownDriver()
        self._complete_since: int | None = None
        self._shown_caught_up = False
        self._unwritable: str | None = None
        self._presence_publisher = PresencePublisher(
            topics.status(SERVICE), log.next_session(), clock
        )
        self._bus = Bus(
            settings,
            will=self._presence_publisher.will,
            subscriptions={
                topics.status(SERVICE): self._on_own_status,
                topics.shoe_event: self._on_shoe_event,
                topics.link_shoe: self._on_link,
                topics.requests: self._on_request,
                topics.status(_DRIVER): self._on_driver_status,
            },
            on_connect=self._on_connect,
            on_disconnect=self._on_disconnect,
        )
        self._feed = ConsumerHealth(log, clock, consumers)
        self._settlements = CursorPublisher(
            "settlement",
            log,
            lambda message: self._bus.publish(topics.settlement, message),
            wanted=self._feed.settled,
            probe=probe,
        )
        self._events = CursorPublisher(
            "event", log, lambda message: self._bus.publish(topics.event, message), probe=probe
        )
        self._state = LatestPublisher(
            self._render, lambda message: self._bus.publish(topics.state, message, retain=True)
        )
        self._acks = LatestPublisher(self._ack, self._acknowledge)
        self._replays = Replays(
            log.read, lambda user, message: self._bus.publish(topics.replayed(user), message)
        )
        self._bell = AlarmPublisher(lambda notice: self._bus.post(topics.alarm, notice))
        self._consumers = ConsumerRequests(table, self._feed, self._replays)
        self._back = HistoryClient(table, past)
        self._requests = self._answering()
        self._tasks = asyncio.TaskGroup()

    def _answering(self) -> Requests:
        return Requests(
            self._topics,
            self._table,
            self._consumers,
            self._back,
            post=lambda topic, message, retain: self._bus.post(topic, message, retain=retain),
            caught_up=lambda: self.caught_up,
            told=RequestCallbacks(
                self._disk_refuses, self._disk_takes, self._unsound, self._changed
            ),
            probe=self._probe,
        )

    @property
    def caught_up(self) -> bool:
        """Whether the table has appended every event that the driver is known to have numbered."""
        return self._bus.connected and self._driver.is_covered_by(self._table.state.link)

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until `stop` is set. Any failure ends the service: it fails closed."""
        async with self._tasks as group:
            tasks = [
                group.create_task(loop)
                for loop in (
                    self._bus.run(),
                    self._settlements.run(),
                    self._events.run(),
                    self._state.run(),
                    self._acks.run(),
                    self._presence_publisher.beat(self._bus),
                    self._watch(),
                    self._inspect(),
                    self._keep_checkpoints(),
                    self._back.run(),
                )
            ]
            await stop.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(_FAREWELL_S):
                    await self._presence_publisher.publish_offline(self._bus)
            self._replays.stop()
            for task in tasks:
                task.cancel()

    async def _on_connect(self) -> None:
        self._presence_publisher.announce(self._bus)
        self._bus.post(self._topics.shoe_ack, self._ack(hello=True))
        self._changed()
        if self._checkpoints:
            self._checkpoints.kick(again=True)

    def _on_disconnect(self) -> None:
        self._driver.disconnected()

    async def _on_own_status(self, message: Message) -> None:
        if self._presence_publisher.is_stale_will(message.payload):
            self._presence_publisher.announce(self._bus)

    async def _on_driver_status(self, message: Message) -> None:
        status = read_status(message.payload)
        if status is None:
            return
        self._driver.said(
            status,
            retained=message.retain,
            utc_ns=self._clock.utc_ns(),
            mono_us=self._clock.mono_us(),
        )
        self._mind_driver()

    def _mind_driver(self) -> None:
        """Check whether the driver is there and trusted; update displays as soon as it changes."""
        doubt = self._driver.doubt
        if self._driver.look(self._clock.mono_us()):
            self._state.kick()
        if self._driver.doubt != doubt:
            _log.error("shoe_driver.doubted", reason=self._driver.doubt or "over")

    async def _on_shoe_event(self, message: Message) -> None:
        if len(message.payload) > _SHOE_EVENT_BYTES:
            _log.error("shoe_event.too_large", bytes=len(message.payload))
            return
        try:
            event = decode_json(message.payload, ShoeEvent)
        except MalformedJson as error:
            _log.error("shoe_event.unreadable", topic=message.topic, reason=str(error))
            return
        if self._driver.names(event.journal, self._table.state.link):
            self._bus.post(self._topics.shoe_ack, self._ack(hello=True))
        try:
            heard = self._table.hear(event)
        except LogUnwritable as error:
            self._disk_refuses(error)
            return
        self._disk_takes()
        self._driver.numbered(event.journal, event.seq)
        if heard is ShoeEventResult.GAP:
            _log.warning("shoe_event.gap", journal=event.journal, seq=event.seq)
        self._acks.kick()
        if heard is ShoeEventResult.APPENDED:
            self._changed()

    async def _on_link(self, message: Message) -> None:
        try:
            status = decode_json(message.payload, LinkStatus)
        except MalformedJson as error:
            _log.error("link.unreadable", topic=message.topic, reason=str(error))
            return
        before = self.caught_up
        lost = self._driver.lost
        link, now = self._table.state.link, self._clock.mono_us()
        if self._driver.linked(status, link, retained=message.retain, mono_us=now):
            self._bus.post(self._topics.shoe_ack, self._ack(hello=True))
        if self._driver.lost != lost:
            _log.error("shoe_journal.lost", reason=self._driver.lost or "over")
            self._state.kick()
        # The events of a head that runs ahead follow at once, and must not wait for a state that
        # they make out of date. If they do not come, the watch notices.
        if self.caught_up and not before:
            self._state.kick()

    async def _on_request(self, message: Message) -> None:
        self._requests.hear(message, self._tasks.create_task)

    def _disk_refuses(self, error: LogUnwritable) -> None:
        """Acknowledge nothing, because nothing was stored, and report it on every display.

        Raises:
            LogUnwritable: the log must be opened again, which only a new start can do.
        """
        if self._log.closed:
            raise error
        if self._unwritable is None:
            _log.error("log.unwritable", reason=str(error))
        self._unwritable = str(error)
        self._state.kick()

    def _disk_takes(self) -> None:
        if self._unwritable is not None:
            _log.info("log.writable")
            self._unwritable = None

    def _ack(self, *, hello: bool = False) -> bytes:
        """Return one acknowledgement for all appended events: a burst is acknowledged once."""
        settled = self._driver.settled(self._table.state)
        ack = msgspec.structs.replace(self._table.shoe_ack, hello=hello, settled=settled)
        return msgspec.json.encode(ack)

    async def _acknowledge(self, document: bytes) -> bool:
        self._probe("ack.before")
        taken = await self._bus.publish(self._topics.shoe_ack, document)
        self._probe("ack.after")
        return taken

    def _changed(self) -> None:
        """Wake the publishers: events were appended, or the broker is back.

        The money comes first: every send wakes the broker, which may take the processor from us.
        """
        self._settlements.kick()
        self._events.kick()
        self._state.kick()
        if self._checkpoints:
            self._checkpoints.kick()

    async def _keep_checkpoints(self) -> None:
        if self._checkpoints:
            await self._checkpoints.run(
                lambda note: self._bus.publish(self._topics.checkpoint, note, retain=True)
            )

    def _render(self) -> bytes:
        self._shown_caught_up = self.caught_up
        document = project_table(
            self._table.state,
            table=self._topics.table,
            rulebook=self._table.rulebook,
            catching_up=not self._shown_caught_up,
            faults=tuple(self._faults()),
            consumers=self._feed.view(),
            library=self._table.library,
        )
        self._bell.look(document.alarms, document.position)
        return encode_state_view(document)

    def _faults(self) -> Iterator[Alarm]:
        """Yield the active alarms that cannot be in the log."""
        if self._unwritable:
            yield Alarm(name="log_unwritable", text=self._unwritable)
        if self._table.fault:
            text = f"{self._table.fault}; betting is stopped: keep the log, restore a backup"
            yield Alarm(name="log_unsound", text=text)
        yield from self._driver.alarms()
        yield from self._feed.alarms()

    async def _inspect(self) -> None:
        """Verify, while the table is in play, what the opening of the log took on trust."""
        fault = await self._inspection() if self._inspection else None
        if fault is not None:
            self._unsound(fault)

    def _unsound(self, fault: str) -> None:
        _log.error("log.unsound", reason=fault)
        self._table.start_lockdown(fault)
        self._state.kick()

    async def _watch(self) -> None:
        """Notice what is missing: the device's result, the driver's heartbeat, its events."""
        while True:
            await asyncio.sleep(_WATCH_EVERY_S)
            self._mind_driver()
            if self._shown_caught_up is not self.caught_up:
                self._state.kick()
            self._tick(self._clock.mono_us())
            self._appending(self._table.close_books)
            self._appending(self._table.report_clock)
            self._appending(self._table.append_due_limits)

    def _tick(self, now_us: int) -> None:
        if self._table.state.phase is not Phase.COMPLETE:
            self._complete_since = None
            return
        if self._complete_since is None:
            self._complete_since = now_us
        elif now_us - self._complete_since >= RESULT_OVERDUE_S * _MICROSECONDS:
            self._report_overdue()

    def _report_overdue(self) -> None:
        self._appending(lambda: self._table.report_overdue(RESULT_OVERDUE_S))

    def _appending(self, act: Callable[[], None]) -> None:
        """Append events that the table decides by itself, outside the course of the game."""
        position = self._table.state.position
        try:
            act()
        except LogUnwritable as error:
            self._disk_refuses(error)
        if self._table.state.position != position:
            self._changed()
