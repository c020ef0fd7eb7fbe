"""Where the newest closed books leave a log, so that opening need not begin at its first event."""

import sqlite3
from typing import Final, NamedTuple

from events.errors import UnreadableEvent
from events.proof.chain import origin_hash
from events.proof.merkle import Tree
from events.types.envelope import decode_data, decode_envelope
from events.types.snapshot_anchor import BooksClosed

__all__ = ["Start", "after_books", "beginning", "beginning_of", "newest_books"]

_BACKWARDS: Final = "SELECT position, type FROM event ORDER BY position DESC"
_FIRST: Final = "SELECT position, bytes FROM event ORDER BY position LIMIT 1"
_ROWS: Final = "SELECT hash, bytes FROM event WHERE position IN (?, ?) ORDER BY position"


class Start(NamedTuple):
    """Where a look at a log's events begins.

    Args:
        position: the last one that is not looked at, 0 for none.
        head: the chain's hash there.
        tree: the Merkle tree over everything up to there.
    """

    position: int
    head: bytes
    tree: Tree


def beginning(origin: str) -> Start:
    """Before the first event."""
    return Start(0, origin_hash(origin), Tree())


def after_books(position: int, stored: bytes) -> Start | None:
    """The place before the books at `position`, as they themselves have it; None if none are."""
    try:
        books = decode_data(decode_envelope(stored))
        if not isinstance(books, BooksClosed) or books.size != position - 1:
            return None
        peaks = map(bytes.fromhex, books.peaks)
        return Start(books.size, bytes.fromhex(books.chain), Tree(books.size, peaks))
    except (UnreadableEvent, AttributeError, TypeError, ValueError):
        return None


def beginning_of(db: sqlite3.Connection, origin: str) -> Start:
    """Before the first event of a file: of the first one, or of one that goes on from books."""
    row = db.execute(_FIRST).fetchone()
    return (after_books(*row) if row and row[0] != 1 else None) or beginning(origin)


def newest_books(db: sqlite3.Connection) -> Start | None:
    """The place before the newest `books_closed`, if these stand where they say, on their chain.

    None, and so a look at everything, where there are none or anything is odd about them. What
    the rest of the log says must then follow from them: the hash of their own event, of all behind
    it, and the root of the newest checkpoint.
    """
    try:
        newest = next((row[0] for row in db.execute(_BACKWARDS) if row[1] == BooksClosed.TYPE), 0)
        rows = db.execute(_ROWS, (newest - 1, newest)).fetchall()
        if db.execute("SELECT min(position) FROM event").fetchone() == (newest,):
            return after_books(newest, rows[0][1])  # this file goes on from them
        (head, _), (_, stored) = rows
        books = decode_data(decode_envelope(stored))
        if not isinstance(books, BooksClosed) or (books.size, books.chain) != (
            newest - 1,
            head.hex(),
        ):
            return None
        return Start(books.size, head, Tree(books.size, map(bytes.fromhex, books.peaks)))
    except (sqlite3.Error, UnreadableEvent, AttributeError, TypeError, ValueError):
        return None  # the look at everything names what is wrong, and where
