"""What has been told and not yet acknowledged: a window over the journal's events. Sans-IO.

The journal holds every event for ever; this holds the encoded bytes of those above the
acknowledged one, of which at most `IN_FLIGHT` are on their way and at most `KEPT` in memory. When
more have piled up (the core is down for days) the rest is decoded from the journal again.
Acknowledgement is cumulative. Everything is resent in order from the last acknowledged one, and
whoever receives it drops what it has by number.
"""

from collections import deque
from collections.abc import Iterator
from enum import Enum
from typing import Final

__all__ = ["IN_FLIGHT", "KEPT", "AckOutcome", "Outbox"]

IN_FLIGHT: Final = 64  # a whole coup with all its reveals is some 20 events
KEPT: Final = 4096  # about 2 MB


class AckOutcome(Enum):
    """What an acknowledgement was."""

    ADVANCED = "advanced"  # new: these events are the core's now
    REPEATED = "repeated"  # known: the core asks for what follows
    REWOUND = "rewound"  # below a former one: the core has lost what it had
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
        """How many more can be kept."""
        return self._limit - len(self._kept)

    @property
    def waiting(self) -> bool:
        """Whether something sent has not been acknowledged."""
        return self._sent > self.acked

    @property
    def lacks(self) -> int | None:
        """The number from which on events have to be read from the journal again, or None."""
        after = self._first + len(self._kept)
        if after > self.head or after > self.acked + self._in_flight:
            return None
        return after

    def offer(self, seq: int) -> bool:
        """There is an event of this number. Whether its message is wanted now: then `keep` it."""
        self.head = max(self.head, seq)
        return seq == self._first + len(self._kept) and len(self._kept) < self._limit

    def keep(self, message: bytes) -> None:
        """The message of the event that was just offered and is wanted."""
        self._kept.append(message)

    def due(self) -> Iterator[tuple[int, bytes]]:
        """The events to send now, in order. `sent` is called for each that went out."""
        last = min(self.acked + self._in_flight, self._first + len(self._kept) - 1)
        for seq in range(self._sent + 1, last + 1):
            yield seq, self._kept[seq - self._first]

    def sent(self, seq: int) -> None:
        """This event is on its way."""
        self._sent = seq

    def resend(self) -> None:
        """Nothing that is unacknowledged counts as sent any more."""
        self._sent = self.acked

    def acknowledge(self, seq: int) -> AckOutcome:
        """The core has everything up to `seq`."""
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
