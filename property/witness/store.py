"""The witness's book: its persistent state in one SQLite file, with one commit for each batch.

For each log the book holds the peaks and leaves that `property.witness.observed_log` needs, the
newest cosigned checkpoint, and the refusals by code. Without the file the witness would believe the
next history that it sees. Back the file up; the witness never creates it again silently.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, NamedTuple, Self

from events.errors import InputError, LogRefused
from events.log.disk import PRIVATE_FILE
from events.log.lock import WriterLock
from events.log.schema import odd_rows, rows_made_by, rows_of
from events.proof.checkpoint import parse_checkpoint
from events.proof.merkle import MerkleTree
from events.proof.note import VerifierKey, parse_verifier_key
from property.witness.observed_log import (
    AnnouncedKey,
    ObservedLog,
    ObservedLogState,
    WitnessRefusal,
)

__all__ = ["RecordedRefusal", "WitnessBook", "WitnessedLog", "read_book", "want_settled"]

_APPLICATION_ID: Final = 0x62616377  # "bacw"
_HASH_BYTES: Final = 32
# Refusals of each log stored in full. Further ones are only counted, so that a publisher cannot
# fill the disk.
_REFUSED_MOST: Final = 1000
# Added later: what a person wants settled, and when it was.
_SETTLEMENT: Final = """
CREATE TABLE IF NOT EXISTS settlement (
    origin TEXT NOT NULL, by TEXT NOT NULL, at_s INTEGER NOT NULL, done_s INTEGER
) STRICT;
"""
_SCHEMA: Final = f"""
PRAGMA application_id = {_APPLICATION_ID};
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE log (
    origin TEXT PRIMARY KEY, head BLOB NOT NULL, size INTEGER NOT NULL, peaks BLOB NOT NULL,
    note BLOB, signer TEXT, at_s INTEGER, said INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE TABLE leaf (
    origin TEXT NOT NULL, position INTEGER NOT NULL, hash BLOB NOT NULL,
    PRIMARY KEY (origin, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE announced (
    origin TEXT NOT NULL, position INTEGER NOT NULL, key TEXT NOT NULL,
    PRIMARY KEY (origin, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE refused (
    origin TEXT NOT NULL, code TEXT NOT NULL, position INTEGER NOT NULL, text TEXT NOT NULL,
    note BLOB NOT NULL, first_s INTEGER NOT NULL, last_s INTEGER NOT NULL,
    times INTEGER NOT NULL DEFAULT 1, standing INTEGER NOT NULL,
    PRIMARY KEY (origin, code, position)
) STRICT;
{_SETTLEMENT}"""
_LOGS: Final = "SELECT origin, head, size, peaks, note, signer FROM log"
_KEEP: Final = """
INSERT INTO log (origin, head, size, peaks) VALUES (?, ?, ?, ?)
ON CONFLICT (origin) DO UPDATE SET head = excluded.head, size = excluded.size,
    peaks = excluded.peaks
"""
_REFUSE: Final = """
INSERT INTO refused (origin, code, position, text, note, first_s, last_s, standing)
VALUES (:origin, :code, :position, :text, :note, :now, :now, :code != 'older')
ON CONFLICT (origin, code, position) DO UPDATE
SET times = times + 1, last_s = :now, standing = :code != 'older'
"""
# An event accepted in the refused one's place, or a checkpoint cosigned since.
_TAKEN: Final = """
UPDATE refused SET standing = 0
WHERE origin = ? AND code IN ('gap', 'forged') AND position <= ? AND standing
"""
_COSIGNED: Final = """
UPDATE refused SET standing = 0
WHERE origin = ? AND code NOT IN ('gap', 'forged') AND standing
"""
_CONTESTED: Final = """
SELECT DISTINCT origin FROM refused WHERE standing AND code IN ('fork', 'forged')
"""
_TO_SETTLE: Final = "SELECT origin FROM settlement WHERE done_s IS NULL"
_REFUSALS: Final = """
SELECT origin, code, position, text, first_s, last_s, times, standing
FROM refused ORDER BY last_s, origin
"""
_NEWEST: Final = """
SELECT origin, size + (SELECT count(*) FROM leaf WHERE leaf.origin = log.origin), note, at_s
FROM log ORDER BY origin
"""


class WitnessedLog(NamedTuple):
    """A log in the book.

    Args:
        origin: `<site>/<table>`.
        position: of the newest observed event.
        note: the newest cosigned checkpoint, or None.
        at_s: when it was cosigned, seconds since 1970.
    """

    origin: str
    position: int
    note: bytes | None
    at_s: int | None

    @property
    def size(self) -> int | None:
        """The number of events that the newest cosigned checkpoint covers."""
        return parse_checkpoint(self.note)[0].size if self.note else None


class RecordedRefusal(NamedTuple):
    """A refusal in the book.

    Args:
        origin: the log's `<site>/<table>`.
        code: the refusal's code.
        position: the event's, or the checkpoint's size.
        text: one line for a person.
        first_s: time of the first, seconds since 1970.
        last_s: time of the last, seconds since 1970.
        times: how often.
        standing: 1 until an event is accepted in the refused one's place, or a later checkpoint is
            cosigned. Always 0 for a checkpoint that was merely older.
    """

    origin: str
    code: str
    position: int
    text: str
    first_s: int
    last_s: int
    times: int
    standing: int


class WitnessBook:
    """The open book; `open` creates it. Use it in one thread."""

    def __init__(self, path: Path, db: sqlite3.Connection, lock: WriterLock) -> None:
        self._path = path
        self._db = db
        self._lock = lock

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the book, or create it if there is no file.

        Raises:
            InputError: the path cannot be used.
            LogRefused: the file is no book, or another witness has it open.
        """
        lock = _locked(path)
        try:
            return cls(path, _opened(path), lock)
        except BaseException:
            lock.release(undo=True)
            raise

    def close(self) -> None:
        """Close the book."""
        self._db.close()
        self._lock.release()

    def watched(self, given: Mapping[str, Iterable[VerifierKey]]) -> dict[str, ObservedLog]:
        """Return every observed log by origin, with the keys given for it now."""
        found = {}
        for origin, head, size, peaks, note, signer in self._db.execute(_LOGS):
            hashes = [peaks[at : at + _HASH_BYTES] for at in range(0, len(peaks), _HASH_BYTES)]
            memory = ObservedLogState(
                head=head,
                tree=MerkleTree(size, hashes),
                leaves=tuple(leaf for (leaf,) in self._rows("leaf", "hash", origin)),
                announced=tuple(
                    AnnouncedKey(position, parse_verifier_key(key))
                    for position, key in self._rows("announced", "position, key", origin)
                ),
                newest=parse_checkpoint(note)[0] if note else None,
                signer=parse_verifier_key(signer) if signer else None,
            )
            found[origin] = ObservedLog(origin, given.get(origin, ()), memory)
        for (origin,) in self._db.execute(_CONTESTED):
            if origin in found:
                found[origin].contested = True
        return found

    def to_settle(self) -> set[str]:
        """Return the origins of the logs that a person wants settled."""
        return {row[0] for row in self._db.execute(_TO_SETTLE)}

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Open a transaction: the book stores everything written inside it, or nothing."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def keep(self, seen: ObservedLog, leaves: Iterable[tuple[int, bytes]]) -> None:
        """Store a log's position, and its new leaves by position."""
        origin, tree = seen.origin, seen.tree
        self._db.execute(_KEEP, (origin, seen.head, tree.size, b"".join(tree.peaks)))
        rows = [(origin, position, leaf) for position, leaf in leaves if position > tree.size]
        self._db.executemany("INSERT INTO leaf VALUES (?, ?, ?)", rows)
        self._db.execute(_TAKEN, (origin, seen.position))
        self._db.execute("DELETE FROM leaf WHERE origin = ? AND position <= ?", (origin, tree.size))
        self._db.executemany(
            "INSERT OR IGNORE INTO announced VALUES (?, ?, ?)",
            [(origin, each.position, str(each.key)) for each in seen.announced],
        )

    def give_way(self, seen: ObservedLog) -> None:
        """Store that a log's events after its newest cosigned checkpoint were given up."""
        rows = (seen.origin, seen.tree.size)
        self._db.execute("DELETE FROM leaf WHERE origin = ? AND position > ?", rows)
        self._db.execute("DELETE FROM announced WHERE origin = ? AND position > ?", rows)
        self.keep(seen, ())

    def cosigned(self, seen: ObservedLog, note: bytes, signer: VerifierKey, at_s: int) -> None:
        """Store a cosigned checkpoint, which is still to be published."""
        self.keep(seen, ())
        said = "UPDATE log SET note = ?, signer = ?, at_s = ?, said = 0 WHERE origin = ?"
        self._db.execute(said, (note, str(signer), at_s, seen.origin))
        self._db.execute(_COSIGNED, (seen.origin,))
        done = "UPDATE settlement SET done_s = ? WHERE origin = ? AND done_s IS NULL"
        self._db.execute(done, (at_s, seen.origin))

    def refuse(self, origin: str, refused: WitnessRefusal, note: bytes, now_s: int) -> bool:
        """Store a refusal; return whether it is the first with this code and position."""
        ((kept,),) = self._db.execute("SELECT count(*) FROM refused WHERE origin = ?", (origin,))
        if kept >= _REFUSED_MOST:
            refused = WitnessRefusal("more", "further refusals, of which only the number is kept")
            note = b""
        told = {"origin": origin, **refused._asdict(), "note": note, "now": now_s}
        self._db.execute(_REFUSE, told)
        ((after,),) = self._db.execute("SELECT count(*) FROM refused WHERE origin = ?", (origin,))
        return bool(after > kept)

    def unsaid(self) -> list[tuple[str, bytes]]:
        """Return (origin, note) of each newest cosigned checkpoint that is not on the hub yet."""
        rows = self._db.execute("SELECT origin, note FROM log WHERE said = 0 ORDER BY origin")
        return rows.fetchall()

    def said(self, origin: str, note: bytes) -> None:
        """Record that the hub has this checkpoint."""
        self._db.execute("UPDATE log SET said = 1 WHERE origin = ? AND note = ?", (origin, note))

    def cursor(self) -> tuple[str, int]:
        """Return the stream's creation time, and the sequence up to which it was read."""
        rows = dict(self._db.execute("SELECT name, value FROM meta").fetchall())
        return rows.get("stream", ""), int(rows.get("cursor", "0"))

    def move_cursor(self, stream: str, cursor: int) -> None:
        """Store the sequence up to which the stream was read."""
        rows = [("stream", stream), ("cursor", str(cursor))]
        self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)

    def _rows(self, table: str, columns: str, origin: str) -> sqlite3.Cursor:
        asked = f"SELECT {columns} FROM {table} WHERE origin = ? ORDER BY position"  # noqa: S608 - our own words
        return self._db.execute(asked, (origin,))


def want_settled(path: Path, origin: str, by: str, now_s: int) -> None:
    """Note in a book, which a witness may have open, that a person wants a log settled.

    Args:
        path: the book.
        origin: `<site>/<table>`.
        by: the person.
        now_s: seconds since 1970.

    Raises:
        InputError: the file does not exist or cannot be written.
        LogRefused: the file is no book.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as db, db:
            _require_ours(path, db)
            db.execute("INSERT INTO settlement VALUES (?, ?, ?, NULL)", (origin, by, now_s))
    except sqlite3.Error as error:
        raise InputError(f"{path}: the witness's file cannot be written: {error}") from error


def read_book(path: Path) -> tuple[list[WitnessedLog], list[RecordedRefusal]]:
    """Read a book's logs and refusals; a witness may have the book open meanwhile.

    Raises:
        InputError: the file does not exist or cannot be read.
        LogRefused: the file is no book.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            _require_ours(path, db)
            kept = [WitnessedLog(*row) for row in db.execute(_NEWEST)]
            refused = [RecordedRefusal(*row) for row in db.execute(_REFUSALS)]
    except sqlite3.Error as error:
        raise InputError(f"{path}: the witness's file cannot be read: {error}") from error
    return kept, refused


def _locked(path: Path) -> WriterLock:
    """Lock the book: each of two witnesses on one book would sign by half of the events."""
    try:
        return WriterLock.acquire(path)
    except LogRefused as error:
        raise LogRefused(f"{path}: another witness keeps this file; stop it first") from error
    except OSError as error:
        reason = f"the witness's file cannot be opened: {error.strerror}"
        raise InputError(f"{path}: {reason}") from error


def _opened(path: Path) -> sqlite3.Connection:
    new = not path.exists()
    try:
        if new:
            path.touch(PRIVATE_FILE)
        db = sqlite3.connect(path, isolation_level=None)
    except (sqlite3.Error, OSError) as error:
        raise InputError(f"{path}: the witness's file cannot be opened: {error}") from error
    try:
        if new:
            db.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
        _require_ours(path, db)
        db.executescript(_SETTLEMENT)  # an older build's file has it not
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
    except BaseException:
        db.close()
        raise
    return db


def _require_ours(path: Path, db: sqlite3.Connection) -> None:
    try:
        ((found,),) = db.execute("PRAGMA application_id")
    except sqlite3.DatabaseError as error:
        raise LogRefused(f"{path}: no SQLite file: {error}") from error
    if found != _APPLICATION_ID:
        raise LogRefused(f"{path}: not a witness's file; name another, or none that is there")
    many, missing = odd_rows(rows_of(db.execute), rows_made_by([_SCHEMA]))
    missing = [row for row in missing if row.name != "settlement"]
    if odd := sorted({str(row.name) for row in (*many, *missing)}):
        told = f"{path}: its schema is not as this build makes it: {odd}"
        raise LogRefused(f"{told}; keep the file as it is and put a backup of it back")
