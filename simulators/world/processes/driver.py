"""The driver's process: port, recorder and the driver's own `EventSender`, without the waiting.

It does what `shoe_driver.service.link_supervisor` and `.service` do, one thing at a time: read,
store, decode, answer the device, tell the core; lose the port and open it again; notice silence.
"""

from collections.abc import Callable, Coroutine
from random import Random
from typing import Any, Final, Literal

from events.clock import rfc3339
from events.errors import LinkError, LogUnwritable
from events.mqtt.messages import Message, Publication
from events.mqtt.presence import Status, encode_status
from events.mqtt.topics import Topics
from shoe_driver.journal.records import RecordKind
from shoe_driver.link.states import LinkState
from shoe_driver.profiles.profile import Profile
from shoe_driver.service.event_sender import EventSender, PortStatus
from simulators.world.parts.broker import FakeBroker, FakeClient
from simulators.world.parts.clock import MICROSECONDS, WorldClock
from simulators.world.parts.journal_disk import JournalDisk
from simulators.world.parts.port import WorldPort
from simulators.world.processes.recorder import WorldRecorder

__all__ = ["DriverProcess"]

_SERVICE: Final = "shoe"
_TICK_US: Final = 100_000
# Where nothing waits and nothing has come for a while, fewer looks find as much.
_HOT_US, _IDLE_TICK_US = 300_000, 500_000
_BEAT_US: Final = MICROSECONDS
_REOPEN_US: Final = 150_000
_READS: Final = (4096, 4096, 4096, 32, 7, 1)  # bytes at most
_READS_FIRST: Final = 0.5  # where a message waits as well
_TO_SPEAK: Final = frozenset({LinkState.OPEN, LinkState.UP})


