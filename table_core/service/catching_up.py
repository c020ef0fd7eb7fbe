"""Whether the core has read everything the driver has numbered. Pure.

A wager must never overtake a card that the driver holds and the core has not appended. So after
every connect nothing is taken on trust: a retained `link/shoe` may be older than the newest card.
The driver answers the core's first acknowledgement with a live one, and only that counts.
"""

from msgspec import Struct
from msgspec.structs import replace

from events.types.shoe_reports import LinkStatus
from table_core.state.table import LinkView

__all__ = ["DriverHead"]


class DriverHead(Struct, frozen=True, kw_only=True):
    """What the core knows of the driver's newest number.

    Args:
        journal: id of the journal the driver writes; empty while unknown.
        head: the newest `seq` it has told of.
    """

    journal: str = ""
    head: int = 0

    def told(self, status: LinkStatus, *, retained: bool) -> "DriverHead":
        """After a `link/shoe`: a live one counts, a retained one is only history."""
        if retained:
            return self
        if status.journal == self.journal:
            # A broker may hand over an older one after a newer: a journal's head never falls.
            return self.heard(status.journal, status.head)
        return DriverHead(journal=status.journal, head=status.head)

    def heard(self, journal: str, seq: int) -> "DriverHead":
        """After a shoe event: the driver has at least that."""
        if journal != self.journal:
            return self
        return replace(self, head=max(self.head, seq))

    def reached_by(self, link: LinkView) -> bool:
        """Whether what has been appended covers all the driver is known to have."""
        if not self.journal:
            return False
        if self.head == 0:
            return True
        return link.journal == self.journal and link.seq >= self.head
