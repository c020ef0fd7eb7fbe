"""One decision in the making: what it may know, and the events it has collected so far."""

from msgspec import Struct
from msgspec.structs import replace

from events.cards import Card, Hand
from events.commission import CommissionPrepaid, CommissionReturned
from events.errors import OurBug
from events.table import (
    AlarmRaised,
    BettingClosed,
    BettingOpened,
    CoupSettled,
    CoupVoided,
    Refund,
    Settlement,
    SettlementLine,
    ShoeEnded,
    TableEvent,
    Wager,
)
from events.wagering import AggregateCapped, CappedWager, WagersVoided
from table_core.audit import audit_shoe
from table_core.commission import laid_for, settlement_facts
from table_core.fold import fold
from table_core.outcome import Outcome, judge
from table_core.placement import unsupported
from table_core.rulebook import INITIAL_PHASE, LAST_PHASE, Rulebook
from table_core.settlement import Capped, Result, settle_with_caps
from table_core.shoe_life import BURN_ALARM
from table_core.shoe_state import ShoeView
from table_core.state import Coup, TableState

__all__ = ["Context", "Draft"]


class Context(Struct, frozen=True, kw_only=True):
    """What a decision may know beside the state.

    Args:
        table: the table's id, first part of every settlement id.
        rulebook: the rulebook in force.
        user: who asks, empty where the shoe speaks; first part of every wager's id, because a
            transaction is one user's own.
        result_required: the wire profile brings the shoe's own result, and it is waited for.
        caught_up: everything the driver has numbered has been appended.
    """

    table: str
    rulebook: Rulebook
    user: str = ""
    result_required: bool = True
    caught_up: bool = True


