"""What a witness keeps: one SQLite file, a commit for each batch that it has heard.

Of each log there are the peaks and leaves that `property.watched` wants, the newest cosigned
checkpoint, and what was refused, by name. Losing the file loses the witness's whole memory: it
would believe the next history that it is shown. So it is backed up, and never made anew in silence.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, NamedTuple, Self

from events.errors import InputError, LogRefused
from events.log.lock import WriterLock
from events.log.schema_rows import odd_rows, rows_made_by, rows_of
from events.proof.checkpoint import parse_checkpoint
from events.proof.merkle import Tree
from events.proof.note import VerifierKey, parse_verifier_key
from property.witness.observed_log import Announced, Memory, Refused, Watched

__all__ = ["Kept", "Refusal", "WitnessBook", "read_book"]

_APPLICATION_ID: Final = 0x62616377  # "bacw"
_HASH_BYTES: Final = 32
# Refusals kept word by word of each log; of more there is the number, so that whoever may publish
# cannot fill the disk.
_REFUSED_MOST: Final = 1000
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
"""
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
# An event that was taken in the refused one's place, or a checkpoint that was cosigned since.
_TAKEN: Final = """
UPDATE refused SET standing = 0
WHERE origin = ? AND code IN ('gap', 'forged') AND position <= ? AND standing
"""
_COSIGNED: Final = """
UPDATE refused SET standing = 0
WHERE origin = ? AND code NOT IN ('gap', 'forged') AND standing
"""
_REFUSALS: Final = """
SELECT origin, code, position, text, first_s, last_s, times, standing
FROM refused ORDER BY last_s, origin
"""
_NEWEST: Final = """
SELECT origin, size + (SELECT count(*) FROM leaf WHERE leaf.origin = log.origin), note, at_s
FROM log ORDER BY origin
"""


class Kept(NamedTuple):
    """A log as the book has it.

    Args:
        origin: `<site>/<table>`.
        position: how far its events were heard.
        note: the newest cosigned checkpoint; None where there is none.
        at_s: when it was cosigned, seconds since 1970.
    """

    origin: str
    position: int
    note: bytes | None
    at_s: int | None

    @property
    def size(self) -> int | None:
        """How many events the newest cosigned checkpoint covers."""
        return parse_checkpoint(self.note)[0].size if self.note else None


