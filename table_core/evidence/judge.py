"""Judges a coup again from its events alone: its cards, its wagers, its rulebook. Pure.

It is independent of the fold, which needs the state of the table before the coup. It knows only the
events of one coup, derives again whatever they conclude, and compares.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from msgspec import Struct
from msgspec.structs import replace

from events.cards import Card, Hand, Winner
from events.types import (
    AggregateCapped,
    BettingOpened,
    CardCorrected,
    CardDealt,
    CardDisclosed,
    CardEntered,
    CardMarkedUnreadable,
    CardUnread,
    CommissionAccrued,
    CommissionEvent,
    CommissionRefunded,
    CommissionReversed,
    CorrectionAcknowledged,
    CoupSettled,
    CoupVoided,
    DealCompleted,
    Entry,
    Envelope,
    HandsCorrected,
    Refund,
    RulebookCorrected,
    Settlement,
    SettlementLine,
    ShoeEvent,
    ShoeReported,
    TableEvent,
    Wager,
    WagerCorrected,
    WagersPlaced,
    WagersVoided,
    WagersWithdrawn,
)
from table_core.evidence.coup_commission import ToldCommission, commission_fault, told_after
from table_core.rules.commission_owed import CommissionBook
from table_core.rules.draw import Outcome, judge_hands
from table_core.rules.rulebook import INITIAL_PHASE, LAST_PHASE, Rulebook
from table_core.rules.settlement import CapApplied, Result, Verdicts, settle_with_caps
from table_core.state.corrected_coup import (
    capped_event,
    first_phase_revision,
    known_faces,
    next_settlement,
    phase_outcome,
    revised_settlements,
    taken_by_first_phase,
    void_revision,
)
from table_core.state.coup import Phase
from table_core.state.coup_projection import coup_after, may_follow
from table_core.state.dealing import due_places, judge_deal
from table_core.state.table import Coup, DealtCard, by_id

__all__ = [
    "CoupJudge",
    "CoupMemory",
    "EvidenceEvent",
    "EvidenceFault",
    "JudgedCoup",
    "judge_again",
    "naming_fault",
]

_Settled = tuple[Settlement, tuple[CapApplied, ...]]
# Events without a check of their own that change a coup.
_OF_A_COUP: Final = (CardUnread, CommissionEvent)
_WITH_A_RULEBOOK: Final = frozenset[type]({BettingOpened, RulebookCorrected})
_INITIAL_CARDS: Final = 2
_NAMING_A_SETTLEMENT: Final = (
    *(CommissionAccrued, CommissionReversed, CommissionRefunded),
    AggregateCapped,
)
_BY_THE_SHOE: Final = "shoe"
# The shoe gives Player a card that is due to Banker: the one place that the table corrects itself.
_DRAWN_IN_ERROR: Final = ((Hand.PLAYER, 3), (Hand.BANKER, 3))


class EvidenceFault(Exception):  # noqa: N818 - a finding about the record, not an error of ours
    """The record contradicts itself or the rules.

    Args:
        part: the part of the evidence.
        reason: one line for a person.
    """

    def __init__(self, part: str, reason: str) -> None:
        super().__init__(f"{part}: {reason}")
        self.part = part
        self.reason = reason


class EvidenceEvent(Struct, frozen=True, gc=False):
    """An event of the coup, with its position and its envelope."""

    position: int
    envelope: Envelope | Entry
    event: TableEvent


class JudgedCoup(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The coup's result by its record, corrections included.

    Args:
        player: Player's known cards, in dealing order.
        banker: Banker's.
        player_total: Player's points; None where the deal was not complete.
        banker_total: Banker's points.
        winner: None where the deal was not complete.
        void: whether the coup is void.
        rulebook: id of the rulebook it is judged by.
        lines: the settlement line of each wager, phase by phase.
        refunds: stakes that went back unsettled.
        staked: sum over the settlements in force, minor units, as all that follow.
        paid: the sum that the patrons receive by them.
        commission: the sum that the house keeps of winnings.
    """

    player: tuple[Card, ...]
    banker: tuple[Card, ...]
    player_total: int | None
    banker_total: int | None
    winner: Winner | None
    void: bool
    rulebook: str
    lines: tuple[SettlementLine, ...]
    refunds: tuple[Refund, ...]
    staked: int
    paid: int
    commission: int


