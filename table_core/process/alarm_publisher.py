"""Publishes changes of the active alarms on the `alarm` topic. Pure."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from events.mqtt.process import Post, Steps
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
        topic: if the broker loses a message on it, `state` still shows the alarm.
    """

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._standing: dict[tuple[str, str | None], Alarm] = {}

    def look(self, alarms: Sequence[Alarm], position: int) -> Steps[None]:
        """Publish every difference since the last look."""
        now = {(alarm.name, alarm.coup): alarm for alarm in alarms}
        before, self._standing = self._standing, now
        for key, alarm in before.items():
            if key not in now:
                yield from self._tell(alarm, "cleared", position)
        for key, alarm in now.items():
            if key not in before:
                yield from self._tell(alarm, "raised", position)

    def _tell(self, alarm: Alarm, state: str, position: int) -> Steps[None]:
        notice = AlarmNotice(
            alarm=alarm.name, state=state, text=alarm.text, coup=alarm.coup, position=position
        )
        yield from Post(self._topic, msgspec.json.encode(notice))
