"""What the table and the driver owe one another about the raw journal. Pure.

The driver keeps what an open or disputed coup may still need: the table tells it up to where
nothing does. And the driver's disk may have lost events that the table has: then it would give
their numbers to new cards, which the table would take for copies. Its head tells. And a journal
that another has followed may come back, with a folder that was put back from a copy or with a
second driver: all that it says the table takes for told long ago. Its name tells.
"""

from typing import Final

from events.mqtt.presence import STALE_SECONDS
from events.types.shoe_reports import LinkStatus
from table_core.state.table import LinkView, TableState

__all__ = ["DriverJournal"]

# A broker may hand over an older `link/shoe` after newer events. One that still says so a second
# later, or a driver that begins another journal when it is told, leaves no doubt.
_DOUBT_US: Final = 1_000_000
# The driver mends it within a second: long enough to be seen by whoever looks after the table.
_STANDS_US: Final = 600_000_000


class DriverJournal:
    """The table's side of it.

    Attributes:
        lost: what the driver's disk has lost, for a person; empty when nothing has.
    """

    def __init__(self) -> None:
        self.lost = ""
        self._settled: tuple[str, int] = ("", 0)
        self._suspect: tuple[str, int, int] | None = None  # journal, what we have of it, when seen
        self._asked_us = 0
        self._lost_us = 0
        self._past = ("", 0)  # the journal that came back, and when it was first seen
        self._old: tuple[str, int] | None = None  # what is wrong with it, and when it last was

    def settled(self, state: TableState) -> int | None:
        """Up to which event of its journal the driver's bytes are needed by no coup.

        Of a coup in progress when the service was started, nobody here knows where it began: None.
        """
        link = state.link
        if not state.in_progress:
            self._settled = (link.journal, link.seq)
        journal, seq = self._settled
        return seq if journal and journal == link.journal else None

    def told(self, status: LinkStatus, link: LinkView, now_us: int) -> bool:
        """Hold the driver's journal and head against what has been appended.

        Args:
            status: a live `link/shoe`.
            link: what has been appended.
            now_us: monotonic.

        Returns:
            Whether the driver is to be told again what has been appended: it has less.
        """
        if status.journal in link.past:
            self._come_back(status.journal, link.journal, now_us)
            return False
        suspect = self._suspect
        if status.journal != link.journal or status.head >= link.seq:
            if suspect is not None and status.journal not in {"", suspect[0]}:
                self._say(suspect, now_us)  # it knows: it has begun another
            elif self.lost and now_us - self._lost_us > _STANDS_US:
                self.lost = ""
            self._suspect = None
            return False
        if suspect is None or suspect[0] != status.journal or status.head >= suspect[1]:
            self._suspect = (status.journal, link.seq, now_us)
        elif now_us - suspect[2] >= _DOUBT_US:
            self._say(suspect, now_us)
        ask = suspect is None or now_us - self._asked_us >= _DOUBT_US
        self._asked_us = now_us if ask else self._asked_us
        return ask

    def old(self, now_us: int) -> str:
        """What is wrong with the journal that is written, for a person; empty when nothing is."""
        if self._old is None or now_us - self._old[1] > STALE_SECONDS * 1e6:
            return ""
        return self._old[0]

    def _come_back(self, journal: str, newer: str, now_us: int) -> None:
        """Its last word may have come late once; one that says it a second later is there."""
        if self._past[0] != journal:
            self._past = (journal, now_us)
        elif now_us - self._past[1] >= _DOUBT_US:
            text = (
                f"the shoe driver writes journal {journal}, which {newer} had followed: its folder "
                "was put back from a copy, or two drivers speak for this table. What it says is "
                "not taken, and nobody may bet: stop the driver that does not belong here, and "
                "move the old journals out of the other's folder"
            )
            self._old = (text, now_us)

    def _say(self, suspect: tuple[str, int, int], now_us: int) -> None:
        journal, seq, _ = suspect
        self._lost_us = now_us
        self.lost = (
            f"the shoe driver's disk has lost events of journal {journal} that the table has (up "
            f"to {seq}): look at that disk; compare cards and screen before the next settlement"
        )
