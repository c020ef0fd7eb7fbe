"""A decision in progress: the context it may use, and the events it has collected. Pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from events.cards import Card, Hand
from events.commands import Command
from events.errors import OurBug
from events.types import (
    AlarmRaised,
    BettingClosed,
    BettingOpened,
    CommissionPrepaid,
    CommissionReturned,
    CoupSettled,
    CoupVoided,
    Refund,
    Settlement,
    ShoeEnded,
    TableEvent,
    Wager,
    WagersVoided,
)
from table_core.decide.shoe_doubts import hold_by_cards, question_order
from table_core.fold.dispatch import FoldedEvents, fold_at
from table_core.refusals import Decision
from table_core.rules.commission_owed import prepaid_commission, settlement_commission
from table_core.rules.pay_scale import pay_scale
from table_core.rules.rulebook import LAST_PHASE, Rulebook
from table_core.rules.settlement import CapApplied, KeptSettlement
from table_core.rules.table_limits import apply_limits
from table_core.rules.wager_checks import (
    any_needs_main,
    below_minimum,
    unsupported_side_bets,
)
from table_core.state.corrected_coup import (
    capped_event,
    first_phase_revision,
    is_settled_so,
    known_faces,
    next_settlement,
    phase_outcome,
    taken_by_first_phase,
)
from table_core.state.dealing import outcome_of
from table_core.state.shoe import BURN_ALARM, ShoeState, audit_shoe
from table_core.state.table import Coup, TableState

__all__ = ["ANY", "DecisionBuilder", "DecisionContext", "Handlers", "Hands", "Offers"]

Hands = tuple[tuple[Card, ...], tuple[Card, ...]]
"""The faces of Player and of Banker."""


class DecisionContext(Struct, frozen=True, kw_only=True):
    """The input of a decision besides the state.

    Args:
        table: the table's id, first part of every settlement id.
        rulebook: the rulebook in force.
        user: the user who asks, empty for a shoe report; first part of every wager's id,
            because each user numbers transactions independently.
        result_required: whether the table waits for the shoe's own result.
        caught_up: whether the table has appended every event that the driver has numbered.
        library: other rulebooks by which a coup can be judged after a correction.
        recalled: the state at the end of an earlier shoe, for a command about a coup of that shoe.
        fault: the fault of a log that cannot be trusted, in one line; None where it has none.
        property_scale: the property's pay scale; None where nobody has said one.
        dealers: the accounts that may deal; None where a dealer is any reference.
        sign_corrections_from: a correction that moves as much, minor units, needs two signatures;
            None asks for none.
        kept: what the rulebook in force said of the coup before; None settles each anew.
    """

    table: str
    rulebook: Rulebook
    user: str = ""
    result_required: bool = True
    caught_up: bool = True
    library: tuple[Rulebook, ...] = ()
    recalled: TableState | None = None
    fault: str | None = None
    property_scale: str | None = None
    dealers: frozenset[str] | None = None
    sign_corrections_from: int | None = None
    kept: KeptSettlement | None = None

    @property
    def pay_scale(self) -> str | None:
        """The pay scale that holds here: the property's, or else that of the rulebook in force."""
        return self.property_scale or pay_scale(self.rulebook)

    def rulebook_of(self, coup: Coup) -> Rulebook:
        """Return the rulebook that a coup pins: the one in force, unless that was corrected.

        Raises:
            OurBug: the table does not have it; the service should not have started.
        """
        if self.rulebook.hash == coup.rulebook_hash:
            return self.rulebook
        for book in self.library:
            if book.hash == coup.rulebook_hash:
                return book
        raise OurBug(f"coup {coup.id} pins rulebook {coup.rulebook_hash}, which is not at hand")


Handlers = Mapping[type[Command], Callable[[TableState, Any, DecisionContext], Decision]]
"""A subject's commands, each with the function that decides it."""

ANY: Final = "?"
"""A text of a command that nobody has given."""


