"""A reorder buffer: puts received events into log order, drops duplicates and reports gaps.

The broker delivers at least once, and live events arrive between those of a replay. `ready` holds
each event once, in log order, however they arrived. Both bounds limit the memory used during a
database outage; the service requests dropped events from the log again.
"""

from collections import deque
from typing import Final

from cage.ledger.received_event import LedgerEvent
from events.errors import LedgerError

__all__ = ["AHEAD_MOST", "READY_MOST", "ReorderBuffer"]

READY_MOST: Final = 4_096
"""Most events in order and not yet booked: more than a shoe has."""

AHEAD_MOST: Final = 4_096
"""Most events held early: live events that arrive during a long replay."""


class ReorderBuffer:
    """Orders the events that follow one position of a log.

    Args:
        taken: the position up to which events have been read already.
        head: the hash of the log's chain there; None where nobody knows it.
    """

    def __init__(self, taken: int, head: bytes | None = None) -> None:
        self.ready: deque[LedgerEvent] = deque()
        self.taken = taken
        self.highest = taken
        self.overflowed = False
        self.repeated = 0
        self.gaps = 0
        self._ahead: dict[int, LedgerEvent] = {}
        self._hashes = {} if head is None else {taken: head}

    @property
    def behind(self) -> bool:
        """Whether events are missing: still on their way, or to be requested."""
        return self.highest > self.taken

    def extend_to(self, position: int) -> None:
        """Record that the log reaches at least this position."""
        self.highest = max(self.highest, position)

    def ends_at(self, position: int) -> None:
        """Record the log's end as the log reports it; this replaces earlier reports."""
        self.highest = max(position, self.taken, *self._ahead)

    def offer(self, fact: LedgerEvent) -> bool:
        """Add a received event; return True if its position reveals a gap.

        Raises:
            LedgerError: another event was read at its position: the log has another past. An event
                whose bytes are sealed shows that in no other way.
        """
        position = fact.position
        if self._hashes.get(position, fact.hash) != fact.hash:
            raise LedgerError(
                f"event {position} is not the one that was read: the log was cut, restored from an "
                "older copy, or rewritten since; nothing more is booked until a person has looked"
            )
        if position <= self.taken or position in self._ahead:
            self.repeated += 1
            return False
        jumped = position > self.highest + 1
        self.extend_to(position)
        self.gaps += jumped
        if position == self.taken + 1:
            self._take(fact)
        elif len(self._ahead) < AHEAD_MOST:
            self._ahead[position] = fact
        else:
            self.overflowed = True
        return jumped

    def _take(self, fact: LedgerEvent) -> None:
        if len(self.ready) >= READY_MOST:
            self.overflowed = True
            return
        following: LedgerEvent | None = fact
        while following is not None:
            self.ready.append(following)
            self.taken += 1
            self._hashes[self.taken] = following.hash
            self._hashes.pop(self.taken - READY_MOST, None)
            following = self._ahead.pop(self.taken + 1, None)
