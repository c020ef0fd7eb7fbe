"""Publishes changes of the active alarms on the `alarm` topic."""

from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from table_core.state.table import Alarm

__all__ = ["AlarmNotice", "AlarmPublisher"]


class AlarmNotice(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message on `alarm`. The set that stands is inside `state`; this is the moment of change.

    Args:
        alarm: its stable name.
        state: `raised` or `cleared`.
        text: for a person.
        coup: the coup it is about.
        position: of the log when it was noticed.
    """

    alarm: str
    state: str
    text: str
    coup: str | None = None
    position: int


class AlarmPublisher:
    """Compares the active alarms with those of the last look.

    Args:
        ring: sends a message; if the broker loses it, `state` still shows the alarm.
    """

    def __init__(self, ring: Callable[[bytes], object]) -> None:
        self._ring = ring
        self._standing: dict[tuple[str, str | None], Alarm] = {}

    def look(self, alarms: Sequence[Alarm], position: int) -> None:
        """Publish every difference since the last look."""
        now = {(alarm.name, alarm.coup): alarm for alarm in alarms}
        before, self._standing = self._standing, now
        for key in before.keys() - now.keys():
            self._tell(before[key], "cleared", position)
        for key in now.keys() - before.keys():
            self._tell(now[key], "raised", position)

    def _tell(self, alarm: Alarm, state: str, position: int) -> None:
        notice = AlarmNotice(
            alarm=alarm.name, state=state, text=alarm.text, coup=alarm.coup, position=position
        )
        self._ring(msgspec.json.encode(notice))