class Offers(Struct, frozen=True):
    """What of a subject `table_core.decide.available_commands` asks, for consoles.

    Args:
        bare: commands without their details. None of them can be complete: nothing is folded or
            judged for the answer.
        details: codes of refusals that a whole command would not meet.
    """

    bare: tuple[Command, ...] = ()
    details: frozenset[str] = frozenset()


class DecisionBuilder:
    """Collects the events of one decision and folds each of them at once.

    It is mutable, and never leaves the decision that made it.
    """

    __slots__ = ("_before", "events", "state")

    def __init__(self, state: TableState) -> None:
        self.state = state
        self.events: list[TableEvent] = []
        self._before = state

    def emit(self, event: TableEvent) -> None:
        """Add `event` and fold it; the state's position rises once the decision is done."""
        events = self.events
        events.append(event)
        self.state = fold_at(self.state, event, self._before.position + len(events))

    @property
    def done(self) -> FoldedEvents:
        """All events of the decision, with the state after them."""
        made = FoldedEvents(self.events)
        made.before = self._before
        made.after = replace(self.state, position=made.before.position + len(made))
        return made

    @property
    def coup(self) -> Coup:
        """The coup after the events so far."""
        if self.state.coup is None:
            raise OurBug("a coup was asked for before the first coup")
        return self.state.coup

    @property
    def shoe(self) -> ShoeState:
        """The shoe after the events so far."""
        if self.state.shoe is None:
            raise OurBug("a shoe was asked for before the first shoe")
        return self.state.shoe

    def open_coup(self, context: DecisionContext, *, wagerless: bool = False) -> None:
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
        if shoe.burn_recorded or context.rulebook.procedure.burn == "none":
            return
        if all(alarm.name != BURN_ALARM for alarm in self.state.alarms):
            text = f"no burn of shoe {shoe.id} was reported; record what became of it"
            self.emit(AlarmRaised(alarm=BURN_ALARM, text=text))

    def settle(self, context: DecisionContext, phase: int, *, hands: Hands | None = None) -> None:
        """Settle one phase of the coup by the rulebook it pinned, or settle it again.

        A settlement equal to the one in force is not emitted again.

        Args:
            context: the table and its rulebook.
            phase: the settlement phase.
            hands: the faces to settle on; None for those that are known now.
        """
        coup = self.coup
        rulebook = context.rulebook_of(coup)
        if hands is None and phase == LAST_PHASE and coup.completed is not None:
            outcome = outcome_of(coup.completed)
        else:
            known = known_faces(coup, Hand.PLAYER), known_faces(coup, Hand.BANKER)
            outcome = phase_outcome(phase, *(hands or known))
        kept = context.kept
        if kept is None or kept.rulebook is not rulebook:
            kept = KeptSettlement(rulebook)
        lines, cuts = kept.settle(outcome, coup.wagers, phase)
        if is_settled_so(coup, phase, outcome, lines):
            return
        settlement = next_settlement(context.table, coup, phase, outcome, lines)
        self._issue(context, settlement)
        self.emit_caps(settlement, cuts)
        self._end_shoe_after_its_last_coup()

    def emit_caps(self, settlement: Settlement, cuts: Sequence[CapApplied]) -> None:
        """Emit which aggregate maxima reduced which winnings of a settlement."""
        for cut in cuts:
            self.emit(capped_event(settlement, cut))

    def _issue(self, context: DecisionContext, settlement: Settlement, *, reason: str = "") -> None:
        before, rulebook = self.coup.settlement(settlement.phase), context.rulebook_of(self.coup)
        self.emit(CoupSettled(coup=settlement.coup, settlement=settlement))
        book = self.state.commission
        facts = settlement_commission(
            rulebook, rulebook, book, settlement, reversed_=before, reason=reason
        )
        for fact in facts:
            self.emit(fact)

    def _revise_first_phase(self, context: DecisionContext, reason: str) -> None:
        """Settle a paid first phase as the cards on record say now, or take it back by policy."""
        coup, rulebook = taken_by_first_phase(self.coup), context.rulebook_of(self.coup)
        revision = first_phase_revision(context.table, coup, rulebook)
        if revision is not None:
            self._issue(context, revision[0], reason=reason)
            self.emit_caps(*revision)

    def close_betting(self, context: DecisionContext, *, by: str) -> None:
        """Close betting, and take in advance the commission that the rulebook prepays."""
        self._void_unsupported(context)
        coup = self.coup
        self.emit(BettingClosed(coup=coup.id, by=by))
        laid = prepaid_commission(context.rulebook, coup.wagers.values())
        if laid:
            self.emit(
                CommissionPrepaid(coup=coup.id, currency=context.rulebook.currency, amounts=laid)
            )

    def _void_unsupported(self, context: DecisionContext) -> None:
        """Return each side bet without the wager it needs; the set of wagers is complete now.

        What that leaves below the minimum of its bet goes back as well.
        """
        coup, rulebook = self.coup, apply_limits(context.rulebook, self.state.limits)
        wagers = coup.wagers.values()
        if not any_needs_main(rulebook, wagers):
            return
        lacks = unsupported_side_bets(rulebook, wagers, coup.standing)
        lacking = [wager for wager, lack in zip(wagers, lacks, strict=True) if lack is not None]
        if not lacking:
            return
        self._void_wagers("main_wager_required", lacking)
        coup, bets = self.coup, {wager.bet for wager in lacking}
        left = [wager for wager in coup.wagers.values() if wager.bet in bets]
        below = zip(left, below_minimum(rulebook, left, coup.standing), strict=True)
        if too_little := [wager for wager, refusal in below if refusal is not None]:
            self._void_wagers("below_minimum", too_little)

    def _void_wagers(self, code: str, wagers: Sequence[Wager]) -> None:
        refunds = tuple(_refund(wager) for wager in wagers)
        self.emit(WagersVoided(coup=self.coup.id, code=code, refunds=refunds))

    def void(self, context: DecisionContext, reason: str) -> None:
        """Void the coup: unsettled stakes and prepaid commission go back."""
        self._revise_first_phase(context, reason)
        coup, rulebook = self.coup, context.rulebook_of(self.coup)
        refunds = tuple(
            _refund(wager)
            for wager in coup.wagers.values()
            if rulebook.phase_of(wager.bet) not in coup.settled
        )
        self.emit(CoupVoided(coup=coup.id, reason=reason, refunds=refunds))
        laid = self.state.commission.laid
        if laid:
            self.emit(CommissionReturned(coup=coup.id, currency=rulebook.currency, amounts=laid))
        self._end_shoe_after_its_last_coup()

    def end_shoe(self, reason: str, *, audited: bool = True) -> None:
        """End the shoe, with its audit unless that waits for the shoe's last coup."""
        shoe = self.shoe
        for event in question_order(self.state, at_end=True):
            self.emit(event)
        self.emit(ShoeEnded(shoe=shoe.id, reason=reason))
        if audited:
            self._audit(shoe)

    def _audit(self, shoe: ShoeState) -> None:
        audit = audit_shoe(shoe)
        self.emit(audit)
        for event in hold_by_cards(audit):
            self.emit(event)

    def _end_shoe_after_its_last_coup(self) -> None:
        if self.state.in_progress:
            return
        for event in question_order(self.state, at_end=False):
            self.emit(event)
        for replaced in self.state.replaced:
            if not replaced.audited:
                self._audit(replaced)
        shoe = self.shoe
        if shoe.last_coup is None or shoe.coups < shoe.last_coup:
            return
        self.end_shoe("the cut card came, and the last coup has been played")


def _refund(wager: Wager) -> Refund:
    return Refund(wager=wager.id, seat=wager.seat, stake=wager.stake)
