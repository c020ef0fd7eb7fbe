"""What the table and the driver owe one another about the raw journal. Pure.

The driver keeps what an open or disputed coup may still need: the table tells it up to where
nothing does. And the driver's disk may have lost events that the table has: then it would give
their numbers to new cards, which the table would take for copies. Its head tells.
"""

from typing import Final

from events.types.shoe_reports import LinkStatus, ShoeAck
from table_core.state.table import TableState

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

    def settled(self, state: TableState) -> int | None:
        """Up to which event of its journal the driver's bytes are needed by no coup.

        Of a coup in progress when the service was started, nobody here knows where it began: None.
        """
        link = state.link
        if not state.in_progress:
            self._settled = (link.journal, link.seq)
        journal, seq = self._settled
        return seq if journal and journal == link.journal else None

    def told(self, status: LinkStatus, ack: ShoeAck, now_us: int) -> bool:
        """Hold the driver's head against what has been appended.

        Args:
            status: a live `link/shoe`.
            ack: what has been appended.
            now_us: monotonic.

        Returns:
            Whether the driver is to be told again what has been appended: it has less.
        """
        suspect = self._suspect
        if status.journal != ack.journal or status.head >= ack.seq:
            if suspect is not None and status.journal not in {"", suspect[0]}:
                self._say(suspect, now_us)  # it knows: it has begun another
            elif self.lost and now_us - self._lost_us > _STANDS_US:
                self.lost = ""
            self._suspect = None
            return False
        if suspect is None or suspect[0] != status.journal or status.head >= suspect[1]:
            self._suspect = (status.journal, ack.seq, now_us)
        elif now_us - suspect[2] >= _DOUBT_US:
            self._say(suspect, now_us)
        ask = suspect is None or now_us - self._asked_us >= _DOUBT_US
        self._asked_us = now_us if ask else self._asked_us
        return ask

    def _say(self, suspect: tuple[str, int, int], now_us: int) -> None:
        journal, seq, _ = suspect
        self._lost_us = now_us
        self.lost = (
            f"the shoe driver's disk has lost events of journal {journal} that the table has (up "
            f"to {seq}): look at that disk; compare cards and screen before the next settlement"
        )
