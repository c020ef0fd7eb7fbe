"""Compares what the driver sends with its promises: order, resends, and how often the link speaks.

Events are sent in the order of their numbers, none far ahead of a head, and again from the first
that the table has not acknowledged. A driver that is there says so every second, says every two
seconds how its link is, and sends what is stuck again within eight (docs/reference/topics.md).
"""

from collections.abc import Callable
from typing import Final

import msgspec

from events.clock import Clock
from events.mqtt.presence import Status
from events.mqtt.topics import Topics
from events.types import LinkStatus, ShoeAck, ShoeEvent
from simulators.world.auditor.audited_coup import require
from simulators.world.parts.clock import MICROSECONDS

__all__ = ["DriverWitness"]

# Between two signs of life; after more, the driver was away in the meantime.
_BEAT_US: Final = MICROSECONDS * 3 // 2
_LINK_US: Final = 3 * MICROSECONDS
_RESEND_US: Final = 10 * MICROSECONDS


class DriverWitness:
    """Receives every message.

    Args:
        topics: the table's.
        clock: the world's.
    """

    def __init__(self, topics: Topics, clock: Clock) -> None:
        self._clock = clock
        self._journal = ""
        self._last = self._most = 0  # numbers of events that were sent: the last, the highest
        self._sent_us = self._link_us = self._beat_us = self._here_us = 0
        self._session = 0
        self._acked: dict[str, int] = {}
        self._heads: dict[str, int] = {}
        self._hearers: dict[str, Callable[[bytes], None]] = {
            topics.shoe_event: self._event,
            topics.shoe_ack: self._ack,
            topics.link_shoe: self._link,
            topics.status("shoe"): self._beat,
        }

    def hear(self, topic: str, payload: bytes) -> None:
        """Check a message.

        Raises:
            Violation: it should not have been sent, or another one is overdue.
        """
        hearer = self._hearers.get(topic)
        if hearer is not None:
            hearer(payload)

    def _event(self, payload: bytes) -> None:
        event = msgspec.json.decode(payload, type=ShoeEvent)
        if event.journal != self._journal:
            self._journal, self._last, self._most = event.journal, 0, 0
        acked, head = self._acked.get(event.journal, 0), self._heads.get(event.journal, 0)
        goes_on = event.seq == self._last + 1 or event.seq <= acked + 1
        said = "event {0.journal}/{0.seq} is sent "
        require(goes_on, said + "after {1}, and {2} is acknowledged", event, self._last, acked)
        require(event.seq <= max(head, self._most) + 1, said + "ahead of {1}", event, head)
        self._last, self._most = event.seq, max(self._most, event.seq)
        self._sent_us = self._clock.mono_us()

    def _ack(self, payload: bytes) -> None:
        ack = msgspec.json.decode(payload, type=ShoeAck)
        self._acked[ack.journal] = max(ack.seq, self._acked.get(ack.journal, 0))

    def _link(self, payload: bytes) -> None:
        link = msgspec.json.decode(payload, type=LinkStatus)
        require(bool(link.reason) == (link.state == "down"), f"{link.state}: {link.reason!r}")
        self._heads[link.journal] = link.head
        self._link_us = self._clock.mono_us()

    def _beat(self, payload: bytes) -> None:
        status, now = msgspec.json.decode(payload, type=Status), self._clock.mono_us()
        here = status.state == "online" and status.session == self._session
        if not here or now - self._beat_us > _BEAT_US:
            self._here_us = now
        self._beat_us, self._session = now, status.session
        since = now - max(self._link_us, self._here_us)
        require(since < _LINK_US, f"the link says nothing for {since} us")
        if self._most > self._acked.get(self._journal, 0):
            since = now - max(self._sent_us, self._here_us)
            said = f"{self._journal}/{self._most} is not acknowledged"
            require(since < _RESEND_US, f"{said}, and not sent again for {since} us")
