"""The table's checks of the driver's journal: deletable bytes, lost events, old journals. Pure.

- The driver keeps the bytes that an open or disputed coup may still need. The table reports up to
  which event no coup needs them.
- The driver's disk may have lost events that the table has. Then the driver would give their
  numbers to new cards, and the table would take these cards for duplicates. The driver's newest
  number shows such a loss.
- After the driver has begun a newer journal, an old one may come back, with a folder restored from
  a copy or with a second driver. The table would take all events of the old journal for
  duplicates. The journal's name shows that it is an old one.
"""

from typing import Final

from events.mqtt.presence import STALE_SECONDS
from events.types import LinkStatus
from table_core.state.table import ShoeLink, TableState

__all__ = ["DriverJournal"]

# A broker may deliver an older `link/shoe` after newer events. A second one a second later, or a
# driver that begins another journal once the table has reported the loss, leaves no doubt.
_DOUBT_US: Final = 1_000_000
# The driver repairs it within a second; the alarm stays long enough for staff to see it.
_STANDS_US: Final = 600_000_000


class DriverJournal:
    """The checks, with what they remember between messages.

    Attributes:
        lost: the events that the driver's disk has lost, for a person; empty when none.
    """

    def __init__(self) -> None:
        self.lost = ""
        self._settled: tuple[str, int] = ("", 0)
        self._suspect: tuple[str, int, int] | None = None  # journal, our newest event of it, time
        self._asked_us = 0
        self._lost_us = 0
        self._past = ("", 0)  # the journal that came back, time of its first message
        self._old: tuple[str, int] | None = None  # the fault for a person, time of its last sign

    def settled(self, state: TableState) -> int | None:
        """Return the event of the driver's journal up to which no coup needs the bytes.

        None for a coup that was in progress when the service started: nobody here knows where it
        began.
        """
        link = state.link
        if not state.in_progress:
            self._settled = (link.journal, link.seq)
        journal, seq = self._settled
        return seq if journal and journal == link.journal else None

    def told(self, status: LinkStatus, link: ShoeLink, now_us: int) -> bool:
        """Compare the driver's journal and head with the appended events.

        Args:
            status: a live `link/shoe`.
            link: the state of the link after the appended events.
            now_us: monotonic.

        Returns:
            Whether to send the driver the last acknowledgement again: it has fewer events.
        """
        if status.journal in link.past:
            self._come_back(status.journal, link.journal, now_us)
            return False
        suspect = self._suspect
        if status.journal != link.journal or status.head >= link.seq:
            if suspect is not None and status.journal not in {"", suspect[0]}:
                self._say(suspect, now_us)  # the driver knows of the loss: it began another
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
        """Return the fault of the journal that the driver writes, for a person; empty when none."""
        if self._old is None or now_us - self._old[1] > STALE_SECONDS * 1e6:
            return ""
        return self._old[0]

    def _come_back(self, journal: str, newer: str, now_us: int) -> None:
        """Note an old journal: one late message may be stale, but not one a second later."""
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
