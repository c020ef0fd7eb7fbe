"""Reconciles the ledger with the log, event by event: they agree to the unit, or where they differ.

Four comparisons, so that one error cannot hide another, of a log that is judged meanwhile:

- each entry with its event: day, time and text, and the postings that the event yields;
- each settlement, seat by seat, with the sums of its own lines or its `difference`;
- all of them together with the table's own totals and its debts of commission, part by part;
- the ledger's cursor with the log's chain.

A ledger that agrees still fails if somebody has changed its state or its file: a trigger could
falsify the next write, and an index the next report. Both are read as streams, so memory does not
grow with the ledger. The postings of a reversed settlement come from the ledger, where they were
checked before.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import groupby
from typing import Final

from msgspec import Struct

from cage.ledger.entries import LedgerEntry, Posting, PostingState
from cage.ledger.posting import business_day, post
from cage.ledger.reading import BookedEntry, Filter, Ledger
from cage.ledger.received_event import LedgerEvent, check_continues_chain, decode_stored_event
from cage.reports.commission_debts import CommissionDebts, DebtFigures
from events.errors import LedgerError, UnreadableEvent
from events.log.reader import LogReader
from events.log.verify import BadFile, RecordJudge
from events.proof.chain import origin_hash
from events.types import CommissionReversed, CoupSettled, Settlement, Stored, decode_entry

__all__ = ["Difference", "Reconciliation", "TableFigures", "reconcile"]

_OTHERWISE: Final = {"ref", "day", "postings"}  # compared by themselves
_NAMED: Final = tuple(name for name in LedgerEntry.__struct_fields__ if name not in _OTHERWISE)

_INCOME: Final = frozenset({"house", "commission"})  # credit balances


class TableFigures(Struct, frozen=True, kw_only=True):
    """The table's own totals since its log began, in minor units.

    Args:
        staked: by the settlements in force.
        house: the house's win by them, commission included.
        commission: accrued, less reversed.
        collected: taken and kept, in any way.
        recovered: paid after it had been given up.
        outstanding: owed and not yet taken.
        uncollected: given up and still unpaid.
        debts: of which something is still to be paid or given back, or was recovered.
    """

    staked: int
    house: int
    commission: int
    collected: int
    recovered: int
    outstanding: int
    uncollected: int
    debts: tuple[DebtFigures, ...] = ()


_TOTALS: Final = tuple(name for name in TableFigures.__struct_fields__ if name != "debts")


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
        totals: whether the table's own totals were compared.
        sound: whether the record follows from itself; if not, `difference` says where it does not.
    """

    table: str
    read: int
    log_end: int
    entries: int
    settlements: int
    coups: int
    unbooked: int
    difference: Difference | None
    totals: bool = False
    sound: bool = True

    @property
    def agrees(self) -> bool:
        """Whether the ledger equals the whole log, to the unit."""
        return self.difference is None and not self.unbooked