class DriverProcess:
    """One life of a driver.

    Args:
        topics: the table's.
        profile: the wire profile: its bytes, and as it is read.
        disk: where the journals are.
        port: the shoe's line.
        courier: the broker.
        clock: the world's.
        rng: how a read is cut.
        probe: told of each step; it may kill the process there.
    """

    def __init__(
        self,
        topics: Topics,
        profile: tuple[bytes, Profile],
        disk: JournalDisk,
        port: WorldPort,
        courier: FakeBroker,
        clock: WorldClock,
        rng: Random,
        probe: Callable[[str], None],
    ) -> None:
        disk.session += 1
        self._clock = clock
        self._port = port
        self._rng = rng
        self._held = False
        self._opened = 0
        self._reopen_us = self._tick_us = self._beat_us = clock.now_us
        self._opened_us = self._last_us = clock.now_us
        self._session = disk.session
        self._status = topics.status(_SERVICE)
        self.client = FakeClient(
            courier,
            (topics.shoe_ack, self._status),
            Publication(self._status, self._presence("offline"), retain=True),
        )
        self.recorder = WorldRecorder(disk, *profile, clock, probe)
        self._limits = profile[1].limits
        self._patience_us = profile[1].patience_ms * 1_000
        self._has_beat = profile[1].has_beat
        self._teller = EventSender(
            topics, self.recorder, self._view, self.client.post, clock, probe
        )
        self.recorder.on_events = self._teller.on_events

    @property
    def wakes_us(self) -> int:
        """When it next does something by itself."""
        return (
            min(self._tick_us, self._beat_us)
            if self._held
            else min(self._tick_us, self._beat_us, self._reopen_us)
        )

    @property
    def busy(self) -> bool:
        """Whether there is something to do now."""
        return (
            bool(self.client.inbox)
            or (self._held and self._port.readable)
            or self._clock.now_us >= self.wakes_us
        )

    def work(self) -> None:
        """Do one thing."""
        now = self._clock.now_us
        readable = self._held and self._port.readable
        if readable and (not self.client.inbox or self._rng.random() < _READS_FIRST):
            self._read()
        elif self.client.inbox:
            self._hear(self.client.inbox.popleft())
        elif not self._held and now >= self._reopen_us:
            self._open()
        elif now >= self._beat_us:
            self._beat_us = now + _BEAT_US
            self._announce()
        elif now >= self._tick_us:
            self._tick()

    def connect(self) -> None:
        """The broker is there."""
        self.client.connect()
        self._announce()
        self._teller.connected()

    def disconnected(self) -> None:
        """The broker is gone."""
        self._teller.disconnected()

    def die(self) -> None:
        """The process is gone, and with it the port that it had."""
        self._port.close()
        self.client.hang_up()

    def _hear(self, message: Message) -> None:
        if message.topic != self._status:
            _run(self._teller.on_ack(message))

    def _open(self) -> None:
        self._reopen_us = self._clock.now_us + _REOPEN_US
        try:
            self.recorder.settle()
            self.recorder.roll()
            self._port.open()
            self._held = True
            self._opened += 1
            self._opened_us = self._last_us = self._clock.now_us
            self.recorder.happened(RecordKind.OPEN, "world:shoe")
            self._port.say(self.recorder.decoder.greeting())
        except (LinkError, LogUnwritable) as error:
            self._lose(error)

    def _read(self) -> None:
        try:
            # The kernel hands over what there is; sometimes a read comes in the midst of it.
            most = self._rng.choice(_READS)
            self.recorder.data(self._port.read(most))
            self._last_us = self._clock.now_us
            self._tick_us = min(self._tick_us, self._last_us + _TICK_US)
            self._port.say(self.recorder.decoder.replies())
        except (LinkError, LogUnwritable) as error:
            self._lose(error)

    def _lose(self, error: Exception) -> None:
        if self._held:
            self._held = False
            self._port.close()
        self._reopen_us = self._clock.now_us + _REOPEN_US
        try:
            self.recorder.hang_up(str(error))
        except LogUnwritable:
            return  # owed: it is stored before the port is opened again
        finally:
            self._teller.changed()

    def _tick(self) -> None:
        now, outbox = self._clock.now_us, self.recorder.outbox
        hot = outbox.waiting or outbox.lacks is not None or now - self._last_us < _HOT_US
        self._tick_us = now + (_TICK_US if hot else _IDLE_TICK_US)
        self.recorder.refill()
        self._teller.tick()
        if self._held and not self._port.readable:
            try:
                self._watch()
            except (LinkError, LogUnwritable) as error:
                self._lose(error)

    def _watch(self) -> None:
        """See `shoe_driver.service.silence_watch`."""
        if self.recorder.forsaken:
            raise LinkError("the journal has lost events: another is begun")
        decoder, now = self.recorder.decoder, self._clock.now_us
        if decoder.pending and now - self._last_us > self._patience_us:
            self.recorder.happened(RecordKind.QUIET)
        silent_ms = (now - max(self._opened_us, decoder.heard_us or 0)) // 1_000
        if silent_ms <= self._limits.silence_ms:
            return
        if decoder.device_should_send and decoder.link in _TO_SPEAK:
            self.recorder.happened(RecordKind.SILENCE, str(silent_ms))
        if self._has_beat and silent_ms > 3 * self._limits.silence_ms:
            raise LinkError(f"no heartbeat for {silent_ms} ms")

    def _view(self) -> PortStatus:
        return PortStatus(
            self._held, "" if self._held else "not there", "world:shoe", "", self._opened
        )

    def _announce(self) -> None:
        self.client.post(self._status, self._presence("online"), retain=True)

    def _presence(self, state: Literal["online", "offline"]) -> bytes:
        ts = rfc3339(self._clock.utc_ns())
        return encode_status(Status(state=state, session=self._session, ts=ts))


def _run(waiting: Coroutine[Any, Any, None]) -> None:
    """Run a handler of the product that waits for nothing."""
    try:
        waiting.send(None)
    except StopIteration:
        return
    raise RuntimeError("a handler waits")
