"""Ledgers and logs to test with: entries in memory, games in a log, a ledger held against it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

from baccarat.cli.cage.reconcile import table_figures
from cage.ledger.database import create_ledger_engine, migrate, parse_ledger_url
from cage.ledger.entries import LedgerEntry, Posting, PostingState
from cage.ledger.posting import post
from cage.ledger.reading import Filter, open_ledger
from cage.ledger.received_event import LedgerEvent, decode_stored_event
from cage.ledger.store import LedgerStore
from cage.reports.reconcile import Reconciliation, reconcile
from events.log.reader import reading as reading_log
from events.types import TableEvent, event_id
from table_core.process.publishers import public_bytes
from tests.support.property.logs import played, write_log

STREAM: Final = "site/t1"


class MemoryLedger:
    """What a store keeps, without one."""

    def __init__(self) -> None:
        self.books = PostingState()
        self.entries: list[LedgerEntry] = []
        self.settlements: dict[str, tuple[Posting, ...]] = {}
        self._heard = 0

    def hear(self, events: Iterable[TableEvent]) -> None:
        for event in events:
            self._heard += 1
            name = event_id(f"test/{self._heard}", 0)
            self.books, made = post(self.books, event, event_id=name, recall=self.settlements.get)
            for entry in made:
                assert sum(posting.amount for posting in entry.postings) == 0
                assert all(posting.amount for posting in entry.postings)
            self.entries += made
            self.settlements |= {entry.ref: entry.postings for entry in made}

    def total(self, *accounts: str) -> int:
        return sum(
            posting.amount
            for entry in self.entries
            for posting in entry.postings
            if posting.account in accounts
        )

    def by_seat(self, *accounts: str) -> Counter[int]:
        seats: Counter[int] = Counter()
        for entry in self.entries:
            for posting in entry.postings:
                if posting.account in accounts:
                    seats[posting.seat] += posting.amount
        return Counter({seat: amount for seat, amount in seats.items() if amount})


def play_log(path: Path, *, seed: int, coups: int, book: str = "per_shoe") -> Sequence[TableEvent]:
    """Play a game with everything in it into a log; what was played."""
    events = played(seed, coups, book)
    write_log(path, STREAM, events)
    return events


def facts_of(path: Path) -> list[LedgerEvent]:
    """The log's events as the ledger takes them."""
    with reading_log(path) as reader:
        return [decode_stored_event(each.stored, each.hash) for each in reader.read()]


def bring_up(path: Path) -> None:
    """Migrate a ledger of an earlier build, as its writer does when it opens it."""
    url = parse_ledger_url(str(path))
    with create_ledger_engine(url, create=True).begin() as connection:
        migrate(connection, url)


def book_log(url: str, log: Path) -> None:
    """Book all of a log in a ledger, by the cage's own store."""
    with reading_log(log) as reader:
        origin = reader.origin
    with closing(LedgerStore.open(parse_ledger_url(url), origin)) as store:
        store.book(facts_of(log))


def messages_of(path: Path) -> dict[int, bytes]:
    """The log's events as they are published, by position."""
    with reading_log(path) as reader:
        return {each.position: public_bytes(each) for each in reader.read()}


def held_against(url: str, log: Path) -> Reconciliation:
    """What a reconciliation finds."""
    with open_ledger(parse_ledger_url(url)) as ledger, reading_log(log) as reader:
        return reconcile(reader, ledger, partial(table_figures, reader))


def agrees(url: str, log: Path) -> Reconciliation:
    """The ledger is the log, to the unit."""
    with open_ledger(parse_ledger_url(url)) as ledger:
        assert ledger.unbalanced() == []
    found = held_against(url, log)
    assert found.agrees, found
    return found


def accounts_of(url: str) -> dict[str, int]:
    """What stands on each account, of those that are not even."""
    with open_ledger(parse_ledger_url(url)) as ledger:
        found = ledger.balances(Filter())
    return {name: amount for each in found for name, amount in each.accounts.items() if amount}
