"""Where the newest closed books leave a log, so that opening need not begin at its first event."""

import sqlite3
from typing import Final, NamedTuple

from events.books import BooksClosed
from events.chain import origin_hash
from events.codec import decode_data, decode_envelope
from events.errors import UnreadableEvent
from events.tree import Tree

__all__ = ["Start", "beginning", "newest_books"]

_BACKWARDS: Final = "SELECT position, type FROM event ORDER BY position DESC"
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


def newest_books(db: sqlite3.Connection) -> Start | None:
    """The place before the newest `books_closed`, if these stand where they say, on their chain.

    None, and so a look at everything, where there are none or anything is odd about them. What
    the rest of the log says must then follow from them: the hash of their own event, of all behind
    it, and the root of the newest checkpoint.
    """
    try:
        newest = next((row[0] for row in db.execute(_BACKWARDS) if row[1] == BooksClosed.TYPE), 0)
        (head, _), (_, stored) = db.execute(_ROWS, (newest - 1, newest)).fetchall()
        books = decode_data(decode_envelope(stored))
        if not isinstance(books, BooksClosed) or (books.size, books.chain) != (
            newest - 1,
            head.hex(),
        ):
            return None
        return Start(books.size, head, Tree(books.size, map(bytes.fromhex, books.peaks)))
    except (sqlite3.Error, UnreadableEvent, AttributeError, TypeError, ValueError):
        return None  # the look at everything names what is wrong, and where
