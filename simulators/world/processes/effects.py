"""What the table's process says: what is stored goes out behind cursors, and again to whoever asks.

`table_core.service.publishers` and `.replays` are coroutines that wait. These do the same steps in
the same order, each at its turn, and wait for nothing.
"""

from collections import deque
from collections.abc import Callable
from typing import Final

from events.log.store import EventLog
from events.types.stored import Stored
from simulators.world.parts.broker import FakeClient
from table_core.service.event_replays import MAX_REPLAYS, Replays, Spawn
from table_core.service.publishers import public_bytes

__all__ = ["QueuedReplays", "WorldPublisher"]

_BATCH: Final = 64


class WorldPublisher:
    """Publishes every stored event that is wanted, in order, then moves its cursor.

    Args:
        name: the cursor's.
        log: the table's.
        client: its place on the bus.
        topic: where it is said.
        wanted: which events; the cursor passes over the others.
        probe: told of each step; it may kill the process there.

    Attributes:
        position: everything up to here has been looked at.
    """

    def __init__(
        self,
        name: str,
        log: EventLog,
        client: FakeClient,
        topic: str,
        *,
        wanted: Callable[[Stored], bool],
        probe: Callable[[str], None],
    ) -> None:
        self._name, self._log, self._client, self._topic = name, log, client, topic
        self._wanted, self._probe = wanted, probe
        self.position = self._noted = log.cursor(name)
        self._before, self._after = f"{name}.before", f"{name}.after"

    def say(self) -> None:
        """Publish a batch; on a connection that is lost meanwhile, as far as it was taken."""
        for stored in list(self._log.read(self.position + 1, _BATCH)):
            if self._wanted(stored):
                self._probe(self._before)
                if not self._client.post(self._topic, public_bytes(stored)):
                    return
                self._probe(self._after)
            self.position = stored.position

    def note(self) -> None:
        """Write the cursor down.

        Raises:
            LogUnwritable: the disk refused; it costs a repetition.
        """
        if self._noted != self.position:
            self._noted = self.position
            self._log.move_cursor(self._name, self.position)


class QueuedReplays(Replays):
    """Replays that are sent a batch at a time: one a user, the newest request wins.

    Args:
        log: the table's.
        post: (user, message) to the broker; False when it was not taken.
    """

    def __init__(self, log: EventLog, post: Callable[[str, bytes], bool]) -> None:
        async def publish(user: str, message: bytes) -> bool:
            return post(user, message)

        super().__init__(log.read, publish)
        self._log, self._post = log, post
        self._queue: deque[tuple[str, int, int]] = deque()

    @property
    def waiting(self) -> bool:
        """Whether somebody is to be sent something."""
        return bool(self._queue)

    def start(self, user: str, first: int, last: int, spawn: Spawn) -> bool:  # noqa: ARG002 - nothing runs beside
        """See `Replays.start`."""
        others = [each for each in self._queue if each[0] != user]
        if len(others) >= MAX_REPLAYS:
            return False
        self._queue = deque([*others, (user, first, last)])
        return True

    def stop(self) -> None:
        """See `Replays.stop`."""
        self._queue.clear()

    def say(self) -> None:
        """Send whose turn it is the next of his events."""
        user, first, last = self._queue.popleft()
        for stored in list(self._log.read(first, min(_BATCH, last - first + 1))):
            if not self._post(user, public_bytes(stored)):
                return
        if first + _BATCH <= last:
            self._queue.append((user, first + _BATCH, last))
