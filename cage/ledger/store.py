"""Writes the ledger: stores entries and the log's cursor together, in one transaction.

**One writer a book.** A second writer would book the same events twice. The cursor's row prevents
this even if a lock was lost with its connection: a writer moves the cursor only from the position
where it left it. If anything is refused, nothing of the batch is booked.
"""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Self

import msgspec
from msgspec import Struct
from msgspec.structs import astuple
from sqlalchemy import URL, Connection, Engine, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from cage.ledger.database import create_ledger_engine, migrate, shown, translate_ledger_errors
from cage.ledger.entries import LedgerEntry, Posting, PostingState, read_state
from cage.ledger.posting import SettlementLookup, business_day, post
from cage.ledger.received_event import LedgerEvent, check_continues_chain
from cage.ledger.sql_tables import BOOK, ENTRY, POSTING
from events.errors import LedgerError, LogRefused
from events.free_text import escape_nul
from events.log.lock import WriterLock
from events.proof.chain import origin_hash
from events.types import TableEvent

__all__ = ["BookingResult", "LedgerStore"]

# The high half of an advisory lock's key, "bacc" in ASCII; the low half is the stream's hash.
_LOCKS: Final = 0x62616363
_COPY: Final = f"COPY posting ({', '.join(POSTING.c.keys())}) FROM STDIN"


class BookingResult(Struct, frozen=True):
    """The result of booking a batch.

    Args:
        position: the position up to which everything is booked and on disk.
        entries: number of entries booked.
        repeated: number of events that had been read before.
    """

    position: int
    entries: int
    repeated: int


class LedgerStore:
    """One table's book in a ledger, for its only writer; `open` creates it.

    Attributes:
        position: the position up to which everything is booked and on disk.
    """

    def __init__(self, url: URL, stream: str, engine: Engine, connection: Connection) -> None:
        self.url = url
        self.stream = stream
        self._engine = engine
        self._connection = connection
        self._held = ExitStack()
        self._book, self.position, self._head, self._books = 0, 0, b"", PostingState()

    @classmethod
    def open(cls, url: URL, stream: str) -> Self:
        """Open the ledger, migrate its schema, and lock the book of `stream`.

        Args:
            url: as returned by `cage.ledger.database.parse_ledger_url`.
            stream: `<site>/<table>`.

        Raises:
            LedgerUnavailable: the database does not answer.
            LedgerError: another writer has the book, or a newer build has migrated it.
        """
        with ExitStack() as stack, translate_ledger_errors(url):
            engine = create_ledger_engine(url, create=True)
            lock = _file_lock(url, stream)
            if lock is not None:
                stack.callback(lock.release)
            connection = stack.enter_context(engine.connect())
            store = cls(url, stream, engine, connection)
            with connection.begin():
                _prefer_durable(connection)
                migrate(connection, url)
            with connection.begin():
                store._take()
            store._held = stack.pop_all()
        return store

    @property
    def head(self) -> bytes:
        """The hash of the log's chain at the position."""
        return self._head

    def close(self) -> None:
        """Release the book."""
        self._held.close()

    def book(self, facts: Iterable[LedgerEvent]) -> BookingResult:
        """Book events in log order, all or none, and drop those that were read before.

        Raises:
            LedgerUnavailable: the database did not store them; open the ledger again.
            LedgerError: they do not continue the chain, contradict what is booked, or another
                writer has moved the cursor.
        """
        batch = _Batch(self.position, self._head, self._books)
        with translate_ledger_errors(self.url), self._connection.begin():
            for fact in facts:
                batch.take(fact, self.stream, self._recalled)
            if batch.position > self.position:
                self._write(batch)
        self.position, self._head, self._books = batch.position, batch.head, batch.books
        return BookingResult(batch.position, len(batch.entries), batch.repeated)

    def _take(self) -> None:
        if self._connection.dialect.name == "postgresql":
            key = {"high": _LOCKS, "stream": self.stream}
            asked = text("SELECT pg_try_advisory_lock(:high, hashtext(:stream))")
            if not self._connection.execute(asked, key).scalar_one():
                raise _second_writer(self.url, self.stream)
        columns = (BOOK.c.id, BOOK.c.position, BOOK.c.hash, BOOK.c.state)
        asked_book = select(*columns).where(BOOK.c.stream == self.stream)
        row = self._connection.execute(asked_book).one_or_none()
        if row is None:
            made = insert(BOOK).values(
                stream=self.stream,
                position=0,
                hash=origin_hash(self.stream).hex(),
                state=msgspec.json.encode(PostingState()).decode(),
            )
            self._connection.execute(made)
            row = self._connection.execute(asked_book).one()
        self._book, self.position = row.id, row.position
        self._head, self._books = bytes.fromhex(row.hash), read_state(row.state)

    def _recalled(self, settlement_id: str) -> Sequence[Posting] | None:
        """Return the postings of a settlement from an earlier batch, or None."""
        found = select(ENTRY.c.position, ENTRY.c.part).where(
            ENTRY.c.book == self._book, ENTRY.c.ref == settlement_id
        )
        entry = self._connection.execute(found).one_or_none()
        if entry is None:
            return None
        columns = (POSTING.c[name] for name in Posting.__struct_fields__)
        postings = select(*columns).where(
            POSTING.c.book == self._book,
            POSTING.c.position == entry.position,
            POSTING.c.part == entry.part,
        )
        return [Posting(*row) for row in self._connection.execute(postings)]

    def _write(self, batch: "_Batch") -> None:
        entries, postings = _rows(self._book, batch.entries)
        try:
            if entries:
                self._connection.execute(insert(ENTRY), entries)
            self._write_postings(postings)
        except IntegrityError as error:
            raise LedgerError(
                f"{shown(self.url)}: a settlement of {self.stream} comes a second time with "
                f"another position, after {self.position}: {' '.join(str(error.orig).split())}"
            ) from error
        moved = (
            update(BOOK)
            .where(BOOK.c.id == self._book, BOOK.c.position == self.position)
            .values(
                position=batch.position,
                hash=batch.head.hex(),
                state=msgspec.json.encode(batch.books).decode(),
            )
        )
        if self._connection.execute(moved).rowcount != 1:
            raise _second_writer(self.url, self.stream)

    def _write_postings(self, rows: list[tuple[Any, ...]]) -> None:
        """Insert the postings; on PostgreSQL by COPY, in a third of the time."""
        if not rows:
            return
        if self._connection.dialect.name != "postgresql":
            names = POSTING.c.keys()
            self._connection.execute(
                insert(POSTING), [dict(zip(names, row, strict=True)) for row in rows]
            )
            return
        import psycopg  # noqa: PLC0415 - takes 50 ms, which a ledger in SQLite need not spend

        driver = self._connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)  # noqa: S101 - the one driver we name in URLs
        with driver.cursor() as cursor, cursor.copy(_COPY) as copy:
            for row in rows:
                copy.write_row(
                    (*row[:-1], escape_nul(row[-1]))
                )  # the patron, as the column keeps it


