"""The outbox: a window over the journal's events that the core has not acknowledged. Sans-IO.

The journal holds every event for ever. The outbox holds the encoded events above the acknowledged
one: at most `IN_FLIGHT` on their way and at most `KEPT` in memory. If more pile up (the core is
down for days), the rest is decoded from the journal again. Acknowledgement is cumulative. The event
sender resends everything in order from the last acknowledged event, and the receiver drops by
number what it has.
"""

from collections import deque
from collections.abc import Iterator
from enum import Enum
from typing import Final

__all__ = ["IN_FLIGHT", "KEPT", "AckOutcome", "Outbox"]

IN_FLIGHT: Final = 64  # a whole coup with all its reveals is some 20 events
KEPT: Final = 4096  # about 2 MB


class AckOutcome(Enum):
    """The effect of an acknowledgement."""

    ADVANCED = "advanced"  # new: the core has these events now
    REPEATED = "repeated"  # known: the core asks for what follows
    REWOUND = "rewound"  # below an earlier one: the core has lost events
    BEYOND = "beyond"  # of an event that this journal does not have: refused


class Outbox:
    """The events of one journal above the acknowledged one.

    Args:
        acked: number of the last acknowledged event.
        in_flight: most events sent and not acknowledged.
        kept: most events in memory.

    Attributes:
        acked: the core has everything up to this number.
        head: the newest event's number.
    """

    def __init__(self, *, acked: int, in_flight: int = IN_FLIGHT, kept: int = KEPT) -> None:
        self.acked = acked
        self.head = acked
        self._in_flight = in_flight
        self._limit = kept
        self._sent = acked
        self._first = acked + 1  # number of the first event in memory
        self._kept: deque[bytes] = deque()

    @property
    def kept(self) -> int:
        """How many events are in memory."""
        return len(self._kept)

    @property
    def room(self) -> int:
        """How many more events fit in memory."""
        return self._limit - len(self._kept)

    @property
    def waiting(self) -> bool:
        """Whether a sent event has not been acknowledged."""
        return self._sent > self.acked

    @property
    def lacks(self) -> int | None:
        """The number from which events must be read from the journal again, or None."""
        after = self._first + len(self._kept)
        if after > self.head or after > self.acked + self._in_flight:
            return None
        return after

    def offer(self, seq: int) -> bool:
        """Note that an event exists; report whether its message is wanted. If so, call `keep`."""
        self.head = max(self.head, seq)
        return seq == self._first + len(self._kept) and len(self._kept) < self._limit

    def keep(self, message: bytes) -> None:
        """Store the message of the event that was just offered and is wanted."""
        self._kept.append(message)

    def due(self) -> Iterator[tuple[int, bytes]]:
        """Yield the events to send now, in order. Call `sent` for each that went out."""
        last = min(self.acked + self._in_flight, self._first + len(self._kept) - 1)
        for seq in range(self._sent + 1, last + 1):
            yield seq, self._kept[seq - self._first]

    def sent(self, seq: int) -> None:
        """Mark an event as sent."""
        self._sent = seq

    def resend(self) -> None:
        """Mark every unacknowledged event as unsent."""
        self._sent = self.acked

    def acknowledge(self, seq: int) -> AckOutcome:
        """Apply the core's acknowledgement of everything up to `seq`."""
        if not 0 <= seq <= self.head:
            return AckOutcome.BEYOND
        if seq == self.acked:
            return AckOutcome.REPEATED
        if seq < self.acked:
            self.acked = self._sent = seq
            self._first = seq + 1
            self._kept.clear()
            return AckOutcome.REWOUND
        for _ in range(min(seq - self.acked, len(self._kept))):
            self._kept.popleft()
        self.acked = seq
        self._first = seq + 1
        self._sent = max(self._sent, seq)
        return AckOutcome.ADVANCED
