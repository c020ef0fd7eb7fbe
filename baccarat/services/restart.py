"""Decide by its error whether a service that has ended may simply be started again.

Exit code 2 stops a supervisor from restarting a service: what refused it once would refuse it again
until a person acts. A full disk or a database that hangs up is not of that kind.
"""

import errno
import sqlite3
from typing import Final

from events.errors import (
    ArchiveUnavailable,
    LedgerUnavailable,
    LogRefused,
    LogUnwritable,
    TableError,
)

__all__ = ["RestartableError", "may_restart"]

_MACHINE: Final = (OSError, sqlite3.OperationalError)
_OURS: Final = (ArchiveUnavailable, LedgerUnavailable, LogUnwritable)
# At a start, a wrong path or right in the configuration shows as the other errors of the machine.
_ERRNOS: Final = frozenset(
    {errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC}
)
_SQLITE_CODES: Final = frozenset(
    {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM}
)
_PRIMARY_CODE: Final = 0xFF  # the low byte of a SQLite code is its kind; the rest is detail


class RestartableError(TableError):
    """The machine ended a service, not its configuration or its data: exit code 1, not 2.

    Args:
        error: what ended it.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(_line(error))


def may_restart(error: Exception, *, ready: bool) -> bool:
    """Return whether a new start may succeed without a person.

    Args:
        error: what ended the service.
        ready: whether the service had opened all that it needs.
    """
    cause = error if isinstance(error, _MACHINE) else error.__cause__
    if not isinstance(error, (*_MACHINE, *_OURS)):
        # A log that the disk does not let us read; the next start checks what it holds.
        return ready and isinstance(error, LogRefused) and isinstance(cause, _MACHINE)
    return ready or _is_transient(cause)


def _is_transient(cause: BaseException | None) -> bool:
    if isinstance(cause, OSError):
        return cause.errno in _ERRNOS
    code = getattr(cause, "sqlite_errorcode", None)
    return code is not None and code & _PRIMARY_CODE in _SQLITE_CODES


def _line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, sqlite3.Error):
        return f"a database file of this service: {error}"
    return str(error) or type(error).__name__
