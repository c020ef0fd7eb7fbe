"""Reads a ledger within one snapshot: balances, entries, cursors and checks. Never writes."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import URL, ColumnElement, Connection, Row, func, select

from cage.ledger.database import (
    create_ledger_engine,
    file_fault,
    require_current,
    translate_ledger_errors,
)
from cage.ledger.entries import Posting, PostingState, read_state
from cage.ledger.sql_tables import BOOK, ENTRY, POSTING, POSTING_TO_ENTRY, select_postings
from events.errors import InputError

__all__ = ["BALANCE_KEYS", "Balance", "BookedEntry", "Filter", "Ledger", "open_ledger"]

BALANCE_KEYS: Final[dict[str, ColumnElement[Any]]] = {
    "shoe": ENTRY.c.shoe,
    "day": ENTRY.c.day,
    "seat": POSTING.c.seat,
    "bet": POSTING.c.bet,
}
"""The columns by which `Ledger.balances` can group."""

_NAMES: Final[dict[str, ColumnElement[Any]]] = {
    "table": BOOK.c.stream,
    "shoe": ENTRY.c.shoe,
    "coup": ENTRY.c.coup,
    "bet": POSTING.c.bet,
}
_FETCH: Final = 1_000
_NAMED_MOST: Final = 12  # of what there is, where what was asked for is not


class Filter(Struct, frozen=True, kw_only=True):
    """Selects postings; a field that is None selects all.

    Args:
        table: `<site>/<table>`.
        shoe: the shoe's id.
        day: the business day, YYYY-MM-DD.
        coup: the coup's id.
        seat: 1 to 99; 0 for no seat.
        bet: the bet's id.
        currency: ISO 4217; empty for entries without one.
    """

    table: str | None = None
    shoe: str | None = None
    day: str | None = None
    coup: str | None = None
    seat: int | None = None
    bet: str | None = None
    currency: str | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        """Return the filter as SQL conditions."""
        columns: dict[str, ColumnElement[Any]] = {
            "table": BOOK.c.stream,
            "coup": ENTRY.c.coup,
            "currency": ENTRY.c.currency,
            **BALANCE_KEYS,
        }
        asked = ((columns[name], getattr(self, name)) for name in self.__struct_fields__)
        return [column == value for column, value in asked if value is not None]


class Balance(Struct, frozen=True, kw_only=True):
    """The account balances of one table, or of one of its shoes, days, seats or bets.

    Args:
        table: `<site>/<table>`.
        key: the shoe, day, seat or bet; empty for all.
        accounts: account to balance, minor units; a debit is positive.
    """

    table: str
    key: str
    accounts: dict[str, int]


class BookedEntry(Struct, frozen=True, kw_only=True):
    """One entry of the ledger, with its postings."""

    table: str
    position: int
    part: int
    ref: str
    kind: str
    day: str
    at: str
    shoe: str
    coup: str
    phase: int
    rulebook: str
    reverses: str
    detail: str
    currency: str
    postings: tuple[Posting, ...]


class Ledger:
    """One snapshot of a ledger; `open_ledger` opens it."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def tables(self) -> list[str]:
        """Return the tables that have a book, as `<site>/<table>`."""
        return list(self.connection.scalars(select(BOOK.c.stream).order_by(BOOK.c.stream)))

    def require_named(self, chosen: Filter) -> None:
        """Check that there are the table, shoe, coup and bet that a filter names.

        Raises:
            InputError: there is none of that name, at the table if one is named; names the newest
                that there are.
        """
        there = BOOK.outerjoin(ENTRY, BOOK.c.id == ENTRY.c.book)
        there = there.outerjoin(POSTING, POSTING_TO_ENTRY)
        for name, column in _NAMES.items():
            asked = getattr(chosen, name)
            at_table = Filter(table=None if name == "table" else chosen.table).conditions()
            every = select(column).select_from(there).where(*at_table)
            named = select(every.where(column == asked).exists())
            if asked is None or self.connection.scalar(named):
                continue
            newest = func.max(func.coalesce(ENTRY.c.at, "")).desc()
            known = every.where(column != "").group_by(column).order_by(newest, column)
            found = list(self.connection.scalars(known.limit(_NAMED_MOST + 1)))
            listed = [*found[:_NAMED_MOST], *(["..."] if len(found) > _NAMED_MOST else [])]
            where = f" of {chosen.table}" if at_table else ""
            raise InputError(
                f"--{name} {asked!r}: no such {name} in this ledger{where}; "
                f"the newest first, there are {', '.join(listed) or 'none'}"
            )

    def rulebooks(self, chosen: Filter) -> list[str]:
        """Return the rulebooks of the chosen settlements."""
        asked = select_postings(ENTRY.c.rulebook).where(
            ENTRY.c.rulebook != "", *chosen.conditions()
        )
        return sorted(self.connection.scalars(asked.distinct()))

    def currencies(self, chosen: Filter, by: str) -> dict[tuple[str, str], set[str]]:
        """Return the currencies of the chosen entries by table and key, those that are named."""
        asked = (
            select(BOOK.c.stream, BALANCE_KEYS[by], ENTRY.c.currency)
            .select_from(ENTRY.join(BOOK, BOOK.c.id == ENTRY.c.book))
            .where(ENTRY.c.currency != "", *replace(chosen, seat=None, bet=None).conditions())
            .distinct()
        )
        found: dict[tuple[str, str], set[str]] = {}
        for table, key, currency in self.connection.execute(asked):
            found.setdefault((table, key), set()).add(currency)
        return found

    def cursor(self, table: str) -> tuple[int, bytes] | None:
        """Return the position and chain hash up to which a table's log was read, or None."""
        asked = select(BOOK.c.position, BOOK.c.hash).where(BOOK.c.stream == table)
        row = self.connection.execute(asked).one_or_none()
        return None if row is None else (row.position, bytes.fromhex(row.hash))

    def state(self, table: str) -> PostingState:
        """Return the state in which a table's book waits for its next event.

        Raises:
            LedgerError: somebody has made something else of it.
        """
        asked = select(BOOK.c.state).where(BOOK.c.stream == table)
        return read_state(self.connection.execute(asked).scalar_one())

    def balances(self, chosen: Filter, by: str | None = None) -> list[Balance]:
        """Return account balances by table and key."""
        key = [BALANCE_KEYS[by]] if by else []
        asked = (
            select_postings(BOOK.c.stream, *key, POSTING.c.account, func.sum(POSTING.c.amount))
            .where(*chosen.conditions())
            .group_by(BOOK.c.stream, *key, POSTING.c.account)
            .order_by(BOOK.c.stream, *key, POSTING.c.account)
        )
        found: dict[tuple[str, str], dict[str, int]] = {}
        for table, *keys, account, amount in self.connection.execute(asked):
            found.setdefault((table, "".join(map(str, keys))), {})[account] = int(amount)
        return [
            Balance(table=table, key=name, accounts=accounts)
            for (table, name), accounts in found.items()
        ]

    def posted(self, table: str, ref: str) -> tuple[int, tuple[Posting, ...]] | None:
        """Return the position and postings of the entry with this reference, or None."""
        here = (BOOK.c.stream == table, ENTRY.c.ref == ref)
        found = select(ENTRY.c.position).join(BOOK, BOOK.c.id == ENTRY.c.book)
        position = self.connection.scalars(found.where(*here)).one_or_none()
        if position is None:
            return None
        columns = (POSTING.c[name] for name in Posting.__struct_fields__)
        rows = select_postings(*columns).where(*here).order_by(POSTING.c.line)
        return position, tuple(Posting(*row) for row in self.connection.execute(rows))

    def file_fault(self) -> str | None:
        """Return what somebody has changed in the ledger's file that no booking does, or None."""
        return file_fault(self.connection)

    def unbalanced(self) -> list[tuple[str, int, int]]:
        """Return (table, position, sum) of entries that do not sum to zero; there must be none."""
        total = func.sum(POSTING.c.amount)
        place = (BOOK.c.stream, POSTING.c.position)
        asked = select_postings(*place, total).group_by(*place, POSTING.c.part).having(total != 0)
        return [(row[0], row[1], int(row[2])) for row in self.connection.execute(asked)]

    def orphans(self) -> list[int]:
        """Return the positions of postings that belong to no entry; there must be none."""
        alone = POSTING.outerjoin(ENTRY, POSTING_TO_ENTRY)
        asked = select(POSTING.c.position).select_from(alone).where(ENTRY.c.book.is_(None))
        return sorted(self.connection.scalars(asked.distinct()))

    def entries(self, chosen: Filter) -> Generator[BookedEntry, None, None]:
        """Yield entries in booking order, each with the postings that the filter selects."""
        there = ENTRY.outerjoin(POSTING, POSTING_TO_ENTRY).join(BOOK, BOOK.c.id == ENTRY.c.book)
        asked = (
            select(
                BOOK.c.stream,
                *(column for column in ENTRY.c if column.name != "book"),
                *(POSTING.c[name] for name in Posting.__struct_fields__),
            )
            .select_from(there)
            .where(*chosen.conditions())
            .order_by(BOOK.c.stream, ENTRY.c.position, ENTRY.c.part, POSTING.c.line)
        )
        options = {"yield_per": _FETCH}
        with self.connection.execute(asked, execution_options=options) as rows:
            for _, group in groupby(rows, key=lambda row: (row.stream, row.position, row.part)):
                yield _booked(list(group))


def _booked(rows: list[Row[Any]]) -> BookedEntry:
    first = rows[0]._mapping  # noqa: SLF001 - SQLAlchemy's public name for a row as a mapping
    fields = {name: first[name] for name in BookedEntry.__struct_fields__ if name in first}
    postings = tuple(
        Posting(*(getattr(row, name) for name in Posting.__struct_fields__))
        for row in rows
        if row.account is not None
    )
    return BookedEntry(**fields | {"table": first["stream"], "postings": postings})


@contextmanager
def open_ledger(url: URL) -> Iterator[Ledger]:
    """Open a ledger for reading in one snapshot; its writer continues meanwhile.

    Raises:
        InputError: the file does not exist.
        LedgerUnavailable: the database does not answer.
        LedgerError: it holds no ledger of this build's version.
    """
    with translate_ledger_errors(url):
        engine = create_ledger_engine(url, create=False)
        if engine.dialect.name == "postgresql":
            engine = engine.execution_options(isolation_level="REPEATABLE READ")
        with engine.connect() as connection:
            require_current(connection, url)
            yield Ledger(connection)
