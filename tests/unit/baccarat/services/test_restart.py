"""Which errors end a service for good, and which only until it is started again."""

import errno
import sqlite3

import pytest

from baccarat.services.restart import RestartableError, may_restart
from events.errors import (
    ArchiveError,
    ArchiveUnavailable,
    BusError,
    ConfigError,
    InputError,
    LedgerError,
    LedgerUnavailable,
    LinkError,
    LogConflict,
    LogRefused,
    LogUnwritable,
    OurBug,
    UnreadableEvent,
)


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def of_sqlite(code: int, kind: type[sqlite3.Error] = sqlite3.OperationalError) -> sqlite3.Error:
    error = kind("what SQLite says")
    error.sqlite_errorcode = code
    return error


def of_system(number: int) -> OSError:
    return OSError(number, "what the system says")


IOERR_WRITE = 778  # SQLite's extended code: SQLITE_IOERR with detail
NEVER: list[Exception] = [
    ArchiveError("its schema is newer"),
    BusError("never let in, or the table refuses the acknowledgement"),
    ConfigError("no such key"),
    InputError("no such folder"),
    caused(InputError("cannot keep a log here"), of_system(errno.EIO)),
    LedgerError("the log was cut"),
    LinkError("no such port"),
    LogConflict(3, 4),
    LogRefused("another key"),
    caused(LogRefused("unreadable"), of_sqlite(sqlite3.SQLITE_CORRUPT, sqlite3.DatabaseError)),
    OurBug("what may not be"),
    UnreadableEvent("a newer type"),
    of_sqlite(sqlite3.SQLITE_CORRUPT, sqlite3.DatabaseError),
]
ONLY_ONCE_READY: list[Exception] = [
    ArchiveUnavailable("it does not answer"),
    LedgerUnavailable("it does not answer"),
    LogUnwritable("the disk refuses"),
    caused(LogUnwritable("cannot open"), of_system(errno.EROFS)),
    caused(LogUnwritable("cannot open"), of_sqlite(sqlite3.SQLITE_READONLY)),
    caused(LogRefused("cannot read"), of_sqlite(sqlite3.SQLITE_IOERR)),
    of_system(errno.EACCES),
    of_system(errno.ENOENT),
    of_sqlite(sqlite3.SQLITE_CANTOPEN),
    TimeoutError(),
]
ALWAYS: list[Exception] = [
    *map(of_system, [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE]),
    of_sqlite(sqlite3.SQLITE_FULL),
    of_sqlite(sqlite3.SQLITE_BUSY),
    of_sqlite(IOERR_WRITE),
    caused(LogUnwritable("cannot open"), of_system(errno.ENOSPC)),
    caused(LogUnwritable("cannot append"), of_sqlite(sqlite3.SQLITE_FULL)),
]


@pytest.mark.parametrize(
    ("errors", "at_start", "once_ready"),
    [(NEVER, False, False), (ONLY_ONCE_READY, False, True), (ALWAYS, True, True)],
    ids=["never", "only once ready", "always"],
)
def test_a_service_is_started_again_after_what_needs_no_person(
    errors: list[Exception], at_start: bool, once_ready: bool
) -> None:
    for error in errors:
        assert may_restart(error, ready=False) is at_start, repr(error)
        assert may_restart(error, ready=True) is once_ready, repr(error)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (LogUnwritable("table.sqlite: the disk is full"), "table.sqlite: the disk is full"),
        (OSError(errno.EMFILE, "Too many open files"), "Too many open files"),
        (OSError(errno.EIO, "Input/output error", "journal"), "journal: Input/output error"),
        (of_sqlite(sqlite3.SQLITE_FULL), "a database file of this service: what SQLite says"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_the_line_says_what_the_machine_refused(error: Exception, line: str) -> None:
    assert str(RestartableError(error)) == line
