"""Sends stored events again on request: one replay a user, and the newest request wins. Pure."""

from typing import Final

from events.errors import LogRefused
from events.mqtt.process import Begin, LogLine, PublishAll, Steps
from events.mqtt.topics import Topics
from table_core.process.log_effects import ReadLog
from table_core.process.publishers import BATCH, public_bytes
from table_core.trust.bus_guard import BusGuard

__all__ = ["MAX_REPLAYS", "Replays"]

# More than a table has consumers; further requests are refused.
MAX_REPLAYS: Final = 32

# Messages in flight to the broker: enough that its round trip does not slow a consumer that has a
# day to catch up with, and few next to the table's own messages.
_IN_FLIGHT: Final = 16


class Replays:
    """Runs the replays that users requested.

    Args:
        topics: of the replayed events.
        guard: proves them.
    """

    def __init__(self, topics: Topics, guard: BusGuard) -> None:
        self._topics, self._guard = topics, guard
        self._started = 0
        self._running: dict[str, int] = {}  # the number of each user's newest replay

    def start(self, user: str, first: int, last: int) -> Steps[bool]:
        """Send `user` the events from `first` to `last`; False when too many replays are running.

        Args:
            user: the user who asked and receives them.
            first: the first position to send.
            last: the last position, the newest at the answer; later events are published live.
        """
        self._running.pop(user, None)
        if len(self._running) >= MAX_REPLAYS:
            return False
        self._started += 1
        self._running[user] = self._started
        yield from Begin(self._send(user, self._started, first, last))
        return True

    def _send(self, user: str, number: int, first: int, last: int) -> Steps[None]:
        """Send events until the last, or until the user has asked again."""
        topic = self._topics.replayed(user)
        try:
            for start in range(first, last + 1, BATCH):
                stored = yield from ReadLog(start, min(BATCH, last - start + 1))
                for begin in range(0, len(stored), _IN_FLIGHT):
                    if self._running.get(user) != number:
                        return
                    some = []
                    for each in stored[begin : begin + _IN_FLIGHT]:
                        body = public_bytes(each)
                        some.append((yield from self._guard.authenticated(user, topic, body)))
                    if not (yield from PublishAll(topic, some)):
                        return  # the broker is gone; the consumer asks again when it is back
        except LogRefused as error:  # a closed segment: the table itself does not need it
            yield from LogLine("error", "replay.refused", {"user": user, "reason": str(error)})
        finally:
            if self._running.get(user) == number:
                del self._running[user]
