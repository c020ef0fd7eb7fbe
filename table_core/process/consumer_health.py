"""The health of durable consumers: each one's position, and whether its acknowledgement is overdue.

A consumer is registered by its first acknowledgement, or by the table's configuration. It stays
registered across restarts until it reports that it is retired. The oldest settlement that it has
not acknowledged shows how long it is overdue.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct

from events.mqtt.process import Instant, Now, Steps
from events.types import CoupSettled, Stored
from table_core.process.log_effects import FindEvent, MoveCursor, ReadCursors
from table_core.projections.table_document import ConsumerView
from table_core.state.table import Alarm

__all__ = ["ACK_OVERDUE_S", "CONSUMERS_MOST", "ConsumerHealth"]

# A cage commits and acknowledges within a second or two of a settlement.
ACK_OVERDUE_S: Final = 60
# A table has a cage and perhaps an auditor; this bounds the cost of a client that invents names.
CONSUMERS_MOST: Final = 16

_PREFIX: Final = "consumer/"
# The position of a consumer that has acknowledged nothing.
_NOTHING: Final = 0
_MICROSECONDS: Final = 1_000_000
_EPOCH: Final = datetime.fromtimestamp(0, UTC)


class _Owed(Struct, frozen=True):
    """The oldest settlement that was not acknowledged, and since when this table has known it."""

    position: int
    at: str
    since_us: int


class _Consumer(Struct):
    """A durable consumer."""

    position: int
    heard_us: int | None = None
    owed: _Owed | None = None


class ConsumerHealth:
    """Tracks the durable consumers.

    Args:
        expected: consumers that must acknowledge, even before their first acknowledgement.
    """

    def __init__(self, expected: Iterable[str] = ()) -> None:
        self._consumers = {name: _Consumer(_NOTHING) for name in expected}

    def start(self) -> Steps[None]:
        """Read how far each consumer had acknowledged."""
        for name, position in (yield from ReadCursors(_PREFIX)).items():
            self._consumers[name.removeprefix(_PREFIX)] = _Consumer(position)
        for consumer in self._consumers.values():
            consumer.owed = yield from self._first_after(consumer.position)

    def admits(self, name: str) -> bool:
        """Return whether `<user>/<consumer>` is registered, or there is room for it."""
        return name in self._consumers or len(self._consumers) < CONSUMERS_MOST

    def acknowledged(self, name: str, position: int) -> Steps[None]:
        """Note that `<user>/<consumer>` has stored every event up to `position`.

        Raises:
            LogUnwritable: it could not be kept.
        """
        yield from MoveCursor(_PREFIX + name, position)
        consumer = self._consumers.setdefault(name, _Consumer(position))
        before, consumer.position = consumer.position, position
        consumer.heard_us = (yield from Now()).mono_us
        owed = consumer.owed
        if owed is None or owed.position <= position or position < before:
            consumer.owed = yield from self._first_after(position)

    def retired(self, name: str) -> Steps[None]:
        """Remove `<user>/<consumer>`: it acknowledges no more, and nothing waits for it.

        Raises:
            LogUnwritable: it could not be kept.
        """
        yield from MoveCursor(_PREFIX + name, None)
        self._consumers.pop(name, None)

    def settled(self, stored: Stored, now: Instant) -> None:
        """Note a settlement that is about to be published."""
        for consumer in self._consumers.values():
            if consumer.owed is None and stored.position > consumer.position:
                consumer.owed = _Owed(stored.position, stored.at, now.mono_us)

    def view(self, now: Instant) -> tuple[ConsumerView, ...]:
        """Return the consumers for displays, by name."""
        now_us = now.mono_us
        return tuple(
            ConsumerView(
                name=name,
                position=each.position,
                waiting_s=_age_s(each.owed.at, now.utc_ns) if each.owed else None,
                heard_s=None
                if each.heard_us is None
                else (now_us - each.heard_us) // _MICROSECONDS,
                overdue=self._overdue(each, now_us),
            )
            for name, each in sorted(self._consumers.items())
        )

    def alarms(self, now: Instant) -> Iterator[Alarm]:
        """Yield an alarm while a consumer owes an acknowledgement longer than `ACK_OVERDUE_S`."""
        late = [
            f"{name} has not acknowledged the settlement at position {each.owed.position}"
            for name, each in sorted(self._consumers.items())
            if each.owed and self._overdue(each, now.mono_us)
        ]
        if late:
            yield Alarm(name="settlement_unacknowledged", text="; ".join(late))

    def _overdue(self, consumer: _Consumer, now_us: int) -> bool:
        owed = consumer.owed
        return owed is not None and now_us - owed.since_us >= ACK_OVERDUE_S * _MICROSECONDS

    def _first_after(self, position: int) -> Steps[_Owed | None]:
        """Return the oldest settlement after `position`; it lies within the next coup or two."""
        found = yield from FindEvent(position + 1, frozenset({CoupSettled.TYPE}))
        return _Owed(found.position, found.at, (yield from Now()).mono_us) if found else None


def _age_s(at: str, utc_ns: int) -> int:
    """Return whole seconds since a time in the log; 0 where the machine's clock was set back."""
    now = _EPOCH + timedelta(microseconds=utc_ns // 1_000)
    return max(0, int((now - datetime.fromisoformat(at)).total_seconds()))
