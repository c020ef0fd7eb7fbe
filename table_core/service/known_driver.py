"""What the table knows of its shoe driver: whether it is there, what it has, and if it is the one.

A driver that is away may hold cards, so nothing of it is known until it speaks again. And there may
be one too many, or one with the journals of another day (a controller's copy): then the table hears
cards of which it takes some for old, and lets nobody bet.
"""

from collections.abc import Iterator

from events.mqtt.presence import Presence, Status
from events.types.shoe_reports import LinkStatus
from table_core.service.catching_up import DriverHead
from table_core.service.driver_journal import DriverJournal
from table_core.state.table import Alarm, LinkView, TableState

__all__ = ["KnownDriver"]

_TWO = (
    "two shoe drivers speak for this table, sessions {} and {}: stop the one that does not belong "
    "here; nobody may bet meanwhile"
)


class KnownDriver:
    """The fold of a driver's status, link and events.

    Attributes:
        away: it has said, or let be said, that it is gone; not heard of yet is not gone.
        doubt: why it is not trusted, for a person; empty where it is.
    """

    def __init__(self) -> None:
        self.away = False
        self.doubt = ""
        self._presence = Presence()
        self._head = DriverHead()
        self._journal = DriverJournal()
        self._named = ""  # the newest journal that it has named

    @property
    def lost(self) -> str:
        """What its disk has lost, for a person; empty when nothing has."""
        return self._journal.lost

    def disconnected(self) -> None:
        """The broker is gone: what was known may be old."""
        self._presence, self._head = self._presence.disconnected(), DriverHead()

    def said(self, status: Status, *, retained: bool, utc_ns: int, mono_us: int) -> None:
        """What it says of itself, or its Will for it; times as `Presence.heard` takes them."""
        self._presence = self._presence.heard(
            status, retained=retained, utc_ns=utc_ns, mono_us=mono_us
        )

    def linked(self, status: LinkStatus, link: LinkView, *, retained: bool, mono_us: int) -> bool:
        """After a `link/shoe`.

        Args:
            status: what it says.
            link: how far its events have been appended.
            retained: whether the broker had kept it.
            mono_us: now, monotonic.

        Returns:
            Whether the driver is to be told again what has been appended: it has less, or writes
            another journal, and may not know that there was one.
        """
        self._head = self._head.told(status, retained=retained)
        if retained:
            return False
        lost = self._journal.told(status, link, mono_us)
        return self.names(status.journal, link) or lost

    def names(self, journal: str, link: LinkView) -> bool:
        """Whether it is to be told of the journal that was appended: this is another, and new.

        It may come in an event or in a `link/shoe` first, and is asked about once.
        """
        known = {"", self._named, link.journal, *link.past}
        self._named = journal
        return bool(link.journal) and journal not in known

    def numbered(self, journal: str, seq: int) -> None:
        """After a shoe event."""
        self._head = self._head.heard(journal, seq)

    def look(self, mono_us: int) -> bool:
        """See what time has made of it; whether that is news."""
        before = self.away, self.doubt, self._head
        presence = self._presence
        self.away = presence.status is not None and not presence.online(mono_us)
        self.doubt = self._journal.old(mono_us)
        if not self.doubt and presence.status and presence.doubled(mono_us):
            self.doubt = _TWO.format(*sorted((presence.before, presence.status.session)))
        if self.away:
            self._head = DriverHead()
        return before != (self.away, self.doubt, self._head)

    def reached_by(self, link: LinkView) -> bool:
        """Whether what has been appended covers all that it is known to have."""
        return not self.away and not self.doubt and self._head.reached_by(link)

    def settled(self, state: TableState) -> int | None:
        """As `DriverJournal.settled`."""
        return self._journal.settled(state)

    def alarms(self) -> Iterator[Alarm]:
        """What stands, as of the last look."""
        if self.lost:
            yield Alarm(name="shoe_journal_lost", text=self.lost)
        if self.doubt:
            yield Alarm(name="driver_not_trusted", text=self.doubt)
        if self.away:
            text = "the shoe driver is away: what the shoe says now is not heard"
            yield Alarm(name="driver_offline", text=text)