class _Batch:
    """Folds the events of one batch in memory, before anything is written."""

    def __init__(self, position: int, head: bytes, books: PostingState) -> None:
        self.position, self.head, self.books = position, head, books
        self.entries: list[tuple[LedgerEvent, int, str, LedgerEntry]] = []
        self.repeated = 0
        self._settlements: dict[str, Sequence[Posting]] = {}

    def take(self, fact: LedgerEvent, stream: str, recalled: SettlementLookup) -> None:
        if fact.position <= self.position:
            self.repeated += 1
            return
        if fact.position != self.position + 1:
            raise LedgerError(
                f"event {self.position + 1} of {stream} is missing before {fact.position}"
            )
        check_continues_chain(stream, self.head, fact)
        if fact.data is not None:
            self._post(fact, fact.data, recalled)
        self.position, self.head = fact.position, fact.hash

    def _post(self, fact: LedgerEvent, data: TableEvent, recalled: SettlementLookup) -> None:
        def recall(name: str) -> Sequence[Posting] | None:
            here = self._settlements.get(name)
            return recalled(name) if here is None else here

        self.books, made = post(self.books, data, event_id=fact.event_id, recall=recall)
        day = business_day(self.books, fact.at)
        for part, entry in enumerate(made, start=2 - len(made)):
            self.entries.append((fact, part, entry.day or day, entry))
            self._settlements[entry.ref] = entry.postings


def _rows(
    book: int, entries: Iterable[tuple[LedgerEvent, int, str, LedgerEntry]]
) -> tuple[list[dict[str, Any]], list[tuple[Any, ...]]]:
    heads: list[dict[str, Any]] = []
    lines: list[tuple[Any, ...]] = []
    for fact, part, day, entry in entries:
        key = {"book": book, "position": fact.position, "part": part}
        heads.append(
            key
            | {
                "ref": entry.ref,
                "kind": entry.kind,
                "day": day,
                "at": fact.at,
                "shoe": entry.shoe,
                "coup": entry.coup,
                "phase": entry.phase,
                "rulebook": entry.rulebook,
                "reverses": entry.reverses,
                "detail": entry.detail,
                "currency": entry.currency,
            }
        )
        lines += (
            (*key.values(), number, *astuple(each)) for number, each in enumerate(entry.postings)
        )
    return heads, lines


def _file_lock(url: URL, stream: str) -> WriterLock | None:
    if url.get_backend_name() != "sqlite":
        return None
    path = Path(str(url.database))
    if not path.absolute().parent.is_dir():
        told = f"{path.absolute().parent}: there is no such folder for the ledger"
        raise LedgerError(f"{told}; make it, and give it to the user of the cage")
    try:
        lock = WriterLock.acquire(path.with_name(f"{path.name}.{stream.replace('/', '.')}"))
    except LogRefused as error:
        raise _second_writer(url, stream) from error
    lock.sign()
    return lock


def _second_writer(url: URL, stream: str) -> LedgerError:
    return LedgerError(f"{shown(url)}: another writer has the book of {stream}; stop it first")


def _prefer_durable(connection: Connection) -> None:
    """Require that the server syncs each commit to disk, whatever its default is."""
    if connection.dialect.name == "postgresql":
        asked = "SELECT set_config('synchronous_commit', 'on', false)"
        off = " WHERE current_setting('synchronous_commit') = 'off'"
        connection.execute(text(asked + off))