def reconcile(
    log: LogReader,
    ledger: Ledger,
    figures: Callable[[int], TableFigures | None] | None = None,
    judge: RecordJudge | None = None,
) -> Reconciliation:
    """Compare a ledger with a log. Open the ledger before the log, which may grow meanwhile.

    Args:
        log: the table's.
        ledger: the snapshot to read.
        figures: returns the table's own totals at a position, or None where it cannot say them.
        judge: of the log's events; None to believe them.

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
        try:
            difference, sound = run.compare(log, judge), True
        except BadFile as bad:
            sound = False
            difference = Difference(position=bad.position or 0, coup="", text=bad.reason)
        # A settlement stands before its commission: between the two, totals and balances differ.
        whole = difference is None and not run.is_within_a_decision
        own = figures(run.position) if figures and whole else None
        if own is not None:
            difference = run.figures_differ(own)
    return Reconciliation(
        table=log.origin,
        read=run.position,
        log_end=log.end,
        entries=run.entries,
        settlements=run.settlements,
        coups=run.coups,
        unbooked=run.unbooked,
        difference=difference,
        totals=own is not None,
        sound=sound,
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
        self._figures: Counter[str] = Counter()
        self._debts = CommissionDebts()
        self._pooled = False  # whether a reversal of 0.1.0 came, which split what it gave back
        self._rows = groupby(booked, key=lambda entry: entry.position)
        self._next = next(self._rows, None)
        self._causes: list[str] = []  # of the last event that is booked, and of the one behind it

    @property
    def is_within_a_decision(self) -> bool:
        """Whether the next event of the log has the same cause as the last one booked."""
        return len(self._causes) > len(set(self._causes))

    def compare(self, log: LogReader, judge: RecordJudge | None) -> Difference | None:
        """Return the first difference.

        Raises:
            BadFile: the record does not follow from itself.
        """
        head = origin_hash(self.table)
        for stored in log.read():
            try:
                entry = decode_entry(stored.stored)
                found = self._compare_event(stored, head)
            except (LedgerError, UnreadableEvent) as error:  # no ledger could book this log
                return Difference(position=stored.position, coup="", text=str(error))
            if found is not None:
                return found
            if stored.position <= self.position:
                head = stored.hash
            if stored.position in {self.position, self.position + 1}:
                self._causes.append(entry.cause)
            if judge is not None:
                judge.take(stored.position, entry, entry.data)
        if judge is not None:
            judge.finish()
        return self._compare_ends(log, head)

    def _compare_event(self, stored: Stored, head: bytes) -> Difference | None:
        fact = decode_stored_event(stored.stored, stored.hash)
        if fact.position > self.position:
            self.unbooked += isinstance(fact.data, CoupSettled)
            return None
        check_continues_chain(self.table, head, fact)
        return self._event(fact)

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
        day = business_day(self._books, fact.at)
        found = _entries_differ(fact, expected, booked, day)
        if found is None and isinstance(fact.data, CoupSettled):
            self._count(fact.data.settlement)
            found = self._settlement(fact.position, fact.data.settlement, booked)
        self._count_commission(booked)
        self._count_figures(booked)
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

    def _count_figures(self, booked: list[BookedEntry]) -> None:
        for entry in booked:
            self._debts.take(entry.coup, entry.currency, entry.postings)
            self._pooled |= entry.kind == CommissionReversed.TYPE and not entry.currency
            for posting in entry.postings:
                self._figures[posting.account] += posting.amount
                if posting.account in {"win", "commission"}:
                    self._figures["house"] += posting.amount
                elif posting.account == "pool" and entry.phase:
                    self._figures["staked"] += posting.amount

    def figures_differ(self, table: TableFigures) -> Difference | None:
        """Return where the ledger's balances are not the table's own totals."""
        figures = {name: getattr(table, name) for name in _TOTALS}
        balances = self._figures
        if self._pooled:
            figures["collected"] += figures.pop("recovered")
            balances = Counter(balances)
            balances["collected"] += balances["recovered"]
        for name, said in figures.items():
            held = -balances[name] if name in _INCOME else balances[name]
            if held != said:
                text = f"{name}: {held} in the ledger and {said} by the table's own totals"
                return Difference(position=0, coup="", text=text)
        differs = self._debts.difference(table.debts)
        return Difference(position=0, coup=differs[0], text=differs[1]) if differs else None

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
        orphans = self._ledger.orphans()
        if orphans:
            text = "the ledger holds a posting that belongs to no entry"
            return Difference(position=orphans[0], coup="", text=text)
        fault = self._ledger.file_fault()
        if self._ledger.state(self.table) != self._books:
            fault = "the state with which the ledger books the next event is not the log's"
        return Difference(position=0, coup="", text=fault) if fault else None


def _entries_differ(
    fact: LedgerEvent, expected: tuple[LedgerEntry, ...], booked: list[BookedEntry], day: str
) -> Difference | None:
    position = fact.position
    refs, held = [entry.ref for entry in expected], [entry.ref for entry in booked]
    coup = expected[0].coup if expected else booked[0].coup if booked else ""
    if refs != held:
        text = f"booked {', '.join(held) or 'nothing'}; by the log {', '.join(refs) or 'nothing'}"
        return Difference(position=position, coup=coup, text=text)
    for should, entry in zip(expected, booked, strict=True):
        named = {name: getattr(should, name) for name in _NAMED}
        for name, ought in {**named, "day": should.day or day, "at": fact.at}.items():
            is_ = getattr(entry, name)
            if is_ != ought:
                text = f"entry {entry.ref}: {name} {is_!r} in the ledger and {ought!r} by the log"
                return Difference(position=position, coup=coup, text=text)
        found = _postings_differ(should.postings, entry.postings)
        if found is not None:
            return Difference(position=position, coup=coup, text=f"entry {entry.ref}: {found}")
    return None


def _postings_differ(expected: Iterable[Posting], booked: Sequence[Posting]) -> str | None:
    sums: dict[tuple[str, int, str, str, str], list[int]] = {}
    for side, postings in enumerate((booked, expected)):
        for p in postings:
            key = (p.account, p.seat, p.bet, p.result, p.patron)
            sums.setdefault(key, [0, 0])[side] += p.amount
    for (account, seat, bet, *_), (is_, ought) in sorted(sums.items()):
        if is_ != ought:
            where = f"account {account}, seat {seat}, {bet or 'no bet'}"
            return f"{where}: {is_} in the ledger and {ought} by the log"
    return None