class Draft:
    """Collects the events of one decision and folds them as it goes.

    It is mutable, and never leaves the decision that made it.
    """

    def __init__(self, state: TableState) -> None:
        self.state = state
        self.events: list[TableEvent] = []

    def emit(self, event: TableEvent) -> None:
        """Add `event`; the state moves on."""
        self.state = fold(self.state, event)
        self.events.append(event)

    @property
    def coup(self) -> Coup:
        """The coup of the state as drafted."""
        if self.state.coup is None:
            raise OurBug("a coup was asked for before the first coup")
        return self.state.coup

    @property
    def shoe(self) -> ShoeView:
        """The shoe of the state as drafted."""
        if self.state.shoe is None:
            raise OurBug("a shoe was asked for before the first shoe")
        return self.state.shoe

    def open_coup(self, context: Context, *, wagerless: bool = False) -> None:
        """Begin the next coup of the shoe on the table."""
        shoe = self.shoe
        self.emit(
            BettingOpened(
                coup=f"{shoe.id}/{shoe.coups + 1}",
                rulebook=context.rulebook.id,
                rulebook_hash=context.rulebook.hash,
                wagerless=wagerless,
            )
        )
        if not shoe.burn_recorded and context.rulebook.procedure.burn != "none":
            text = f"no burn of shoe {shoe.id} was reported; record what became of it"
            if all(alarm.name != BURN_ALARM for alarm in self.state.alarms):
                self.emit(AlarmRaised(alarm=BURN_ALARM, text=text))

    def settle(self, context: Context, phase: int) -> None:
        """Settle one phase of the coup by the rulebook it pinned, or settle it again."""
        coup, rulebook = self.coup, context.rulebook
        if coup.rulebook_hash != rulebook.hash:
            raise OurBug(f"coup {coup.id} pins rulebook {coup.rulebook_hash}, not {rulebook.hash}")
        outcome = judge(_faces(coup, Hand.PLAYER), _faces(coup, Hand.BANKER))
        lines, cuts = settle_with_caps(rulebook, outcome, coup.wagers, phase=phase)
        before = coup.settlement(phase)
        if before is not None and lines == before.lines:
            return  # a corrected face that changes nothing it pays
        settlement = self._issue(context, phase, outcome, lines)
        for cut in cuts:
            self.emit(_capped(settlement, cut))
        self._end_shoe_after_its_last_coup()

    def _issue(
        self, context: Context, phase: int, outcome: Outcome, lines: tuple[SettlementLine, ...]
    ) -> Settlement:
        """The settlement of a phase: its first, or the next revision, which takes the last back."""
        coup, before = self.coup, self.coup.settlement(phase)
        revision = before.revision + 1 if before else 1
        settlement = Settlement(
            settlement_id=f"{context.table}/{coup.id}/{phase}/{revision}",
            coup=coup.id,
            phase=phase,
            revision=revision,
            reverses=before.settlement_id if before else None,
            rulebook=coup.rulebook,
            rulebook_hash=coup.rulebook_hash,
            player=outcome.player,
            banker=outcome.banker,
            player_total=outcome.player_total,
            banker_total=outcome.banker_total,
            winner=outcome.winner if phase == LAST_PHASE else None,
            lines=lines,
            staked=sum(line.stake for line in lines if line.kind != "promo"),
            paid=sum(line.paid for line in lines),
            commission=sum(line.commission for line in lines),
        )
        self.emit(CoupSettled(coup=coup.id, settlement=settlement))
        book = self.state.commission
        for fact in settlement_facts(context.rulebook, book, settlement, reversed_=before):
            self.emit(fact)
        return settlement

    def _take_back_first_phase(self, context: Context) -> None:
        """A void that leaves nothing: the paid phase's stakes go back as well."""
        before = self.coup.settlement(INITIAL_PHASE)
        if before is None or context.rulebook.procedure.void_after_phase_one == "keep":
            return
        lines = tuple(
            replace(
                line,
                result=Result.VOID.value,
                category=Result.VOID.value,
                odds=None,
                winnings=0,
                commission=0,
                paid=0 if line.kind == "promo" else line.stake,
            )
            for line in before.lines
        )
        outcome = judge(before.player, before.banker)
        self._issue(context, INITIAL_PHASE, outcome, lines)

    def close_betting(self, context: Context, *, by: str) -> None:
        """No more wagers; what the rulebook takes in advance lies beside them now."""
        self._void_unsupported(context)
        coup = self.coup
        self.emit(BettingClosed(coup=coup.id, by=by))
        laid = laid_for(context.rulebook, coup.wagers)
        if laid:
            self.emit(CommissionPrepaid(coup=coup.id, amounts=laid))

    def _void_unsupported(self, context: Context) -> None:
        """A side bet without the wager it needs goes back, now that the set is whole."""
        coup = self.coup
        lacks = unsupported(context.rulebook, coup.wagers, coup.standing)
        needs = zip(coup.wagers, lacks, strict=True)
        lacking = [(wager, refusal) for wager, refusal in needs if refusal is not None]
        if lacking:
            refunds = tuple(_refund(wager) for wager, _ in lacking)
            code = lacking[0][1].code
            self.emit(WagersVoided(coup=coup.id, code=code, refunds=refunds))

    def void(self, context: Context, reason: str) -> None:
        """The coup does not count: stakes not yet settled go back, and what was laid."""
        self._take_back_first_phase(context)
        coup, rulebook = self.coup, context.rulebook
        refunds = tuple(
            _refund(wager)
            for wager in coup.wagers
            if rulebook.phase_of(wager.bet) not in coup.settled
        )
        self.emit(CoupVoided(coup=coup.id, reason=reason, refunds=refunds))
        laid = self.state.commission.laid
        if laid:
            self.emit(CommissionReturned(coup=coup.id, amounts=laid))
        self._end_shoe_after_its_last_coup()

    def end_shoe(self, reason: str) -> None:
        """No more coups come from the shoe; its audit goes with it."""
        shoe = self.shoe
        self.emit(ShoeEnded(shoe=shoe.id, reason=reason))
        earlier = [each for each in self.state.orders if each[0] != shoe.id]
        self.emit(audit_shoe(shoe, earlier))

    def _end_shoe_after_its_last_coup(self) -> None:
        shoe = self.shoe
        if shoe.last_coup is None or self.state.in_progress or shoe.coups < shoe.last_coup:
            return
        self.end_shoe("the cut card came, and the last coup has been played")


def _refund(wager: Wager) -> Refund:
    return Refund(wager=wager.id, seat=wager.seat, stake=wager.stake)


def _capped(settlement: Settlement, cut: Capped) -> AggregateCapped:
    return AggregateCapped(
        coup=settlement.coup,
        settlement_id=settlement.settlement_id,
        maximum=cut.cap.maximum,
        scope=cut.cap.scope,
        wagers=tuple(
            CappedWager(wager=wager, winnings=before, paid=after)
            for wager, before, after in cut.shares
        ),
    )


def _faces(coup: Coup, hand: Hand) -> tuple[Card, ...]:
    """A hand's faces; a settlement is only asked for when all of them are known."""
    return tuple(dealt.card for dealt in coup.hand(hand) if dealt.card is not None)
