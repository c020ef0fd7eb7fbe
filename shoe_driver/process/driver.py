"""The driver's process: its parts, what makes each of them act, and how they end in order. Pure."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from events.mqtt.messages import Message
from events.mqtt.peer_keys import PeerKeys
from events.mqtt.presence import PresencePublisher
from events.mqtt.process import Begin, LogLine, Signal, Steps, Wait
from events.mqtt.topics import Topics
from shoe_driver.process.event_sender import EventSender, PortStatus
from shoe_driver.process.link_supervisor import LinkSupervisor
from shoe_driver.process.recorder import Recorder
from shoe_driver.process.retention import JournalRetention

__all__ = ["ENDING_S", "SERVICE", "DriverProcess"]

SERVICE: Final = "shoe"

_TIDY_S: Final = 60.0
# For a running write, and for storing that the link has ended.
_STOP_S: Final = 4.0
# For publishing "offline" after that. A hanging disk must not keep us.
_OFFLINE_S: Final = 3.0

ENDING_S: Final = _STOP_S + _OFFLINE_S + 1.0
"""Seconds that `ending` takes at most."""


class DriverProcess:
    """One life of a table's driver. Perform `start` before all else.

    Args:
        topics: the table's topics.
        transport: where the shoe is connected.
        profile: the bytes of the wire profile's file.
        keep: how large its journal's files grow, and how long they are kept.
        session: its session number, larger than at its last start.
        utc_ns: now, nanoseconds since 1970 UTC.
        keys: proves what it says, and checks what the table says.

    Attributes:
        recorder: its journal, decoder and outbox.
        will: the message that the broker publishes when the connection ends.
        subscriptions: what it does with a message, by topic.
    """

    def __init__(
        self,
        topics: Topics,
        transport: str,
        profile: bytes,
        keep: JournalRetention,
        session: int,
        utc_ns: int,
        keys: PeerKeys | None = None,
    ) -> None:
        port = PortStatus(transport)
        self.recorder = Recorder(profile, keep)
        self._presence = PresencePublisher(topics.status(SERVICE), session, utc_ns)
        self._sender = EventSender(topics, self.recorder, port, keys)
        self._link = LinkSupervisor(port, self.recorder, self._sender.publish_status)
        self._said_offline = Signal()
        self.recorder.on_events = self._sender.on_events
        self.will = self._presence.will
        self.subscriptions: Mapping[str, Callable[[Message], Steps[None]]] = {
            topics.shoe_ack: self._sender.on_ack,
            self._presence.topic: self._presence.on_own_status,
        }

    def start(self) -> Steps[None]:
        """Open the journal; see `Recorder.start`."""
        yield from self.recorder.start()

    def running(self) -> Iterable[Steps[None]]:
        """See `Process.running`."""
        return self._link.run(), self._presence.beat(), self._tick(), self._tidy()

    def on_connect(self) -> Steps[None]:
        """Publish presence, status and everything unacknowledged."""
        yield from self._presence.announce()
        yield from self._sender.connected()

    def on_disconnect(self) -> Steps[None]:
        """Publish nothing more."""
        yield from ()
        self._sender.disconnected()

    def ending(self) -> Steps[None]:
        """Store and publish that the link has ended, and then that the driver is offline."""
        yield from self._link.stop()
        if not (yield from Wait(_STOP_S, self._link.ended)):
            yield from LogLine("error", "journal.unwritable", {"reason": "the disk hangs"})
        yield from self.recorder.note_acked()
        yield from Begin(self._publish_offline())
        if not (yield from Wait(_OFFLINE_S, self._said_offline)):
            yield from LogLine("warning", "farewell.unheard")

    def _publish_offline(self) -> Steps[None]:
        yield from self._presence.publish_offline()
        self._said_offline.set()

    def _tick(self) -> Steps[None]:
        while True:
            yield from self._sender.rest()
            yield from self.recorder.refill()
            yield from self._sender.tick()

    def _tidy(self) -> Steps[None]:
        while True:
            yield from Wait(_TIDY_S)
            yield from self.recorder.drop_old_files()