def naming_fault(record: EvidenceEvent) -> str | None:
    """Return what is wrong with the coup that an event names, in its envelope and within itself."""
    event, coup = record.event, getattr(record.event, "coup", None)
    if coup is None:
        return None
    if coup != record.envelope.correlation:
        return "it is correlated with another coup"
    if not coup and (not isinstance(event, CommissionEvent) or event.currency):
        return "it names no coup"
    if isinstance(event, CoupSettled):
        return None if event.settlement.coup == coup else "its settlement is of another coup"
    named: tuple[str, ...] = ()
    if isinstance(event, CorrectionAcknowledged):
        named = event.settlements
    elif isinstance(event, _NAMING_A_SETTLEMENT):
        named = (event.settlement_id,)
    own = f"{record.envelope.stream.rpartition('/')[2]}/{coup}/"
    fits = all(each.startswith(own) for each in named)
    return None if fits else "it is about the settlement of another coup"


def judge_again(
    origin: str, coup: str, records: Sequence[EvidenceEvent], rulebooks: Mapping[str, Rulebook]
) -> JudgedCoup:
    """Follow a coup through its record, and derive again whatever the record concludes.

    Args:
        origin: `<site>/<table>`.
        coup: the coup's id.
        records: its events in order, with other events of the table between them.
        rulebooks: those that it was played and judged by, by the SHA-256 of their files.

    Raises:
        EvidenceFault: an event does not follow from the events before it.
    """
    replay = CoupJudge(origin.rpartition("/")[2], coup, rulebooks)
    replay.prepare(records)
    cause = ""
    for record in records:
        if getattr(record.event, "coup", None) == coup:
            if record.envelope.cause != cause:
                replay.require_fitting()
            cause = record.envelope.cause
            replay.take(record)
    return replay.result()


class CoupMemory(Struct, frozen=True, kw_only=True):
    """What a judge remembers of a coup between two commits.

    Args:
        coup: by its record.
        refunds: stakes that went back unsettled.
        told: what its events say of its commission.
        book: its commission's debts, where a whole log is judged.
    """

    coup: Coup | None = None
    refunds: tuple[Refund, ...] = ()
    told: ToldCommission = ToldCommission()
    book: CommissionBook = CommissionBook()