class Refusal(NamedTuple):
    """What was refused.

    Args:
        origin: the log it was said of.
        code: its name.
        position: the event's, or the checkpoint's size.
        text: one line.
        first_s: when first, seconds since 1970.
        last_s: when last.
        times: how often.
        standing: 1 while nothing has set it right since: of an event, none has been taken in its
            place; of a checkpoint, none has been cosigned. One that was merely older never stands.
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
    """The open book. Use `open`, and in one thread."""

    def __init__(self, path: Path, db: sqlite3.Connection, lock: WriterLock) -> None:
        self._path = path
        self._db = db
        self._lock = lock

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the book, or begin it where there is no file.

        Raises:
            InputError: the path cannot be used.
            LogRefused: it is another file, or another witness has it.
        """
        lock = _locked(path)
        try:
            return cls(path, _opened(path), lock)
        except BaseException:
            lock.release(undo=True)
            raise

    def close(self) -> None:
        """Close it."""
        self._db.close()
        self._lock.release()

    def watched(self, given: Mapping[str, Iterable[VerifierKey]]) -> dict[str, Watched]:
        """Every log that was heard of, by origin, with the keys that are given for it now."""
        found = {}
        for origin, head, size, peaks, note, signer in self._db.execute(_LOGS):
            hashes = [peaks[at : at + _HASH_BYTES] for at in range(0, len(peaks), _HASH_BYTES)]
            memory = Memory(
                head=head,
                tree=Tree(size, hashes),
                leaves=tuple(leaf for (leaf,) in self._rows("leaf", "hash", origin)),
                announced=tuple(
                    Announced(position, parse_verifier_key(key))
                    for position, key in self._rows("announced", "position, key", origin)
                ),
                newest=parse_checkpoint(note)[0] if note else None,
                signer=parse_verifier_key(signer) if signer else None,
            )
            found[origin] = Watched(origin, given.get(origin, ()), memory)
        return found

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Everything that is told to the book inside is kept, or none of it."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def keep(self, seen: Watched, leaves: Iterable[tuple[int, bytes]]) -> None:
        """How far a log was heard, and its new leaves by position."""
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

    def cosigned(self, seen: Watched, note: bytes, signer: VerifierKey, at_s: int) -> None:
        """A checkpoint was cosigned, and is still to be said."""
        self.keep(seen, ())
        said = "UPDATE log SET note = ?, signer = ?, at_s = ?, said = 0 WHERE origin = ?"
        self._db.execute(said, (note, str(signer), at_s, seen.origin))
        self._db.execute(_COSIGNED, (seen.origin,))

    def refuse(self, origin: str, refused: Refused, note: bytes, now_s: int) -> bool:
        """Keep what was refused; whether it is the first of its kind at this place."""
        ((kept,),) = self._db.execute("SELECT count(*) FROM refused WHERE origin = ?", (origin,))
        if kept >= _REFUSED_MOST:
            refused = Refused("more", "further refusals, of which only the number is kept")
            note = b""
        told = {"origin": origin, **refused._asdict(), "note": note, "now": now_s}
        self._db.execute(_REFUSE, told)
        ((after,),) = self._db.execute("SELECT count(*) FROM refused WHERE origin = ?", (origin,))
        return bool(after > kept)

    def unsaid(self) -> list[tuple[str, bytes]]:
        """(origin, note) of every newest cosigned checkpoint that the hub has not taken yet."""
        rows = self._db.execute("SELECT origin, note FROM log WHERE said = 0 ORDER BY origin")
        return rows.fetchall()

    def said(self, origin: str, note: bytes) -> None:
        """The hub has it."""
        self._db.execute("UPDATE log SET said = 1 WHERE origin = ? AND note = ?", (origin, note))

    def cursor(self) -> tuple[str, int]:
        """Of which stream, by its time of making, and up to which of its messages was heard."""
        rows = dict(self._db.execute("SELECT name, value FROM meta").fetchall())
        return rows.get("stream", ""), int(rows.get("cursor", "0"))

    def move_cursor(self, stream: str, cursor: int) -> None:
        """Heard up to here."""
        rows = [("stream", stream), ("cursor", str(cursor))]
        self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)

    def _rows(self, table: str, columns: str, origin: str) -> sqlite3.Cursor:
        asked = f"SELECT {columns} FROM {table} WHERE origin = ? ORDER BY position"  # noqa: S608 - our own words
        return self._db.execute(asked, (origin,))


def read_book(path: Path) -> tuple[list[Kept], list[Refusal]]:
    """What a book says, beside the witness that may have it open.

    Raises:
        InputError: there is no such file, or it cannot be read.
        LogRefused: it is another file.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            _require_ours(path, db)
            kept = [Kept(*row) for row in db.execute(_NEWEST)]
            refused = [Refusal(*row) for row in db.execute(_REFUSALS)]
    except sqlite3.Error as error:
        raise InputError(f"{path}: the witness's file cannot be read: {error}") from error
    return kept, refused


def _locked(path: Path) -> WriterLock:
    """Two that wrote one book would each sign by half of what was heard."""
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
        db = sqlite3.connect(path, isolation_level=None)
    except sqlite3.Error as error:
        raise InputError(f"{path}: the witness's file cannot be opened: {error}") from error
    try:
        if new:
            db.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
        _require_ours(path, db)
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
    if odd := sorted({str(row.name) for row in (*many, *missing)}):
        told = f"{path}: its schema is not as this build makes it: {odd}"
        raise LogRefused(f"{told}; keep the file as it is and put a backup of it back")
