"""The simulated cage's book: every settlement once in effect, and the position read in the log.

It is one SQLite file, or memory. A settlement and the reader's new position are stored in one
transaction, so that a killed cage restarts knowing exactly what it has applied.
"""

import sqlite3
from enum import Enum
from pathlib import Path
from typing import Final

from msgspec import Struct

from events.errors import InputError
from events.types.table import Settlement

__all__ = ["Applied", "BookTotals", "SettlementBook"]

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS settlement (
    settlement_id TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    hash TEXT NOT NULL,
    coup TEXT NOT NULL,
    reverses TEXT,
    staked INTEGER NOT NULL,
    paid INTEGER NOT NULL,
    commission INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS reader (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    position INTEGER NOT NULL
) STRICT;
INSERT OR IGNORE INTO reader VALUES (1, 0);
"""
# A settlement that a later revision reversed does not count, whichever of the two came first.
_TOTALS: Final = """
SELECT count(*), coalesce(sum(staked), 0), coalesce(sum(paid), 0), coalesce(sum(commission), 0)
FROM settlement
WHERE settlement_id NOT IN (SELECT reverses FROM settlement WHERE reverses IS NOT NULL)
"""


class Applied(Enum):
    """The result of applying a delivered settlement."""

    NEW = "new"
    KNOWN = "known"
    """Applied before with the same content: dropped."""
    CONFLICT = "conflict"
    """Applied before with another content: dropped, and a person must look."""


class BookTotals(Struct, frozen=True, kw_only=True):
    """Sums of the booked settlements, minor units.

    Args:
        settlements: in force; a reversed one does not count.
        staked: their stakes.
        paid: paid out to patrons.
        commission: kept by the house from winnings.
        position: everything in the log up to here has been read.
    """

    settlements: int
    staked: int
    paid: int
    commission: int
    position: int


class SettlementBook:
    """The cage's settlements.

    Args:
        path: the file; None keeps the book in memory.
    """

    def __init__(self, path: Path | None = None) -> None:
        try:
            self._db = sqlite3.connect(path or ":memory:", isolation_level=None)
        except sqlite3.Error as error:
            raise InputError(f"the cage's book {path} cannot be opened: {error}") from error
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.executescript(_SCHEMA)
        (self._position,) = self._db.execute("SELECT position FROM reader").fetchone()

    @property
    def position(self) -> int:
        """The position in the log up to which everything has been read, and is on disk."""
        return int(self._position)

    def apply(
        self, settlement: Settlement, *, position: int, digest: str, read_to: int | None = None
    ) -> Applied:
        """Book a settlement, once; with `read_to`, move the reader in the same transaction.

        Args:
            settlement: the settlement.
            position: its event's position in the log.
            digest: its event's hash.
            read_to: everything up to here has now been read.
        """
        with self._db:  # commits, or rolls back when it raises
            self._db.execute("BEGIN IMMEDIATE")
            row = self._db.execute(
                "SELECT position, hash FROM settlement WHERE settlement_id = ?",
                (settlement.settlement_id,),
            ).fetchone()
            if row is None:
                self._insert(settlement, position, digest)
            if read_to is not None:
                self._move(read_to)
        if row is None:
            return Applied.NEW
        return Applied.KNOWN if row == (position, digest) else Applied.CONFLICT

    def read_to(self, position: int) -> None:
        """Note that everything up to `position` has been read and is booked."""
        with self._db:  # commits, or rolls back when it raises
            self._db.execute("BEGIN IMMEDIATE")
            self._move(position)

    def totals(self) -> BookTotals:
        """Return the sums over all settlements in force."""
        settlements, staked, paid, commission = self._db.execute(_TOTALS).fetchone()
        return BookTotals(
            settlements=settlements,
            staked=staked,
            paid=paid,
            commission=commission,
            position=self.position,
        )

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _insert(self, settlement: Settlement, position: int, digest: str) -> None:
        self._db.execute(
            "INSERT INTO settlement VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                settlement.settlement_id,
                position,
                digest,
                settlement.coup,
                settlement.reverses,
                settlement.staked,
                settlement.paid,
                settlement.commission,
            ),
        )

    def _move(self, position: int) -> None:
        self._db.execute("UPDATE reader SET position = ? WHERE position < ?", (position, position))
        self._position = max(self._position, position)