class CoupJudge:
    """Follows one coup through its record, and derives again whatever the record concludes.

    Args:
        table: the table's id.
        coup: the coup's id.
        rulebooks: by the SHA-256 of their files.
        memory: of the coup's record so far.
        lenient: whether a rulebook may be missing; the lines of its settlements are believed then.
        verdicts: those of each rulebook so far, by its hash, which judges of a log share.

    Attributes:
        id: as above.
        book: the debts of its commission, which `LogJudge` follows.
    """

    def __init__(
        self,
        table: str,
        coup: str,
        rulebooks: Mapping[str, Rulebook],
        memory: CoupMemory = CoupMemory(),  # noqa: B008 - frozen
        *,
        lenient: bool = False,
        verdicts: dict[str, Verdicts] | None = None,
    ) -> None:
        self._verdicts = {} if verdicts is None else verdicts
        self._lenient = lenient
        self._table = table
        self.id = coup
        self._rulebooks = rulebooks
        self._said: dict[str, ShoeEvent] = {}
        self._voiding: set[str] = set()
        self._coup, self._refunds, self._told = memory.coup, memory.refunds, memory.told
        self.book = memory.book
        self._untold: list[AggregateCapped] = []
        self._judged: tuple[object, ...] = ()  # the newest settlement, and what it follows from

    @property
    def memory(self) -> CoupMemory:
        """What to continue from."""
        return CoupMemory(coup=self._coup, refunds=self._refunds, told=self._told, book=self.book)

    @property
    def coup(self) -> Coup | None:
        """The coup by its record so far."""
        return self._coup

    def prepare(self, records: Sequence[EvidenceEvent]) -> None:
        """Note what the events of whole commits say about one another, before they are taken."""
        self._said.clear()
        self._voiding.clear()
        if len(records) == 1:
            return  # nothing follows from a report or a void that is alone
        for record in records:
            event = record.event
            if isinstance(event, ShoeReported):
                self._said[record.envelope.cause] = event.source
            elif isinstance(event, CoupVoided) and event.coup == self.id:
                # A first phase is settled again in the step that makes its coup void.
                self._voiding.add(record.envelope.cause)

    def take(self, record: EvidenceEvent) -> None:
        """Take the next event of the coup.

        Raises:
            EvidenceFault: it does not follow from those before it.
        """
        event = record.event
        check = self._CHECKS.get(type(event))
        if self._coup is None and not isinstance(event, BettingOpened):
            if check is None and not isinstance(event, _OF_A_COUP):
                return
            raise self._fault(record, "comes before the coup began")
        if check is not None:
            check(self, record, event)
        if self._coup is not None and not may_follow(self._coup, event):
            raise self._fault(record, f"does not come while a coup is {self._coup.phase.value}")
        if isinstance(event, CommissionEvent):
            self._require_currency(record, event)
            self._told = told_after(self._told, event)
        self._coup = coup_after(self._coup, event)
        if type(event) in _WITH_A_RULEBOOK:
            self._rulebook(record)

    def require_fitting(self, *, commission: bool = True) -> None:
        """Check, after whole commits, that settlements and commission in force fit the record.

        Args:
            commission: whether that is checked.

        Raises:
            EvidenceFault: a correction or a void stands without its settlement, a settlement
                without its commission, or a cut without its aggregate maximum.
        """
        if self._coup is None:
            return
        self._require_settled()
        if self._untold:
            told = "an aggregate maximum cut a settlement, and no event tells it"
            raise EvidenceFault("events", told)
        over = self._void or self._coup.settlement(LAST_PHASE) is not None
        fault = commission_fault(self._told, self._coup.settlements, over=over)
        if commission and fault is not None:
            raise EvidenceFault("events", f"coup {self.id}: {fault}")

    def _require_settled(self) -> None:
        coup = self._coup
        last = coup.settlement(LAST_PHASE) if coup else None
        if coup is None or last is None:
            return
        if self._void:
            if any(line.result != Result.VOID.value for line in last.lines):
                raise EvidenceFault("settlement", "a void coup is still settled")
            return
        rulebook = self._rulebooks.get(coup.rulebook_hash)
        unread = any(dealt.card is None for dealt in coup.cards)
        if rulebook is None or coup.phase is not Phase.SETTLED or unread:
            return
        if self._has_all(coup, last):
            return
        due = next(revised_settlements(self._table, coup, rulebook), None)
        if due is not None:
            settlement = due[0]
            told = f"the cards and wagers on record come to {settlement.settlement_id}"
            raise EvidenceFault("settlement", f"{told}, which is not here: half a correction")

    def _has_all(self, coup: Coup, last: Settlement) -> bool:
        """Return whether the only settlement has every wager, and was judged as the coup is now."""
        whole = len(coup.settlements) == 1 and len(last.lines) == len(coup.wagers)
        basis = last, coup.cards, coup.rulebook_hash, *coup.wagers.values()
        return whole and self._judged == basis

    def result(self) -> JudgedCoup:
        """Return the coup's result.

        Raises:
            EvidenceFault: the record is not that of a coup that is over.
        """
        coup = self._coup
        if coup is None:
            raise EvidenceFault("events", f"coup {self.id} does not begin here")
        settlements = sorted(coup.settlements, key=lambda each: each.phase)
        if not self._void and coup.settlement(LAST_PHASE) is None:
            raise EvidenceFault("events", f"coup {self.id} is neither settled nor void here")
        self.require_fitting()
        outcome = self._outcome()
        ended = outcome is not None and outcome.complete
        return JudgedCoup(
            player=self._hand(Hand.PLAYER),
            banker=self._hand(Hand.BANKER),
            player_total=outcome.player_total if outcome and ended else None,
            banker_total=outcome.banker_total if outcome and ended else None,
            winner=outcome.winner if outcome and ended else None,
            void=self._void,
            rulebook=coup.rulebook,
            lines=tuple(line for each in settlements for line in each.lines),
            refunds=self._refunds,
            staked=sum(each.staked for each in settlements),
            paid=sum(each.paid for each in settlements),
            commission=sum(each.commission for each in settlements),
        )

    def _began(self, record: EvidenceEvent, _: BettingOpened) -> None:
        if self._coup is not None:
            raise self._fault(record, "the coup began before")

    def _placed(self, record: EvidenceEvent, event: WagersPlaced) -> None:
        names = {wager.id for wager in event.wagers}
        if len(names) < len(event.wagers) or not self._known.wagers.keys().isdisjoint(names):
            raise self._fault(record, "places a wager that stands already")
        cause = record.envelope.cause
        names = {cause, cause.partition("/")[2]}  # without the user in logs of old
        if any(
            wager.id not in {f"{name}/{index}" for name in names}
            for index, wager in enumerate(event.wagers)
        ):
            raise self._fault(record, "a wager has not the name of its request")

    def _withdrawn(self, record: EvidenceEvent, event: WagersWithdrawn) -> None:
        if len(self._known.wagers.keys() & event.wagers) != len(event.wagers):
            raise self._fault(record, "takes back a wager that does not stand")

    def _wagers_voided(self, record: EvidenceEvent, event: WagersVoided) -> None:
        gone, wagers = {refund.wager for refund in event.refunds}, self._known.wagers.values()
        if event.refunds != _stakes(each for each in wagers if each.id in gone):
            raise self._fault(record, "gives back other stakes than stand")

    def _wager_corrected(self, record: EvidenceEvent, event: WagerCorrected) -> None:
        if event.was is not None and self._known.wagers.get(event.was.id) != event.was:
            raise self._fault(record, "corrects a wager that does not stand so")
        name = event.wager.id if event.wager else None
        if name in self._known.wagers and (event.was is None or event.was.id != name):
            raise self._fault(record, "adds a wager that stands already")

    def _rulebook_corrected(self, record: EvidenceEvent, event: RulebookCorrected) -> None:
        if (event.was, event.was_hash) != (self._known.rulebook, self._known.rulebook_hash):
            raise self._fault(record, "it was not played by that rulebook")

    def _dealt(self, record: EvidenceEvent, event: CardDealt) -> None:
        if self._lying(event) is not None:
            raise self._fault(record, "deals a card to a place where one lies")
        if event.rule is not None:
            rules = [place.rule for place in due_places(self._known) if place.hand is event.hand]
            if event.rule not in rules:
                told = next(iter(rules), None) or "no rule"
                raise self._fault(record, f"{told} deals a card here")
        self._in_order(record, event)
        if event.source != _BY_THE_SHOE:
            raise self._fault(record, f"no card is dealt by {event.source}")
        self._as_the_shoe_said(record, event.card, (event.hand, event.number))

    def _in_order(self, record: EvidenceEvent, event: CardDealt | CardEntered) -> None:
        if not 1 <= event.number <= len(self._known.hand(event.hand)) + 1:
            raise self._fault(record, "a place before it is empty")

    def _disclosed(self, record: EvidenceEvent, event: CardDisclosed) -> None:
        self._as_the_shoe_said(record, event.card, (event.hand, event.number))

    def _face_corrected(
        self, record: EvidenceEvent, event: CardCorrected | CardMarkedUnreadable
    ) -> None:
        lying = self._lying(event)
        if lying is None or lying.card is not event.was:
            raise self._fault(record, f"{event.was} did not lie there")

    def _hands_corrected(self, record: EvidenceEvent, event: HandsCorrected) -> None:
        if (event.was_player, event.was_banker) != tuple(
            known_faces(self._known, hand) for hand in (Hand.PLAYER, Hand.BANKER)
        ):
            raise self._fault(record, "the hands did not lie so before")

    def _completed(self, record: EvidenceEvent, event: DealCompleted) -> None:
        if judge_deal(self._known) != event:
            raise self._fault(record, "the cards do not come to that")

    def _settled(self, record: EvidenceEvent, event: CoupSettled) -> None:
        said, ours = event.settlement, None
        for ours, cuts in self._settlements(record, said):
            if said == ours:
                self._untold += (capped_event(ours, cut) for cut in cuts)
                return
        if ours is None:
            raise self._unfit(record, "settles a coup that is void")
        raise self._unfit(record, self._differs(ours, said))

    def _voided(self, record: EvidenceEvent, event: CoupVoided) -> None:
        if self._void:
            raise self._fault(record, "the coup is void already")
        settled = {line.wager for each in self._known.settlements for line in each.lines}
        wagers = self._known.wagers.values()
        if event.refunds != _stakes(each for each in wagers if each.id not in settled):
            raise self._fault(record, "the stakes that go back are not those that are due")
        self._refunds = event.refunds

    def _capped(self, record: EvidenceEvent, event: AggregateCapped) -> None:
        if event in self._untold:
            self._untold.remove(event)
        elif self._rulebook(record) is not None:
            raise self._fault(record, "no aggregate maximum cut so")

    def _require_currency(self, record: EvidenceEvent, event: CommissionEvent) -> None:
        rulebook = self._rulebook(record)
        if rulebook is not None and event.currency not in ("", rulebook.currency):
            raise self._fault(record, f"in {rulebook.currency} would be right")

    # ---- the coup so far ----

    @property
    def _known(self) -> Coup:
        assert self._coup is not None  # noqa: S101 - `take` lets nothing pass before the beginning
        return self._coup

    @property
    def _void(self) -> bool:
        return self._known.phase is Phase.VOIDED

    def _lying(self, event: CardDealt | CardCorrected | CardMarkedUnreadable) -> DealtCard | None:
        """Return the card at the place that an event names; None where none lies."""
        for each in self._known.cards:
            if each.hand is event.hand and each.number == event.number:
                return each
        return None

    def _hand(self, hand: Hand) -> tuple[Card, ...]:
        dealt = sorted(self._known.hand(hand), key=lambda each: each.number)
        return tuple(each.card for each in dealt if each.card is not None)

    def _outcome(self) -> Outcome | None:
        player, banker = self._hand(Hand.PLAYER), self._hand(Hand.BANKER)
        if min(len(player), len(banker)) < _INITIAL_CARDS:
            return None
        return judge_hands(player, banker)

    def _rulebook(self, record: EvidenceEvent) -> Rulebook | None:
        rulebook = self._rulebooks.get(self._known.rulebook_hash)
        if rulebook is None and self._lenient:
            return None
        if rulebook is None or rulebook.id != self._known.rulebook:
            told = f"{self._known.rulebook}, SHA-256 {self._known.rulebook_hash}, is not there"
            raise EvidenceFault("rulebook", f"the event at {record.position} is by {told}")
        return rulebook

    def _as_the_shoe_said(
        self, record: EvidenceEvent, card: Card | None, place: tuple[Hand, int]
    ) -> None:
        source = self._said.get(record.envelope.cause)
        if source is None or f"{source.journal}/{source.seq}" != record.envelope.cause:
            raise self._fault(record, "the shoe's report that it comes of is missing")
        if getattr(source.report, "face", None) is not card:
            raise self._fault(record, "the shoe reported another face")
        said = (getattr(source.report, "hand", None), getattr(source.report, "number", None))
        if said == place:
            return
        elsewhere = any(each not in (None, lies) for each, lies in zip(said, place, strict=True))
        if elsewhere and (said, place) != _DRAWN_IN_ERROR:
            raise self._fault(record, "the shoe reported it to another place")

    def _settlements(self, record: EvidenceEvent, said: Settlement) -> Iterator[_Settled]:
        """Yield the settlements that the record may hold here: one, or another with a void."""
        rulebook = self._rulebook(record)
        if self._void or record.envelope.cause in self._voiding:
            if rulebook is None:
                yield said, ()
            yield from self._with_a_void(rulebook, said.phase)
        if not self._void:
            yield self._by_the_cards(record, said)

    def _with_a_void(self, rulebook: Rulebook | None, phase: int) -> Iterator[_Settled]:
        """Yield what a phase of a void coup may come to: as its record says, or taken back."""
        gone = {refund.wager for refund in self._refunds}
        last = self._known.settlement(LAST_PHASE)
        gone |= {line.wager for line in last.lines} if last else set()
        coup = self._known if self._void else taken_by_first_phase(self._known)
        kept = by_id(wager for wager in coup.wagers.values() if wager.id not in gone)
        coup = replace(coup, wagers=kept)
        first = None if rulebook is None else first_phase_revision(self._table, coup, rulebook)
        if first is not None and phase == INITIAL_PHASE:
            yield first
        back = void_revision(self._table, self._known, phase)
        if back is not None:
            yield back, ()

    def _by_the_cards(self, record: EvidenceEvent, said: Settlement) -> _Settled:
        """Return the settlement of a coup that counts."""
        coup, rulebook = self._known, self._rulebook(record)
        player, banker = self._hand(Hand.PLAYER), self._hand(Hand.BANKER)
        before = coup.settlement(said.phase)
        paid_on_these = before and (before.player, before.banker) == (said.player, said.banker)
        if before and said.phase == INITIAL_PHASE and paid_on_these:
            player, banker = before.player, before.banker  # even where a face was distrusted since
        if said.phase not in {INITIAL_PHASE, LAST_PHASE}:
            raise self._unfit(record, f"there is no phase {said.phase}")
        if min(len(player), len(banker)) < _INITIAL_CARDS:
            raise self._unfit(record, "settles a coup whose cards are not known")
        outcome = phase_outcome(said.phase, player, banker)
        if said.phase == LAST_PHASE and not outcome.complete:
            raise self._unfit(record, "settles a deal that is not complete")
        lines, cuts = said.lines, tuple[CapApplied, ...]()
        if rulebook is not None:
            verdicts = self._verdicts.get(coup.rulebook_hash)
            if verdicts is None:
                verdicts = self._verdicts[coup.rulebook_hash] = Verdicts(rulebook)
            lines, cuts = settle_with_caps(
                rulebook, outcome, coup.wagers.values(), phase=said.phase, verdicts=verdicts
            )
            self._judged = said, coup.cards, coup.rulebook_hash, *coup.wagers.values()
        return next_settlement(self._table, coup, said.phase, outcome, lines), cuts

    def _differs(self, ours: Settlement, said: Settlement) -> str:
        names = [
            name for name in ours.__struct_fields__ if getattr(ours, name) != getattr(said, name)
        ]
        return f"has other {', '.join(names)} than its coup comes to"

    @staticmethod
    def _unfit(record: EvidenceEvent, reason: str) -> EvidenceFault:
        return EvidenceFault("settlement", f"the event at {record.position} {reason}")

    @staticmethod
    def _fault(record: EvidenceEvent, reason: str) -> EvidenceFault:
        return EvidenceFault(f"event at {record.position}", f"{record.event.TYPE}: {reason}")

    _CHECKS: ClassVar[Mapping[type[TableEvent], Callable[[Any, EvidenceEvent, Any], None]]] = {
        BettingOpened: _began,
        WagersPlaced: _placed,
        WagersWithdrawn: _withdrawn,
        WagersVoided: _wagers_voided,
        WagerCorrected: _wager_corrected,
        RulebookCorrected: _rulebook_corrected,
        CardDealt: _dealt,
        CardDisclosed: _disclosed,
        CardEntered: _in_order,
        CardCorrected: _face_corrected,
        CardMarkedUnreadable: _face_corrected,
        HandsCorrected: _hands_corrected,
        DealCompleted: _completed,
        CoupSettled: _settled,
        AggregateCapped: _capped,
        CoupVoided: _voided,
    }


def _stakes(wagers: Iterable[Wager]) -> tuple[Refund, ...]:
    return tuple(Refund(wager=each.id, seat=each.seat, stake=each.stake) for each in wagers)
