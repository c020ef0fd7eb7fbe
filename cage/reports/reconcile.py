"""Reconciles the ledger with the log, event by event: they agree to the unit, or where they differ.

Three comparisons, so that one error cannot hide another:

- each entry with the postings that its event yields;
- each settlement, seat by seat, with the sums of its own lines or its `difference`;
- the ledger's cursor with the log's chain.

A ledger that agrees still fails if somebody has changed the schema of its file: a trigger could
falsify the next write. Both are read as streams, so memory does not grow with the ledger. The
postings of a reversed settlement come from the ledger, where they were checked before.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import groupby

from msgspec import Struct

from cage.ledger.entries import LedgerEntry, Posting, PostingState
from cage.ledger.posting import post
from cage.ledger.reading import BookedEntry, Filter, Ledger
from cage.ledger.received_event import LedgerEvent, check_continues_chain, decode_stored_event
from events.errors import LedgerError
from events.log.reader import LogReader
from events.proof.chain import origin_hash
from events.types.table import CoupSettled, Settlement

__all__ = ["Difference", "Reconciliation", "reconcile"]


class Difference(Struct, frozen=True, kw_only=True):
    """The first difference between ledger and log.

    Args:
        position: in the log; 0 if no single event is at fault.
        coup: the coup's id, or empty.
        text: the ledger's version and the log's, for a person.
    """

    position: int
    coup: str
    text: str


class Reconciliation(Struct, frozen=True, kw_only=True):
    """The result of a reconciliation.

    Args:
        table: `<site>/<table>`.
        read: number of compared events: those that the ledger has read.
        log_end: the log's last position.
        entries: number of compared entries.
        settlements: number of compared settlements, revisions included.
        coups: number of coups whose settlements were compared.
        unbooked: settlements in the log after the ledger's position.
        difference: the first difference, or None.
    """

    table: str
    read: int
    log_end: int
    entries: int
    settlements: int
    coups: int
    unbooked: int
    difference: Difference | None

    @property
    def agrees(self) -> bool:
        """Whether the ledger equals the whole log, to the unit."""
        return self.difference is None and not self.unbooked


def reconcile(log: LogReader, ledger: Ledger) -> Reconciliation:
    """Compare a ledger with a log. Open the ledger before the log, which may grow meanwhile.

    Raises:
        LogRefused: the log is damaged.
        LedgerError: the ledger has no book of this table.
    """
    place = ledger.cursor(log.origin)
    if place is None:
        known = ", ".join(ledger.tables()) or "none"
        raise LedgerError(f"the ledger has no book of {log.origin}; its books: {known}")
    with closing(ledger.entries(Filter(table=log.origin))) as booked:
        run = _Comparison(ledger, log.origin, booked, *place)
        difference = run.compare(log)
    return Reconciliation(
        table=log.origin,
        read=run.position,
        log_end=log.end,
        entries=run.entries,
        settlements=run.settlements,
        coups=run.coups,
        unbooked=run.unbooked,
        difference=difference,
    )


class _Comparison:
    """One comparison."""

    def __init__(
        self, ledger: Ledger, table: str, booked: Iterator[BookedEntry], position: int, head: bytes
    ) -> None:
        self.table = table
        self.position = position
        self.entries = self.settlements = self.coups = self.unbooked = 0
        self._ledger = ledger
        self._coup = ""
        self._end = head
        self._books = PostingState()
        self._commission: Counter[tuple[str, int]] = Counter()
        self._rows = groupby(booked, key=lambda entry: entry.position)
        self._next = next(self._rows, None)

    def compare(self, log: LogReader) -> Difference | None:
        head = origin_hash(self.table)
        for stored in log.read():
            fact = decode_stored_event(stored.stored, stored.hash)
            if fact.position > self.position:
                self.unbooked += isinstance(fact.data, CoupSettled)
                continue
            try:
                check_continues_chain(self.table, head, fact)
                found = self._event(fact)
            except LedgerError as error:  # no ledger could book this log
                return Difference(position=fact.position, coup="", text=str(error))
            if found is not None:
                return found
            head = fact.hash
        return self._compare_ends(log, head)

    def _event(self, fact: LedgerEvent) -> Difference | None:
        booked = list(self._booked_at(fact.position))
        expected: tuple[LedgerEntry, ...] = ()
        if fact.data is not None:
            self._books, expected = post(
                self._books,
                fact.data,
                event_id=fact.event_id,
                recall=lambda ref: self._recalled(ref, fact.position),
            )
        found = _entries_differ(fact.position, expected, booked)
        if found is None and isinstance(fact.data, CoupSettled):
            self._count(fact.data.settlement)
            found = self._settlement(fact.position, fact.data.settlement, booked)
        self._count_commission(booked)
        self.entries += len(booked)
        return found

    def _count(self, settlement: Settlement) -> None:
        self.settlements += 1
        # The first settlements of a coup come one after another, phase by phase.
        if settlement.reverses is None and settlement.coup != self._coup:
            self.coups += 1
            self._coup = settlement.coup

    def _recalled(self, ref: str, position: int) -> tuple[Posting, ...] | None:
        found = self._ledger.posted(self.table, ref)
        return found[1] if found and found[0] < position else None

    def _booked_at(self, position: int) -> Iterator[BookedEntry]:
        if self._next is not None and self._next[0] == position:
            yield from self._next[1]
            self._next = next(self._rows, None)

    def _settlement(
        self, position: int, settlement: Settlement, booked: list[BookedEntry]
    ) -> Difference | None:
        """Compare with the settlement's own figures: each seat's stakes and payments."""
        said: Counter[tuple[int, str]] = Counter()
        if settlement.reverses is None:
            for line in settlement.lines:
                said[line.seat, "staked"] += 0 if line.kind == "promo" else line.stake
                said[line.seat, "handed"] += line.paid + line.commission
                self._owe(settlement.coup, line.seat, line.commission)
        for each in settlement.difference if settlement.reverses else ():
            said[each.seat, "staked"] += each.staked
            said[each.seat, "handed"] += each.paid + each.commission
            self._owe(settlement.coup, each.seat, each.commission)
        held: Counter[tuple[int, str]] = Counter()
        for entry in booked:
            for posting in entry.postings:
                if posting.account == "pool":
                    held[posting.seat, "staked"] += posting.amount
                elif posting.account in {"seat", "tokes"}:
                    held[posting.seat, "handed"] -= posting.amount
        for key in sorted({*said, *held}):
            if said[key] != held[key]:
                text = (
                    f"settlement {settlement.settlement_id}: seat {key[0]} {key[1]} {held[key]} "
                    f"in the ledger and {said[key]} by the settlement"
                )
                return Difference(position=position, coup=settlement.coup, text=text)
        return None

    def _count_commission(self, booked: list[BookedEntry]) -> None:
        for entry in booked:
            for posting in entry.postings:
                if posting.account == "commission":
                    self._owe(entry.coup, posting.seat, posting.amount)

    def _owe(self, coup: str, seat: int, amount: int) -> None:
        """Track the settlements' commission less the ledger's, while the two differ."""
        self._commission[coup, seat] += amount
        if not self._commission[coup, seat]:
            del self._commission[coup, seat]

    def _compare_ends(self, log: LogReader, head: bytes) -> Difference | None:
        if log.end < self.position:
            text = f"the ledger has read {self.position} events, and the log ends at {log.end}"
            return Difference(position=log.end, coup="", text=f"{text}: it was cut")
        if head != self._end:
            text = "the ledger's hash is not the log's: the log was rewritten"
            return Difference(position=self.position, coup="", text=text)
        if self._next is not None:
            text = "the ledger holds an entry that the log does not have"
            return Difference(position=self._next[0], coup="", text=text)
        left = sorted(self._commission.items())
        if left and log.end == self.position:
            (coup, seat), amount = left[0]
            text = f"seat {seat}: commission of the settlements, less the ledger's, is {amount}"
            return Difference(position=0, coup=coup, text=text)
        fault = self._ledger.schema_fault()
        return Difference(position=0, coup="", text=fault) if fault else None


def _entries_differ(
    position: int, expected: tuple[LedgerEntry, ...], booked: list[BookedEntry]
) -> Difference | None:
    refs, held = [entry.ref for entry in expected], [entry.ref for entry in booked]
    coup = expected[0].coup if expected else booked[0].coup if booked else ""
    if refs != held:
        text = f"booked {', '.join(held) or 'nothing'}; by the log {', '.join(refs) or 'nothing'}"
        return Difference(position=position, coup=coup, text=text)
    for should, entry in zip(expected, booked, strict=True):
        for name in ("kind", "coup", "shoe", "phase", "rulebook", "reverses", "detail", "currency"):
            is_, ought = getattr(entry, name), getattr(should, name)
            if is_ != ought:
                text = f"entry {entry.ref}: {name} {is_!r} in the ledger and {ought!r} by the log"
                return Difference(position=position, coup=coup, text=text)
        found = _postings_differ(should.postings, entry.postings)
        if found is not None:
            return Difference(position=position, coup=coup, text=f"entry {entry.ref}: {found}")
    return None


def _postings_differ(expected: Iterable[Posting], booked: Sequence[Posting]) -> str | None:
    # The ledger's first schema version did not store the patron of a posting.
    named = any(posting.patron for posting in booked)
    sums: dict[tuple[str, int, str, str, str], list[int]] = {}
    for side, postings in enumerate((booked, expected)):
        for p in postings:
            key = (p.account, p.seat, p.bet, p.result, p.patron if named else "")
            sums.setdefault(key, [0, 0])[side] += p.amount
    for (account, seat, bet, *_), (is_, ought) in sorted(sums.items()):
        if is_ != ought:
            where = f"account {account}, seat {seat}, {bet or 'no bet'}"
            return f"{where}: {is_} in the ledger and {ought} by the log"
    return None
