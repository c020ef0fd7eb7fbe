"""The reader of a log's files, whatever their form: SQLite, or packed (`events.log.packed_file`).

All code reads closed files through this module, so no reader depends on the form that a site chose.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, Protocol

from events.log.schema import CHECKPOINTS_SINCE

__all__ = [
    "FORMS",
    "PACKED",
    "PLAIN",
    "LogFile",
    "PlainFile",
    "is_packed",
    "open_file",
    "open_plain",
    "present_form",
    "unpack_to",
]

PLAIN: Final = ".sqlite"
"""The suffix of a closed file as the table leaves it."""
PACKED: Final = ".packed"
"""The suffix of a closed file that was packed."""
FORMS: Final = (PLAIN, PACKED)
"""The suffixes of a closed file. Where both are there, a conversion was interrupted, and the first
is read."""

_ROWS: Final = (
    "SELECT position, type, version, at, bytes, hash FROM event "
    "WHERE position BETWEEN ? AND ? ORDER BY position"
)
_BARE: Final = (
    "SELECT position, bytes, hash FROM event WHERE position BETWEEN ? AND ? ORDER BY position"
)
_FIRST: Final = "SELECT position, hash FROM event ORDER BY position LIMIT 1"
_REQUEST: Final = "SELECT body, position FROM request WHERE transaction_id = ? AND position = ?"
_REQUESTS: Final = "SELECT transaction_id, body, position FROM request"
_CHECKPOINTS: Final = "SELECT size, note FROM checkpoint WHERE size > ? ORDER BY size"
_NEWEST: Final = 2**63 - 1  # SQLite's largest integer


class LogFile(Protocol):
    """One file of a log, open for reading. What it yields is not checked against the chain.

    Its methods raise `sqlite3.Error`, or `UnicodeDecodeError` for damaged text, where the file
    cannot be read; that of a damaged packed file names a position.
    """

    def rows(self, first: int, last: int | None = None) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of table `event` from one position to another."""

    def bare(self, first: int, last: int | None = None) -> Iterator[tuple[Any, ...]]:
        """Yield position, stored bytes and hash of events from one position to another."""

    def first(self) -> tuple[int, bytes] | None:
        """Return the position and hash of the first event; None for an empty file."""

    def checkpoints(self, after: int) -> Iterator[tuple[Any, ...]]:
        """Yield size and note of the checkpoints that cover more events than `after`."""

    def request(self, cause: str, position: int) -> tuple[bytes, int] | None:
        """Return body and position of the request whose last event is at a position; else None."""

    def requests(self) -> Iterable[tuple[Any, ...]]:
        """Yield transaction id, body and position of every request."""

    def close(self) -> None:
        """Close it. Safe to call twice."""


class PlainFile:
    """A SQLite file of a log.

    Args:
        db: a connection to it, which `close` closes.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def rows(self, first: int, last: int | None = None) -> Iterator[tuple[Any, ...]]:
        """See `LogFile.rows`."""
        return self._db.execute(_ROWS, (first, _NEWEST if last is None else last))

    def bare(self, first: int, last: int | None = None) -> Iterator[tuple[Any, ...]]:
        """See `LogFile.bare`."""
        return self._db.execute(_BARE, (first, _NEWEST if last is None else last))

    def first(self) -> tuple[int, bytes] | None:
        """See `LogFile.first`."""
        found: tuple[int, bytes] | None = self._db.execute(_FIRST).fetchone()
        return found

    def checkpoints(self, after: int) -> Iterator[tuple[Any, ...]]:
        """See `LogFile.checkpoints`."""
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        return (
            self._db.execute(_CHECKPOINTS, (after,)) if version >= CHECKPOINTS_SINCE else iter(())
        )

    def request(self, cause: str, position: int) -> tuple[bytes, int] | None:
        """See `LogFile.request`."""
        found: tuple[bytes, int] | None = self._db.execute(_REQUEST, (cause, position)).fetchone()
        return found

    def requests(self) -> Iterable[tuple[Any, ...]]:
        """See `LogFile.requests`."""
        return self._db.execute(_REQUESTS)

    def close(self) -> None:
        """See `LogFile.close`."""
        self._db.close()


def is_packed(path: Path) -> bool:
    """Return whether a file is named as a packed one."""
    return path.suffix == PACKED


def present_form(path: Path) -> Path:
    """Return the path of a closed file in the form that is there now; as named where none is."""
    forms = (path.with_suffix(form) for form in (path.suffix, *FORMS) if path.suffix in FORMS)
    return next((form for form in forms if form.exists()), path)


def open_file(path: Path) -> LogFile:
    """Open a closed file, in either form. It stays unchanged to the last byte.

    Raises:
        sqlite3.Error: it cannot be read.
        OSError: the same, of a packed file.
    """
    path = present_form(path)
    if not is_packed(path):
        return PlainFile(open_plain(path))
    from events.log.packed_file import PackedFile  # noqa: PLC0415 - loads zstd, where it is used

    return PackedFile.open(path)


def unpack_to(path: Path, db: sqlite3.Connection) -> None:
    """Make the closed file that a packed file came from in an empty database.

    Raises:
        sqlite3.Error: the packed file is damaged, or the disk refused.
        OSError: it cannot be read.
    """
    from events.log.packed_file import PackedFile, copy_to_database  # noqa: PLC0415 - as above

    with closing(PackedFile.open(path)) as packed:
        copy_to_database(packed, db)


def open_plain(path: Path) -> sqlite3.Connection:
    """Open a closed file that is a SQLite file; it stays unchanged to the last byte."""
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    db = sqlite3.connect(uri, uri=True, isolation_level=None)
    db.execute("PRAGMA trusted_schema=OFF")
    db.execute("PRAGMA cell_size_check=ON")
    return db
