"""How far each durable consumer has come, and whether one owes an acknowledgement for too long.

A consumer is registered by its first acknowledgement, or by the table's configuration, and stays
so, across restarts, until it says that it is retired. What it owes is told by the oldest settlement
that it has not acknowledged.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct

from events.clock import Clock
from events.log.store import EventLog, Stored
from table_core.projections.table import ConsumerView
from table_core.service.publishers import is_settlement
from table_core.state.table import Alarm

__all__ = ["ACK_OVERDUE_S", "CONSUMERS_MOST", "FeedHealth"]

# A cage commits and acknowledges within a second or two of a settlement.
ACK_OVERDUE_S: Final = 60
# A table has a cage and perhaps an auditor; this bounds what one that makes up names can cost.
CONSUMERS_MOST: Final = 16

_PREFIX: Final = "consumer/"
# The position of who has acknowledged nothing.
_NOTHING: Final = 0
_MICROSECONDS: Final = 1_000_000
_EPOCH: Final = datetime.fromtimestamp(0, UTC)


class _Owed(Struct, frozen=True):
    """The oldest settlement that was not acknowledged, and since when this is known here."""

    position: int
    at: str
    since_us: int


class _Consumer(Struct):
    """One that acknowledges."""

    position: int
    heard_us: int | None = None
    owed: _Owed | None = None


class FeedHealth:
    """Knows the durable consumers.

    Args:
        log: keeps how far each has come.
        clock: for ages.
        expected: those that must acknowledge though nobody has heard of them yet.
    """

    def __init__(self, log: EventLog, clock: Clock, expected: Iterable[str] = ()) -> None:
        self._log, self._clock = log, clock
        self._consumers = {name: _Consumer(_NOTHING) for name in expected} | {
            name.removeprefix(_PREFIX): _Consumer(position)
            for name, position in log.cursors(_PREFIX).items()
        }
        for consumer in self._consumers.values():
            consumer.owed = self._first_after(consumer.position)

    def admits(self, name: str) -> bool:
        """Whether `<user>/<consumer>` is known, or there is room for it."""
        return name in self._consumers or len(self._consumers) < CONSUMERS_MOST

    def acknowledged(self, name: str, position: int) -> None:
        """`<user>/<consumer>` has stored everything up to `position`.

        Raises:
            LogUnwritable: it could not be kept.
        """
        self._log.move_cursor(_PREFIX + name, position)
        consumer = self._consumers.setdefault(name, _Consumer(position))
        before, consumer.position = consumer.position, position
        consumer.heard_us = self._clock.mono_us()
        owed = consumer.owed
        if owed is None or owed.position <= position or position < before:
            consumer.owed = self._first_after(position)

    def retired(self, name: str) -> None:
        """`<user>/<consumer>` acknowledges no more, and nobody waits for it.

        Raises:
            LogUnwritable: it could not be kept.
        """
        self._log.move_cursor(_PREFIX + name, None)
        self._consumers.pop(name, None)

    def settled(self, stored: Stored) -> bool:
        """Look at an event that is about to be published; True where it is a settlement."""
        if not is_settlement(stored):
            return False
        for consumer in self._consumers.values():
            if consumer.owed is None and stored.position > consumer.position:
                consumer.owed = _Owed(stored.position, stored.at, self._clock.mono_us())
        return True

    def view(self) -> tuple[ConsumerView, ...]:
        """What a display may know of them, by name."""
        now = self._clock.mono_us()
        return tuple(
            ConsumerView(
                name=name,
                position=each.position,
                waiting_s=_age_s(each.owed.at, self._clock.utc_ns()) if each.owed else None,
                heard_s=None if each.heard_us is None else (now - each.heard_us) // _MICROSECONDS,
                overdue=self._overdue(each, now),
            )
            for name, each in sorted(self._consumers.items())
        )

    def alarms(self) -> Iterator[Alarm]:
        """One while any consumer owes an acknowledgement for longer than `ACK_OVERDUE_S`."""
        now = self._clock.mono_us()
        late = [
            f"{name} has not acknowledged the settlement at position {each.owed.position}"
            for name, each in sorted(self._consumers.items())
            if each.owed and self._overdue(each, now)
        ]
        if late:
            yield Alarm(name="settlement_unacknowledged", text="; ".join(late))

    def _overdue(self, consumer: _Consumer, now_us: int) -> bool:
        owed = consumer.owed
        return owed is not None and now_us - owed.since_us >= ACK_OVERDUE_S * _MICROSECONDS

    def _first_after(self, position: int) -> _Owed | None:
        """The oldest settlement behind `position`; it lies within the next coup or two."""
        found = next(filter(is_settlement, self._log.read(position + 1)), None)
        return _Owed(found.position, found.at, self._clock.mono_us()) if found else None


def _age_s(at: str, utc_ns: int) -> int:
    """Whole seconds since a stamp of the log; 0 where the machine's hour was set back."""
    now = _EPOCH + timedelta(microseconds=utc_ns // 1_000)
    return max(0, int((now - datetime.fromisoformat(at)).total_seconds()))
