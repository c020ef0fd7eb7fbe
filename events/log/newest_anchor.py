"""The snapshot anchor: the newest `books_closed`, at which the checks of an opening begin."""

import sqlite3
from typing import Final, NamedTuple

from events.errors import UnreadableEvent
from events.proof.chain import origin_hash
from events.proof.merkle import MerkleTree
from events.types import BooksClosed, decode_data, decode_envelope

__all__ = ["ChainStart", "newest_anchor", "start_at_anchor", "start_of_file", "start_of_log"]

_BACKWARDS: Final = "SELECT position, type FROM event ORDER BY position DESC"
_FIRST: Final = "SELECT position, bytes FROM event ORDER BY position LIMIT 1"
_ROWS: Final = "SELECT hash, bytes FROM event WHERE position IN (?, ?) ORDER BY position"


class ChainStart(NamedTuple):
    """The state of chain and tree before the first event to check.

    Args:
        position: the last position that is not checked, 0 for none.
        head: the chain's hash there.
        tree: the Merkle tree over all events up to there.
    """

    position: int
    head: bytes
    tree: MerkleTree


def start_of_log(origin: str) -> ChainStart:
    """Return the start before the first event."""
    return ChainStart(0, origin_hash(origin), MerkleTree())


def start_at_anchor(position: int, stored: bytes) -> ChainStart | None:
    """Return the start before the `books_closed` at `position`, from its own fields, or None."""
    try:
        books = decode_data(decode_envelope(stored))
        if not isinstance(books, BooksClosed) or books.size != position - 1:
            return None
        peaks = map(bytes.fromhex, books.peaks)
        return ChainStart(books.size, bytes.fromhex(books.chain), MerkleTree(books.size, peaks))
    except (UnreadableEvent, AttributeError, TypeError, ValueError):
        return None


def start_of_file(db: sqlite3.Connection, origin: str) -> ChainStart:
    """Return the start before a file's first event, whether position 1 or a `books_closed`."""
    row = db.execute(_FIRST).fetchone()
    return (start_at_anchor(*row) if row and row[0] != 1 else None) or start_of_log(origin)


def newest_anchor(db: sqlite3.Connection, at_most: int | None = None) -> ChainStart | None:
    """Return the start before the newest `books_closed`, if it agrees with its place and the chain.

    Return None, so that everything is checked, if there is none or anything about it is odd. The
    rest of the log must then follow from it: its own event's hash, those of all later events, and
    the root of the newest checkpoint.

    Args:
        db: the log's file.
        at_most: the start has so many events at most; None for any number.
    """
    try:
        newest = next(
            (
                row[0]
                for row in db.execute(_BACKWARDS)
                if row[1] == BooksClosed.TYPE and (at_most is None or row[0] - 1 <= at_most)
            ),
            0,
        )
        rows = db.execute(_ROWS, (newest - 1, newest)).fetchall()
        if db.execute("SELECT min(position) FROM event").fetchone() == (newest,):
            return start_at_anchor(newest, rows[0][1])  # this file goes on from it
        (head, _), (_, stored) = rows
        books = decode_data(decode_envelope(stored))
        if not isinstance(books, BooksClosed) or (books.size, books.chain) != (
            newest - 1,
            head.hex(),
        ):
            return None
        return ChainStart(books.size, head, MerkleTree(books.size, map(bytes.fromhex, books.peaks)))
    except (sqlite3.Error, UnreadableEvent, AttributeError, TypeError, ValueError):
        return None  # the full check names what is wrong, and where
