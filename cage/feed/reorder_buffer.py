"""Events as they come, put into the log's order: what is next, what came early, what is missing.

Delivery is at least once, and live events come between those of a replay. Whatever comes, in
whatever order and however often: `ready` holds the log's own row, each event once. Both bounds are
there so that a database that is away costs no memory; what they drop is read from the log again.
"""

from collections import deque
from typing import Final

from cage.ledger.facts import Fact

__all__ = ["AHEAD_MOST", "READY_MOST", "Inflow"]

READY_MOST: Final = 4_096
"""In order and not yet booked: more than a shoe has."""

AHEAD_MOST: Final = 4_096
"""Came before their turn: what a table says live while a long replay runs."""


class Inflow:
    """The row of events from one position on.

    Args:
        taken: everything up to here has been read already.
    """

    def __init__(self, taken: int) -> None:
        self.ready: deque[Fact] = deque()
        self.taken = taken
        self.highest = taken
        self.overflowed = False
        self.repeated = 0
        self.gaps = 0
        self._ahead: dict[int, Fact] = {}

    @property
    def behind(self) -> bool:
        """There are events that were not taken: on their way, or to be asked for."""
        return self.highest > self.taken

    def known_to(self, position: int) -> None:
        """The log is said to reach so far, at least."""
        self.highest = max(self.highest, position)

    def ends_at(self, position: int) -> None:
        """The log itself says where it ends; what was said of it before counts no more."""
        self.highest = max(position, self.taken, *self._ahead)

    def offer(self, fact: Fact) -> bool:
        """Take an event that came; True when it shows that some were missed."""
        position = fact.position
        if position <= self.taken or position in self._ahead:
            self.repeated += 1
            return False
        jumped = position > self.highest + 1
        self.known_to(position)
        self.gaps += jumped
        if position == self.taken + 1:
            self._take(fact)
        elif len(self._ahead) < AHEAD_MOST:
            self._ahead[position] = fact
        else:
            self.overflowed = True
        return jumped

    def _take(self, fact: Fact) -> None:
        if len(self.ready) >= READY_MOST:
            self.overflowed = True
            return
        following: Fact | None = fact
        while following is not None:
            self.ready.append(following)
            self.taken += 1
            following = self._ahead.pop(self.taken + 1, None)
