"""Decides whether the table has appended every event that the driver has numbered. Pure.

A wager must never overtake a card that the driver holds and the table has not appended. So after
every connect the table trusts no retained message: a retained `link/shoe` may be older than the
newest card. The driver answers the table's first acknowledgement with a live `link/shoe`, and only
a live one counts.
"""

from msgspec import Struct
from msgspec.structs import replace

from events.types import LinkStatus
from table_core.state.table import ShoeLink

__all__ = ["DriverHead"]


class DriverHead(Struct, frozen=True, kw_only=True):
    """The driver's newest event number, as far as the table knows.

    Args:
        journal: id of the journal that the driver writes; empty while unknown.
        head: the newest `seq` that the driver has reported.
    """

    journal: str = ""
    head: int = 0

    def told(self, status: LinkStatus, *, retained: bool) -> "DriverHead":
        """Return the head after a `link/shoe`; a retained one is history and changes nothing."""
        if retained:
            return self
        if status.journal == self.journal:
            # A broker may deliver an older one after a newer: a journal's head never falls.
            return self.heard(status.journal, status.head)
        return DriverHead(journal=status.journal, head=status.head)

    def heard(self, journal: str, seq: int) -> "DriverHead":
        """Return the head after a shoe event: the driver has at least that event."""
        if journal != self.journal:
            return self
        return replace(self, head=max(self.head, seq))

    def is_covered_by(self, link: ShoeLink) -> bool:
        """Return whether the table has appended every event that the driver is known to have."""
        if not self.journal:
            return False
        if self.head == 0:
            return True
        return link.journal == self.journal and link.seq >= self.head
