"""The file that keeps logins over a restart of the web server.

It holds no token, only tokens' hashes, and is readable by the service alone. It is not forced to
the disk: what a power cut takes with it are logins. A file that cannot be read is a file without
sessions, and one that cannot be written is said once in the service's journal.
"""

from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from events.clock import Clock
from events.structured_log import structlog

__all__ = ["Age", "KeptSessions", "SessionStore", "StoredSession"]

_log: Final = structlog.get_logger()
_US: Final = 1_000


class StoredSession(Struct, frozen=True, kw_only=True):
    """A session in the file, by its token's hash; times are nanoseconds since 1970 UTC."""

    key: bytes
    user: str
    password: str
    began_ns: int
    seen_ns: int


class KeptSessions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file: the server's secret, from which the sessions' own secrets follow, and sessions."""

    secret: bytes
    sessions: tuple[StoredSession, ...] = ()


class Age(NamedTuple):
    """When a session began and was last used, monotonic microseconds."""

    began_us: int
    seen_us: int


class SessionStore:
    """Reads and writes the file.

    Args:
        path: of the file.
        clock: for ages; a clock that was set back makes no session younger than it is.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._failed = False

    def load(self) -> KeptSessions | None:
        """Return what is in the file; None where there is none that can be read."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=KeptSessions)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError) as error:
            _log.warning("sessions.unreadable", file=str(self._path), why=str(error))
            return None

    def save(self, kept: KeptSessions) -> None:
        """Replace the file."""
        try:
            with NamedTemporaryFile(  # created with mode 0600
                dir=self._path.parent, prefix=f".{self._path.name}-", delete=False
            ) as file:
                file.write(msgspec.json.encode(kept))
            Path(file.name).replace(self._path)
        except OSError as error:
            if not self._failed:
                _log.warning("sessions.not_kept", file=str(self._path), why=str(error))
            self._failed = True

    def age(self, session: StoredSession) -> Age:
        """Return a stored session's times by this machine's monotonic clock."""
        now_ns, now_us = self._clock.utc_ns(), self._clock.mono_us()
        return Age(
            now_us - max(0, now_ns - session.began_ns) // _US,
            now_us - max(0, now_ns - session.seen_ns) // _US,
        )

    def utc_ns(self, mono_us: int) -> int:
        """Return a monotonic time of this process as nanoseconds since 1970 UTC."""
        return self._clock.utc_ns() - (self._clock.mono_us() - mono_us) * _US
