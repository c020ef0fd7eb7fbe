"""Ledgers in memory for tests: entries as they are posted, and what they come to."""

from collections import Counter
from collections.abc import Iterable

from cage.posting import Books, Entry, Posting, post
from events.codec import event_id
from events.table import TableEvent

__all__ = ["MemoryLedger"]


class MemoryLedger:
    """What a store keeps, without one."""

    def __init__(self) -> None:
        self.books = Books()
        self.entries: list[Entry] = []
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
