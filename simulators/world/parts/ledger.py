"""A fake disk for the cage's ledger: it books a batch of events whole, or not at all."""

from collections.abc import Iterable, Sequence
from random import Random
from typing import Final

from cage.ledger.entries import LedgerEntry, Posting, PostingState
from cage.ledger.posting import post
from cage.ledger.received_event import LedgerEvent, check_continues_chain
from cage.process import Book, CloseLedger, OpenLedger
from events.errors import LedgerError, LedgerUnavailable, OurBug
from events.mqtt.process_shell import AtOnce
from events.proof.chain import origin_hash
from simulators.world.parts.fault_injector import ArmedFaults

__all__ = ["LEDGER_AWAY", "WorldLedger"]

LEDGER_AWAY: Final = "ledger_away"


class WorldLedger:
    """The cage's ledger; its content outlives the process that writes it.

    Args:
        stream: `<site>/<table>`, whose book it is.
        rng: decides whether a batch in flight is booked when the database goes away.
        trouble: the database's next faults.

    Attributes:
        position: everything up to here is booked.
        entries: by reference, in the order they were booked.
        at_once: performs the cage's effects that do not wait.
        waiting: performs those that wait.
    """

    def __init__(self, stream: str, rng: Random, trouble: ArmedFaults) -> None:
        self.stream = stream
        self.position = 0
        self.entries: dict[str, LedgerEntry] = {}
        self.at_once: AtOnce = {CloseLedger: self._close}
        self.waiting: AtOnce = {Book: self._perform_book, OpenLedger: self._open}
        self._rng, self._trouble = rng, trouble
        self._closed = False
        self._head = origin_hash(stream)
        self._books = PostingState()

    @property
    def head(self) -> bytes:
        """The hash of the log's chain at the position."""
        return self._head

    def book(self, facts: Iterable[LedgerEvent]) -> Sequence[LedgerEntry]:
        """Book events in the order of the log; those read before are dropped.

        Raises:
            LedgerError: they do not follow, or contradict what is booked; nothing is booked.
        """
        position, head, books = self.position, self._head, self._books
        made: dict[str, LedgerEntry] = {}

        def recall(name: str) -> Sequence[Posting] | None:
            found = made.get(name) or self.entries.get(name)
            return found.postings if found else None

        for fact in facts:
            if fact.position <= position:
                continue
            if fact.position != position + 1:
                raise LedgerError(f"event {position + 1} is missing before {fact.position}")
            check_continues_chain(self.stream, head, fact)
            if fact.data is not None:
                books, entries = post(books, fact.data, event_id=fact.event_id, recall=recall)
                for entry in entries:
                    if entry.ref in made or entry.ref in self.entries:
                        raise LedgerError(f"{entry.ref} comes a second time")
                    made[entry.ref] = entry
            position, head = fact.position, fact.hash
        self.position, self._head, self._books = position, head, books
        self.entries.update(made)
        return tuple(made.values())

    def start(self) -> int:
        """Open the ledger for a cage that was just started; return its position."""
        self._closed = False
        return self.position

    def _perform_book(self, effect: Book) -> int:
        if self._closed:
            raise OurBug("a closed ledger books nothing")
        if self._trouble.trigger(LEDGER_AWAY):
            if self._rng.random() < 0.5:  # noqa: PLR2004 - stored, and the answer was lost
                self.book(effect.events)
            raise LedgerUnavailable("the database is away")
        self.book(effect.events)
        return self.position

    def _open(self, _: OpenLedger) -> int:
        if self._trouble.trigger(LEDGER_AWAY):
            raise LedgerUnavailable("the database is away")
        return self.start()

    def _close(self, _: CloseLedger) -> None:
        self._closed = True
