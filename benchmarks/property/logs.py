"""Write two hundred tables' logs for the bench: one real table's coups, copied under other names.

The events are those of the product's own table for shoes with seven wagers a coup
(`benchmarks.table.opening`). Each log has them under its own name, with its own positions, ids and
times.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from time import monotonic, time_ns
from typing import Final

from benchmarks.table.opening import make_log
from events.clock import rfc3339
from events.log.reader import reading
from events.log.store import EventLog
from events.types.envelope import decode_envelope
from events.types.stored import Pending

__all__ = ["LogFiller", "template"]

_ID: Final = b'{"event_id":"'
_COMMIT: Final = 500


def template(folder: Path, events: int) -> list[bytes]:
    """Return at least so many stored events, of a table that plays shoe after shoe."""
    path = folder / "template.sqlite"
    make_log(path, events, lambda _: None)
    with reading(path) as log:
        return [stored for _, stored, _ in log.bare()]


class LogFiller:
    """One table's log, open for writing.

    Args:
        path: of its log.
        origin: `<site>/<table>`.
        events: the template.
    """

    def __init__(self, path: Path, origin: str, events: Sequence[bytes]) -> None:
        self._origin = origin
        self._events = events
        self._log = EventLog.open(path, origin)

    @property
    def position(self) -> int:
        """The newest event's position."""
        return self._log.position

    def fill(self, count: int) -> None:
        """Append so many events in large commits: a past, written at once."""
        for first in range(0, count, _COMMIT):
            self.append(min(_COMMIT, count - first))

    def append(self, count: int = 1) -> float:
        """Append the next events in one commit; return `time.monotonic()` of its end."""
        base = self._log.position
        made = [self._pending(base + number) for number in range(1, count + 1)]
        self._log.append(base, made)
        return monotonic()

    def close(self) -> None:
        """Close the log."""
        self._log.close()

    def _pending(self, position: int) -> Pending:
        stored = self._events[(position - 1) % len(self._events)]
        told = decode_envelope(stored)
        digest = hashlib.sha256(f"{self._origin}/{position}".encode()).hexdigest()[:32]
        at = rfc3339(time_ns())
        head = b'%b%b","stream":"%b","position":%d,' % (
            _ID, digest.encode(), self._origin.encode(), position,
        )  # fmt: skip
        rest = stored[stored.index(b'"type":') :]
        rest = rest.replace(f'"at":"{told.at}"'.encode(), f'"at":"{at}"'.encode(), 1)
        rest = rest.replace(f'"actor":"{told.actor}"'.encode(), b'"actor":"core"', 1)
        return Pending(told.type, told.v, at, head + rest)
