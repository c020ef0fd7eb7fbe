"""The table's view of its shoe driver: online or not, its newest event, and whether to trust it.

A driver that is offline may hold cards that the table does not have. So the table discards its view
of the driver until the driver reports again. There may also be two drivers, or a driver with old
journals (a controller's copy). The table would then take some of their cards for duplicates, so it
refuses bets.
"""

from collections.abc import Iterator
from typing import Final

from events.mqtt.presence import STALE_SECONDS, Presence, Status
from events.types import LinkStatus
from table_core.process.catching_up import DriverHead
from table_core.process.journal_release import DriverJournal
from table_core.state.table import Alarm, ShoeLink, TableState

__all__ = ["KnownDriver"]

_US: Final = 1_000_000
_TWO = (
    "two shoe drivers speak for this table, sessions {} and {}: stop the one that does not belong "
    "here; nobody may bet meanwhile"
)


class KnownDriver:
    """The fold of a driver's status, link and events.

    Attributes:
        away: the driver, or its Will, has reported it offline; not so before its first message.
        doubt: why the driver is not trusted, for a person; empty where it is.
        clock_fault: how its clock differs from the table's; empty where it does not.
        must_prove: only its own `link/shoe` shows that it is there, since anybody who runs the
            broker can write a status.
    """

    def __init__(self) -> None:
        self.away = False
        self.must_prove = False
        self._linked_us: int | None = None
        self.doubt = ""
        self.clock_fault = ""
        self._presence = Presence()
        self._head = DriverHead()
        self._journal = DriverJournal()
        self._named = ""  # the newest journal that the driver has named

    @property
    def lost(self) -> str:
        """The events that its disk has lost, for a person; empty when none."""
        return self._journal.lost

    def disconnected(self) -> None:
        """Forget what was known: the broker is gone, and it may be out of date."""
        self._presence, self._head = self._presence.disconnected(), DriverHead()

    def said(self, status: Status, *, retained: bool, utc_ns: int, mono_us: int) -> None:
        """Take the driver's status, or its Will; times as `Presence.heard` takes them."""
        self._presence = self._presence.with_message(
            status, retained=retained, utc_ns=utc_ns, mono_us=mono_us
        )

    def linked(self, status: LinkStatus, link: ShoeLink, *, retained: bool, mono_us: int) -> bool:
        """Take a `link/shoe`.

        Args:
            status: its content.
            link: the state of the link after the appended events.
            retained: whether the broker had retained it.
            mono_us: now, monotonic.

        Returns:
            Whether to send the driver the last acknowledgement again: it has fewer events, or
            writes another journal and may not know the earlier one.
        """
        self._head = self._head.told(status, retained=retained)
        if retained:
            return False
        self._linked_us = mono_us
        lost = self._journal.told(status, link, mono_us)
        return self.names(status.journal, link) or lost

    def names(self, journal: str, link: ShoeLink) -> bool:
        """Return whether to acknowledge the appended journal to a driver that names a new one.

        The new name may come first in an event or in a `link/shoe`; the answer is True once.
        """
        known = {"", self._named, link.journal, *link.past}
        self._named = journal
        return bool(link.journal) and journal not in known

    def numbered(self, journal: str, seq: int) -> None:
        """Take the journal and number of a shoe event."""
        self._head = self._head.heard(journal, seq)

    def look(self, mono_us: int) -> bool:
        """Check what has timed out; return whether anything changed."""
        before = self.away, self.doubt, self.clock_fault, self._head
        presence = self._presence
        self.away = presence.status is not None and not presence.online(mono_us)
        if self.must_prove and not self.away:
            heard_us = self._linked_us
            self.away = heard_us is None or mono_us - heard_us > STALE_SECONDS * _US
        self.doubt = self._journal.old(mono_us)
        if not self.doubt and presence.status and presence.doubled(mono_us):
            self.doubt = _TWO.format(*sorted((presence.before, presence.status.session)))
        if self.away:
            self._head = DriverHead()
        self.clock_fault = "" if self.away else presence.clock_fault()
        return before != (self.away, self.doubt, self.clock_fault, self._head)

    def is_covered_by(self, link: ShoeLink) -> bool:
        """Return whether the table has appended every event that the driver is known to have."""
        return not self.away and not self.doubt and self._head.is_covered_by(link)

    def settled(self, state: TableState) -> int | None:
        """Return the same as `DriverJournal.settled`."""
        return self._journal.settled(state)

    def alarms(self) -> Iterator[Alarm]:
        """Yield the active alarms, as of the last look."""
        if self.lost:
            yield Alarm(name="shoe_journal_lost", text=self.lost)
        if self.doubt:
            yield Alarm(name="driver_not_trusted", text=self.doubt)
        if self.clock_fault:
            text = f"the shoe driver: {self.clock_fault}; set both by one time server"
            yield Alarm(name="clock_difference", text=text)
        if self.away:
            text = "the shoe driver is away: what the shoe says now is not heard"
            yield Alarm(name="driver_offline", text=text)
