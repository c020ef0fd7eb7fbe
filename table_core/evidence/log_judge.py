"""Judges a whole log again, event by event: every settlement, commission and shoe report. Pure.

The fold believes what the events conclude. This judge derives it again: settlements from the
standing cards and wagers of their coup, commission from the settlements, and what the shoe said
from the raw bytes that it sent. It keeps the coups of the newest commits, and packs the others,
since a correction may come for a coup of any age.

A log can be judged in parts. A commit that touches a coup from before its part waits (`deferred`),
and so does everything that is later said of the coups in it; whoever joins the parts judges those
by what the parts have packed.
"""

from collections.abc import Callable, Mapping, MutableMapping
from itertools import takewhile
from typing import Any, Final, NamedTuple

import msgspec

from events.errors import OurBug
from events.types import (
    IN_A_FRAME,
    BettingOpened,
    CardCorrected,
    CardMarkedUnreadable,
    ChipEvent,
    CommissionEvent,
    CommissionReversed,
    CoupSettled,
    CoupVoided,
    Entry,
    Envelope,
    HandsCorrected,
    Pieces,
    RulebookAdopted,
    RulebookCorrected,
    ShoeEvent,
    ShoeReported,
    TableEvent,
    WagerCorrected,
    amount_of,
)
from table_core.evidence.judge import (
    CoupJudge,
    CoupMemory,
    EvidenceEvent,
    EvidenceFault,
    naming_fault,
)
from table_core.fold.snapshot import as_plain, from_plain
from table_core.replay.commission_in_doubt import CommissionInDoubt
from table_core.rules.commission_owed import (
    CommissionBook,
    fold_commission,
    settlement_commission,
)
from table_core.rules.rulebook import Rulebook
from table_core.rules.settlement import Verdicts

__all__ = ["JudgedCounts", "LogJudge", "RawSays"]

RawSays = Callable[[ShoeEvent], bool | None]
"""Return whether a shoe event's raw bytes can mean its report; None without their profile."""


class JudgedCounts(NamedTuple):
    """What was judged.

    Args:
        settlements: revisions included.
        commissions: events about commission.
        decoded: shoe events whose raw bytes were read again.
        not_decoded: those whose wire profile is nowhere kept.
        not_judged: settlements whose rulebook is nowhere kept.
        known_faults: coups whose commission an old build told wrong, by the fault's name.
        cited: the id of each rulebook that an event cites, by its hash.
    """

    settlements: int = 0
    commissions: int = 0
    decoded: int = 0
    not_decoded: int = 0
    not_judged: int = 0
    known_faults: Mapping[str, int] = {}
    cited: Mapping[str, str] = {}

    @property
    def left_open(self) -> list[str]:
        """A line for each thing that was not judged or is known to be wrong."""
        faults = ", ".join(f"{name} {count:,}" for name, count in self.known_faults.items())
        rows = (
            (self.not_decoded, f"not decoded, no profile kept: {self.not_decoded:,} shoe events"),
            (self.not_judged, f"not judged, no rulebook kept: {self.not_judged:,} settlements"),
            (len(self.known_faults), f"known faults of an old build, coups: {faults}"),
        )
        return [line for count, line in rows if count]


_unpack: Final = msgspec.msgpack.Decoder(CoupMemory, dec_hook=from_plain)
_OPEN_COUPS: Final = 8
_CITING: Final = frozenset[type]({RulebookAdopted, BettingOpened, RulebookCorrected})
# Events with which money moves, or must.
_MONEY: Final = frozenset[type[TableEvent]](
    {
        *(CoupSettled, CoupVoided),
        *(CardCorrected, CardMarkedUnreadable, HandsCorrected, WagerCorrected, RulebookCorrected),
    }
).union(CommissionEvent.__subclasses__())


class LogJudge:
    """Judges the events of one log, in order.

    Args:
        origin: `<site>/<table>`.
        rulebooks: those at hand, by the SHA-256 of their files.
        raw_says: reads raw bytes again; None to leave them.
        packed: keeps the coups that are not at hand, by id.
        whole: whether the events begin with the log's first; else coups that began before are left.
        part: whether they are a part of a whole log.

    Attributes:
        deferred: the events that wait for the judge of the other parts, and their positions.
    """

    def __init__(
        self,
        origin: str,
        rulebooks: Mapping[str, Rulebook],
        raw_says: RawSays | None = None,
        packed: MutableMapping[str, bytes] | None = None,
        *,
        whole: bool = True,
        part: bool = False,
    ) -> None:
        self.deferred: list[EvidenceEvent] = []
        self._cited: dict[str, str] = {}
        self._part, self._elsewhere = part, set[str]()
        self._table = origin.rpartition("/")[2]
        self._rulebooks = rulebooks
        self._raw_says = raw_says
        self._packed: MutableMapping[str, bytes] = {} if packed is None else packed
        self._whole = whole
        self._open: dict[str, CoupJudge] = {}
        self._verdicts: dict[str, Verdicts] = {}
        self._commit: list[EvidenceEvent] = []
        # In a log of 0.1.0 commission is balances of seats, over all coups.
        self._balances: CommissionBook | None = None
        self._begun_before = False  # balances whose beginning was not taken
        self._currency_named = False  # a build since 0.2.0 names it in every event about money
        self._doubt = CommissionInDoubt()
        self._settlements = self._commissions = 0
        self._decoded = self._not_decoded = self._not_judged = 0

    @property
    def counts(self) -> JudgedCounts:
        """What was judged so far."""
        doubts = len(self._doubt.coups)
        return JudgedCounts(
            settlements=self._settlements,
            commissions=self._commissions,
            decoded=self._decoded,
            not_decoded=self._not_decoded,
            not_judged=self._not_judged,
            known_faults={"commission_in_doubt": doubts} if doubts else {},
            cited=self._cited,
        )

    def take(self, position: int, envelope: Envelope | Entry, event: TableEvent) -> None:
        """Take the next event.

        Raises:
            EvidenceFault: it, or one of the commit before it, does not follow from the record.
        """
        if self._commit and self._commit[-1].envelope.cause != envelope.cause:
            self.finish()
        self._commit.append(record := EvidenceEvent(position, envelope, event))
        fault = naming_fault(record)
        if fault is not None:
            raise _fault(record, fault)
        if type(event) in _CITING:
            self._cite(record, event)

    def _cite(self, record: EvidenceEvent, event: Any) -> None:
        """Note the rulebook that an event cites; an adopted one is in its own currency."""
        self._cited[event.rulebook_hash] = event.rulebook
        if not isinstance(event, RulebookAdopted):
            return
        if self._part and not event.currency and record.position > 1:
            raise _fault(record, "an adoption without currency cannot be judged in parts")
        self._require_named_currency(record, event)
        rulebook = self._rulebooks.get(event.rulebook_hash)
        if rulebook is None:
            return
        if event.rulebook != rulebook.id:
            raise _fault(record, f"SHA-256 {event.rulebook_hash} is {rulebook.id}")
        if event.currency not in ("", rulebook.currency):
            raise _fault(record, f"{rulebook.id} is in {rulebook.currency}, not {event.currency}")

    def finish(self) -> None:
        """Judge the commit whose events were taken; also call it after the last event.

        Raises:
            EvidenceFault: an event does not follow from the record; `part` names its position.
        """
        commit, self._commit = self._commit, []
        if self._part and self._defers(commit):
            return
        touched: dict[str, CoupJudge] = {}
        paid: set[str] = set()
        for record in commit:
            event = record.event
            _require_one(record, paid)
            if isinstance(event, ChipEvent):
                _judge_chips(record, event)
                continue
            if isinstance(event, ShoeReported):
                self._judge_report(record, event.source)
                continue
            coup = getattr(event, "coup", None)
            found = (touched.get(coup) or self._find(coup, record)) if coup else None
            if isinstance(event, CommissionEvent):
                self._require_named_currency(record, event)
                self._judge_commission(record, event, commit, found)
            if found is None:
                continue
            if found.id not in touched:
                touched[found.id] = found
                found.prepare(commit)
            self._judge_coup(found, record)
        if touched and not _MONEY.isdisjoint([type(record.event) for record in commit]):
            for each in touched.values():
                self._require_fitting(each, commit[-1])

    def close(self) -> None:
        """Pack every coup, for whoever goes on from here."""
        for coup in tuple(self._open):
            self._pack(coup)

    def _defers(self, commit: list[EvidenceEvent]) -> bool:
        """Put a commit aside that touches a coup from before this part, and its coups with it."""
        coups: dict[str, bool] = {}
        for record in commit:
            coup = getattr(record.event, "coup", None)
            if isinstance(record.event, CommissionEvent) and not record.event.currency:
                raise _fault(record, "balances of seats cannot be judged in parts")
            if coup and coup not in coups:
                begins = isinstance(record.event, BettingOpened)
                coups[coup] = begins or coup in self._open or coup in self._packed
        if all(coups.values()) and self._elsewhere.isdisjoint(coups):
            return False
        self._elsewhere.update(coups)
        for coup in self._open.keys() & coups.keys():
            self._pack(coup)
        self.deferred += commit
        return True

    def _find(self, coup: str, record: EvidenceEvent) -> CoupJudge | None:
        """Return a coup of any age; None where it began before the first event that was taken."""
        found = self._open.get(coup)
        if found is not None:
            return found
        stored = self._packed.get(coup)
        if stored is not None:
            found = self._judge_of(coup, _unpack.decode(stored))
        elif isinstance(record.event, BettingOpened) or self._whole:
            found = self._judge_of(coup, CoupMemory())
        else:
            return None
        if len(self._open) >= _OPEN_COUPS:
            self._pack(next(iter(self._open)))
        self._open[coup] = found
        return found

    def _judge_of(self, coup: str, memory: CoupMemory) -> CoupJudge:
        return CoupJudge(
            self._table, coup, self._rulebooks, memory, lenient=True, verdicts=self._verdicts
        )

    def _pack(self, coup: str) -> None:
        self._packed[coup] = msgspec.msgpack.encode(self._open.pop(coup).memory, enc_hook=as_plain)

    def _judge_report(self, record: EvidenceEvent, source: ShoeEvent) -> None:
        if self._raw_says is None or (not source.raw and not isinstance(source.report, IN_A_FRAME)):
            return
        says = self._raw_says(source)
        if says is None:
            self._not_decoded += 1
            return
        self._decoded += 1
        if not says:
            said = type(source.report).__struct_config__.tag
            told = source.raw[:40] or "are missing, and"
            raise _fault(record, f"the shoe's raw bytes {told} say no such {said}")

    def _judge_coup(self, judge: CoupJudge, record: EvidenceEvent) -> None:
        if isinstance(record.event, CoupSettled):
            at_hand = judge.coup is not None and judge.coup.rulebook_hash in self._rulebooks
            self._settlements += at_hand
            self._not_judged += not at_hand
        try:
            judge.take(record)
        except EvidenceFault as fault:
            raise _fault(record, fault.reason) from fault

    def _judge_commission(
        self,
        record: EvidenceEvent,
        event: CommissionEvent,
        commit: list[EvidenceEvent],
        found: CoupJudge | None,
    ) -> None:
        self._commissions += 1
        if not self._whole and not event.currency:
            self._begun_before = True
            return
        if self._balances is None and not event.currency:
            self._balances = CommissionBook()
        if self._balances is not None:
            self._doubt.take(self._balances, event)
        elif found is None:
            return
        book = found.book if self._balances is None and found else self._balances
        assert book is not None  # noqa: S101 - one of the two is there
        if event.currency:
            self._require_owed(record, event, commit, book)
        try:
            book = fold_commission(book, event)
        except OurBug as error:
            raise _fault(record, str(error)) from error
        if self._balances is not None:
            self._balances = book
        elif found is not None:
            found.book = book

    def _require_named_currency(
        self, record: EvidenceEvent, event: CommissionEvent | RulebookAdopted
    ) -> None:
        """Refuse what names no currency where a build that names it in every event wrote before."""
        if event.currency:
            self._currency_named = True
        elif self._currency_named or record.envelope.v == event.VERSION:
            raise _fault(record, "it names no currency, in the log of a build that does")

    def _require_owed(
        self,
        record: EvidenceEvent,
        event: CommissionEvent,
        commit: list[EvidenceEvent],
        book: CommissionBook,
    ) -> None:
        """Compare what follows a first settlement with what that settlement charges."""
        before = [each.event for each in commit if each.position < record.position]
        settled = [
            at
            for at, each in enumerate(before)
            if isinstance(each, CoupSettled) and each.coup == event.coup
        ]
        # Another rulebook moves what is laid beside the wagers by itself.
        if not settled or any(isinstance(each.event, RulebookCorrected) for each in commit):
            return
        first = before[settled[-1]]
        assert isinstance(first, CoupSettled)  # noqa: S101 - chosen so
        if any(isinstance(each, CommissionEvent) for each in before[settled[-1] :]):
            return  # it was compared with the first of them
        settlement = first.settlement
        rulebook = self._rulebooks.get(settlement.rulebook_hash)
        revises = settlement.reverses is not None or settlement.difference
        behind = (each.event for each in commit[settled[-1] + 1 :])
        told = takewhile(lambda each: not isinstance(each, CoupSettled), behind)
        of_it = [each for each in told if isinstance(each, CommissionEvent)]
        if rulebook is None or revises or any(isinstance(e, CommissionReversed) for e in of_it):
            return
        if list(settlement_commission(rulebook, rulebook, book, settlement)) != of_it:
            raise _fault(record, "its settlement charges another commission")

    def _require_fitting(self, judge: CoupJudge, last: EvidenceEvent) -> None:
        coup = judge.coup
        sure = coup is not None and coup.id not in self._doubt.coups and not self._begun_before
        try:
            judge.require_fitting(commission=sure)
        except EvidenceFault as fault:
            raise _fault(last, fault.reason) from fault


def _judge_chips(record: EvidenceEvent, event: ChipEvent) -> None:
    """Compare the amount of an event about chips with its pieces."""
    pieces: tuple[Pieces, ...] = getattr(event, "notes", ()) or getattr(event, "chips", ())
    value = amount_of(pieces)
    if value != event.amount:
        raise _fault(record, f"its pieces come to {value}, not to {event.amount}")


def _require_one(record: EvidenceEvent, paid: set[str]) -> None:
    """Refuse a transaction that pays or voids several coups, or moves chips more than once."""
    event = record.event
    if isinstance(event, CoupSettled | CoupVoided):
        paid.add(event.coup)
    elif isinstance(event, ChipEvent):
        paid.add(f"{event.TYPE} {record.position}")
    if len(paid) > 1:
        raise _fault(record, "one transaction pays or voids one coup, or moves chips once")


def _fault(record: EvidenceEvent, reason: str) -> EvidenceFault:
    kind = record.event.TYPE
    told = reason.removeprefix(f"{kind}: ")
    return EvidenceFault(f"event at {record.position}", f"{kind}: {told}")
