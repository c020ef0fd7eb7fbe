"""Commands that correct a coup: its cards, a wager or its rulebook, or that void the coup. Pure.

Before the settlement the coup is judged again with its cards as they are then. After it, one
transaction records the correction, reverses each settlement that is now wrong by its next revision,
and adjusts the commission. Nothing else of the table changes.

The same commands correct or take back the payments of a void coup's first phase. The other stakes
went back. If a coup was settled before it was void, `correct_hands` makes it count again.

The rules on the table's sign at the time of the stakes count, not the configured ones. Before the
settlement, the coup is judged by the right rulebook from then on: prepaid commission and a paid
first phase are adjusted at once, the rest at the settlement. A wager that the right rulebook does
not have is void when the coup is settled. A wager that breaks the right rulebook's limits stays,
and the breach is recorded (house rule 19).
"""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from events.cards import Card, Hand
from events.commands import (
    AcknowledgeCorrection,
    CorrectCard,
    CorrectHands,
    Correction,
    CorrectRulebook,
    CorrectWager,
    Refusal,
    VoidCoup,
    WagerRequest,
)
from events.errors import OurBug
from events.types import (
    CommissionPrepaid,
    CommissionReturned,
    CorrectionAcknowledged,
    CorrectionSigned,
    CoupSettled,
    CoupVoided,
    DealCompleted,
    HandsCorrected,
    IrregularityRecorded,
    RulebookCorrected,
    Settlement,
    TableEvent,
    Wager,
    WagerCorrected,
)
from table_core.decide.chips import signatures_refusal
from table_core.decide.coup_resolution import judge_cards, settle_first_phase
from table_core.decide.decision import DecisionBuilder, DecisionContext, Handlers, Hands, Offers
from table_core.fold.corrections import find_past_coup, find_whole_coup
from table_core.refusals import Decision, first_refusal, refuse
from table_core.rulebook_check.check import check_rulebook
from table_core.rules.commission_owed import (
    ByPayer,
    amount_changes,
    moved_commission,
    prepaid_changes,
    prepaid_commission,
    settlement_commission,
)
from table_core.rules.pay_scale import pay_scale
from table_core.rules.rulebook import INITIAL_PHASE, LAST_PHASE, Rulebook
from table_core.rules.settlement import CapApplied, Result, settle_with_caps
from table_core.rules.table_limits import apply_limits
from table_core.rules.wager_checks import MAX_SEAT, MIN_SEAT, below_minimum, check_wagers
from table_core.rules.wager_totals import WagerTotals, add_wagers, bounds_refusal
from table_core.state.corrected_coup import (
    TAKEN_BACK,
    first_phase_revision,
    hands_error,
    is_settled_so,
    known_faces,
    moved_money,
    next_settlement,
    phase_outcome,
    revised_settlements,
    taken_by_first_phase,
    void_coup_revisions,
    void_revision,
)
from table_core.state.coup import OVER, Phase, allows
from table_core.state.coup_projection import coup_after
from table_core.state.dealing import judge_deal
from table_core.state.shoe import ShoeState, audit_shoe, times_seen
from table_core.state.table import Coup, TableState

__all__ = [
    "HANDLERS",
    "OFFERS",
    "SettledCase",
    "acknowledge_correction",
    "correct_hands",
    "correct_past_card",
    "correct_rulebook",
    "correct_wager",
    "find_case",
    "find_coup_in_progress",
    "find_rulebook",
    "issue_revision",
    "settle_again",
    "sign_correction",
    "void_past_coup",
]

_TWO_CARDS: Final = 2
_MOST_CARDS: Final = 3  # of a hand
_MOST_TOLD: Final = 20  # breaches that are listed one by one
# House rule 19: a breach that is found late is recorded and the wager stays. Any other refusal
# means that the wager cannot have existed.
_BREACHES: Final = frozenset(
    {
        "not_a_step",
        "above_maximum",
        "below_minimum",
        "patron_maximum",
        "seat_maximum",
        "table_maximum",
        "differential",
        "opposite_sides",
        "too_many_options",
        "main_wager_required",
    }
)
_IMPOSSIBLE: Final = {
    "incomplete_coup": "by the draw table another card is due in these hands",
    "excess_card": "by the draw table these hands have a card that was not due",
}


class SettledCase(Struct, frozen=True):
    """A coup that is over, with the data needed to judge it again.

    Args:
        coup: with its corrections so far.
        shoe: the one it was dealt from; None where the coup continued from another shoe.
        rulebook: the one it was settled by.
    """

    coup: Coup
    shoe: ShoeState | None
    rulebook: Rulebook


def find_coup_in_progress(state: TableState, coup: str) -> Coup | None:
    """Return the coup in progress where it has this id; else None."""
    found = state.coup
    return found if found is not None and found.id == coup and state.in_progress else None


def find_case(
    state: TableState, name: str, reason: str, context: DecisionContext, *, void_too: bool = False
) -> SettledCase | Refusal:
    """Return a coup that is over by its id; else why nothing of it can be corrected.

    A coup that is void without any settlement cannot be: all its stakes went back. Nor can another
    void one whose first phase was taken back, unless `void_too`.
    """
    if not reason.strip():
        return refuse("reason_required", "say why")
    coup, shoe = find_whole_coup(state, name), state.shoe
    if coup is None and context.recalled is not None:
        then = context.recalled
        coup, shoe = find_whole_coup(then, name), then.shoe
        if coup is None and then.coup is not None and then.coup.id == name and then.phase in OVER:
            coup = then.coup
    if coup is None:
        return refuse("unknown_coup", f"no coup {name!r} was played to its end at this table")
    if not coup.settlements:
        return _is_void(coup)
    rulebook = find_rulebook(context, coup.rulebook_hash)
    if rulebook is None:
        text = f"coup {coup.id} was settled by {coup.rulebook} ({coup.rulebook_hash[:12]})"
        return refuse("unknown_rulebook", f"{text}, which is not at hand")
    if rulebook.currency != context.rulebook.currency:
        text = f"coup {coup.id} was paid in {rulebook.currency}, and the table's chips are now"
        back = f"play by a rulebook in {rulebook.currency} to correct it"
        return refuse("wrong_currency", f"{text} {context.rulebook.currency}; {back}")
    dealt_from = coup.id.rpartition("/")[0]
    dealt = shoe if shoe is not None and shoe.id == dealt_from else None
    case = SettledCase(coup, dealt, rulebook)
    return case if void_too else _still_paid(case)


def _is_void(coup: Coup) -> Refusal:
    return refuse("coup_void", f"coup {coup.id} is void ({coup.reason})")


def _still_paid(case: SettledCase, *, taken_back_too: bool = False) -> SettledCase | Refusal:
    """Return a case, unless its coup is void and nothing that it paid can be corrected.

    Args:
        case: the coup.
        taken_back_too: whether a first phase can be corrected that was taken back.
    """
    coup = case.coup
    if coup.phase is not Phase.VOIDED:
        return case
    first = coup.settlement(INITIAL_PHASE)
    if first is None or not (taken_back_too or _stands(case, first)):
        return _is_void(coup)
    return case


def _stands(case: SettledCase, first: Settlement) -> bool:
    """Return whether a void coup's first phase was not taken back, by policy or by a person."""
    void = bool(first.lines) and all(line.result == Result.VOID.value for line in first.lines)
    return _keeps_first_phase(case.rulebook) and not void


def _keeps_first_phase(rulebook: Rulebook) -> bool:
    return rulebook.procedure.void_after_phase_one == "keep"


def _corrected(coup: Coup, event: TableEvent) -> Coup:
    """Return a coup after its correction, a void one with the wagers of its first phase alone."""
    return coup_after(taken_by_first_phase(coup) if coup.phase is Phase.VOIDED else coup, event)


def find_rulebook(context: DecisionContext, its_hash: str) -> Rulebook | None:
    """Return the rulebook of this hash; None where the table does not have it."""
    books = (context.rulebook, *context.library)
    return next((each for each in books if each.hash == its_hash), None)


def settle_again(
    draft: DecisionBuilder,
    context: DecisionContext,
    coup: Coup,
    *,
    was: Rulebook,
    now: Rulebook,
    reason: str,
) -> None:
    """Reverse every settlement of a corrected coup that is now wrong, and settle again.

    Args:
        draft: the decision in progress.
        context: the table.
        coup: as corrected, with the settlements in force until now; a void one with the wagers of
            its first phase alone, which is all that is settled again.
        was: the rulebook it was settled by.
        now: the rulebook to settle it by.
        reason: the correction's.
    """
    revise = void_coup_revisions if coup.phase is Phase.VOIDED else revised_settlements
    revisions = tuple(revise(context.table, coup, now))
    moved = moved_commission((coup.settlement(each.phase), each) for each, _ in revisions)
    for settlement, cuts in revisions:
        issue_revision(draft, coup, settlement, cuts, was=was, now=now, reason=reason, moved=moved)


def issue_revision(
    draft: DecisionBuilder,
    coup: Coup,
    settlement: Settlement,
    cuts: tuple[CapApplied, ...],
    *,
    was: Rulebook,
    now: Rulebook,
    reason: str,
    moved: ByPayer = MappingProxyType({}),
) -> None:
    """Emit a revision, its commission events, and the aggregate maxima that reduced it."""
    facts = settlement_commission(
        was,
        now,
        draft.state.commission,
        settlement,
        reversed_=coup.settlement(settlement.phase),
        reason=reason,
        over=True,
        moved=moved,
    )
    draft.emit(CoupSettled(coup=coup.id, settlement=settlement))
    for fact in facts:
        draft.emit(fact)
    draft.emit_caps(settlement, cuts)


def sign_correction(
    state: TableState, command: Correction, context: DecisionContext, decision: Decision
) -> Decision:
    """Return a correction with its signatures on record, or why it needs them.

    It needs two where it moves as much money after a settlement as the table's configuration says.
    """
    if isinstance(decision, Refusal):
        return decision
    least, signed = context.sign_corrections_from, command.signed
    moved = 0 if least is None else _moved(state, decision, context)
    asked = least is not None and moved >= least
    missing = signatures_refusal(signed) if asked or signed else None
    if missing is not None:
        text = f"it moves {moved}, and from {least} on {missing.text}" if asked else missing.text
        return refuse(missing.code, text)
    coup = next((event.coup for event in decision if hasattr(event, "coup")), None)
    return (*decision, CorrectionSigned(coup=coup, signed=signed)) if coup and signed else decision


def _moved(state: TableState, decision: Sequence[TableEvent], context: DecisionContext) -> int:
    """Return the money that a correction moves: revisions, and payments after a coup's end."""
    settlements = [each.settlement for each in decision if isinstance(each, CoupSettled)]
    if not settlements:
        return 0
    coup = find_coup_in_progress(state, settlements[0].coup)
    if coup is None:
        case = find_case(state, settlements[0].coup, "revised", context, void_too=True)
        if isinstance(case, Refusal):
            raise OurBug(f"a correction settled a coup that cannot be corrected: {case.text}")
        coup = case.coup
    late = coup.settlement(LAST_PHASE) is not None
    return moved_money(
        (coup.settlement(each.phase), each) for each in settlements if each.reverses or late
    )


# ---- cards ----


def correct_hands(state: TableState, command: CorrectHands, context: DecisionContext) -> Decision:
    """Correct both hands, of the coup in progress or of a settled coup."""
    hands = (command.player, command.banker)
    coup = find_coup_in_progress(state, command.coup)
    if coup is not None:
        return _hands_in_progress(state, coup, hands, command.reason, context)
    case = find_case(state, command.coup, command.reason, context, void_too=True)
    if isinstance(case, Refusal):
        return case
    again = case.coup.phase is Phase.VOIDED and case.coup.settlement(LAST_PHASE) is not None
    if not again:
        found = _still_paid(case, taken_back_too=_keeps_first_phase(case.rulebook))
        if isinstance(found, Refusal):
            return found
    return _hands(state, case, hands, command, context, again=again)


def correct_past_card(
    state: TableState, command: CorrectCard, context: DecisionContext
) -> Decision:
    """Correct the face of one card of a coup that is over; the other cards stay."""
    case = find_case(state, command.coup or "", command.reason, context)
    if isinstance(case, Refusal):
        return case
    place = (command.hand, command.number)
    dealt = next((each for each in case.coup.cards if (each.hand, each.number) == place), None)
    if dealt is None:
        return refuse("no_such_card", f"no card lay at {command.hand.value} {command.number}")
    if dealt.card is command.face:
        return refuse("same_card", f"{dealt.hand.value} {dealt.number} is {command.face} already")
    if any(each.card is None and each is not dealt for each in case.coup.cards):
        text = f"another face of coup {case.coup.id} is not known; give both hands"
        return refuse("face_unknown", text)
    cards = {(each.hand, each.number): each.card for each in case.coup.cards}
    cards[place] = command.face
    player, banker = (
        tuple(card for (of, _), card in sorted(cards.items(), key=_number) if of is hand and card)
        for hand in (Hand.PLAYER, Hand.BANKER)
    )
    return _hands(state, case, (player, banker), command, context)


def _number(item: tuple[tuple[Hand, int], Card | None]) -> int:
    return item[0][1]


def _hands(
    state: TableState,
    case: SettledCase,
    hands: Hands,
    command: CorrectHands | CorrectCard,
    context: DecisionContext,
    *,
    again: bool = False,
) -> Decision:
    """Correct the hands of a coup that is over; one voided after its settlement may count again."""
    coup, was = case.coup, _faces(case.coup)
    void = coup.phase is Phase.VOIDED and not again
    error = _odd_hands(hands) if void else hands_error(*hands)
    refusal = first_refusal(
        (
            hands == was and not again and not _settles_otherwise(case, context),
            "changes_nothing",
            f"coup {coup.id} has these cards on record",
        ),
        (error is not None, error or "", _IMPOSSIBLE.get(error or "", "")),
    ) or _too_many(case.shoe, (*was[0], *was[1]), hands)
    if refusal:
        return refusal
    event = HandsCorrected(
        coup=coup.id,
        was_player=was[0],
        was_banker=was[1],
        player=hands[0],
        banker=hands[1],
        counts_again=again,
        reason=command.reason,
    )
    draft = DecisionBuilder(state)
    draft.emit(event)
    coup = coup_after(coup, event) if again else _corrected(coup, event)
    completed = None if void else judge_deal(coup)
    if isinstance(completed, DealCompleted):
        draft.emit(completed)
        coup = coup_after(coup, completed)
    settle_again(draft, context, coup, was=case.rulebook, now=case.rulebook, reason=command.reason)
    _audit_again(draft, coup)
    return draft.done


def _settles_otherwise(case: SettledCase, context: DecisionContext) -> bool:
    """Return whether the first phase of a void coup is not what the cards on record come to.

    It was taken back, or a build before 0.2.0 left it as it was paid on other cards.
    """
    coup = taken_by_first_phase(case.coup)
    void = coup.phase is Phase.VOIDED
    return void and first_phase_revision(context.table, coup, case.rulebook) is not None


def _odd_hands(hands: Hands) -> str | None:
    """Return why these cannot be the cards of a void coup, whose deal may have gone wrong."""
    if not any(hands):
        return "incomplete_coup"
    return "excess_card" if max(map(len, hands)) > _MOST_CARDS else None


def _hands_in_progress(
    state: TableState, coup: Coup, hands: Hands, reason: str, context: DecisionContext
) -> Decision:
    if not allows(state.phase, HandsCorrected.TYPE):
        return refuse("nothing_to_correct", f"not in phase {state.phase.value}")
    was, error = _faces(coup), hands_error(*hands)
    refusal = first_refusal(
        (not reason.strip(), "reason_required", "say why"),
        (
            any(dealt.card is None for dealt in coup.cards),
            "face_unknown",
            "a card lies there whose face is not known; have it disclosed or enter it first",
        ),
        (hands == was, "changes_nothing", "the coup has these cards on record"),
        (not any(hands), "incomplete_coup", "a coup whose cards are no cards is void"),
        (error == "excess_card", "excess_card", _IMPOSSIBLE["excess_card"]),
    ) or _too_many(state.shoe, _counted(state.shoe), hands)
    if refusal:
        return refusal
    draft = DecisionBuilder(state)
    draft.emit(
        HandsCorrected(
            coup=coup.id,
            was_player=was[0],
            was_banker=was[1],
            player=hands[0],
            banker=hands[1],
            reason=reason,
        )
    )
    judge_cards(draft, context)
    return draft.done


def _counted(shoe: ShoeState | None) -> tuple[Card, ...]:
    """Return the faces of the round in progress that the shoe reported, at their places or not."""
    told = (*shoe.told, shoe.extra) if shoe else ()
    return tuple(each.face for each in told if each is not None and each.face is not None)


def _too_many(shoe: ShoeState | None, before: Sequence[Card], now: Hands) -> Refusal | None:
    """Refuse more copies of a face than the shoe holds; `before` are counted already."""
    if shoe is None:
        return None
    after = (*now[0], *now[1])
    for face in dict.fromkeys(after):
        more = after.count(face) - before.count(face)
        if more > 0 and times_seen(shoe, face) + more > shoe.decks:
            return refuse(
                "too_many_copies", f"{face}: more than the {shoe.decks} copies of the shoe"
            )
    return None


def _faces(coup: Coup) -> Hands:
    return known_faces(coup, Hand.PLAYER), known_faces(coup, Hand.BANKER)


# ---- a void ----


def void_past_coup(state: TableState, command: VoidCoup, context: DecisionContext) -> Decision:
    """Void a settled coup: stakes go back, less what was paid for them.

    Of a coup that is void already, take back the first phase, which was paid before.
    """
    case = find_case(state, command.coup or "", command.reason, context)
    if isinstance(case, Refusal):
        return case
    coup, rulebook = case.coup, case.rulebook
    draft = DecisionBuilder(state)
    if coup.phase is Phase.VOIDED:
        first = void_revision(context.table, coup, INITIAL_PHASE)
        if first is None or not first.lines:
            return _is_void(coup)
        reason = command.reason
        draft.emit(IrregularityRecorded(coup=coup.id, kind=TAKEN_BACK, reason=reason))
        issue_revision(draft, coup, first, (), was=rulebook, now=rulebook, reason=reason)
        return draft.done
    draft.emit(CoupVoided(coup=coup.id, reason=command.reason, refunds=()))
    phases = [LAST_PHASE]
    if rulebook.procedure.void_after_phase_one == "reverse_all":
        phases.insert(0, INITIAL_PHASE)
    for phase in phases:
        settlement = void_revision(context.table, coup, phase)
        if settlement is not None and (settlement.lines or phase == LAST_PHASE):
            issue_revision(
                draft, coup, settlement, (), was=rulebook, now=rulebook, reason=command.reason
            )
    return draft.done


def _audit_again(draft: DecisionBuilder, coup: Coup) -> None:
    """Audit the shoe on the table again, if its audit counted other cards of this coup."""
    shoe = draft.state.shoe
    if shoe is None or not shoe.ended or find_past_coup(draft.state, coup.id) is None:
        return
    draft.emit(audit_shoe(shoe))


def correct_rulebook(
    state: TableState, command: CorrectRulebook, context: DecisionContext
) -> Decision:
    """Judge a coup, in progress or settled, by another rulebook that this build has."""
    coup = find_coup_in_progress(state, command.coup)
    if coup is not None:
        open_text = "wagers are taken by the rulebook that the coup began with: close betting first"
        refusal = first_refusal(
            (not command.reason.strip(), "reason_required", "say why")
        ) or _phase_refusal(state, RulebookCorrected.TYPE, open_text)
        return refusal or _judged_by_another(state, coup, command, context)
    found = find_case(state, command.coup, command.reason, context, void_too=True)
    case = found if isinstance(found, Refusal) else _still_paid(found, taken_back_too=True)
    if isinstance(case, Refusal):
        return case
    now = _asked_for(case.coup, case.rulebook, case.shoe, command, context)
    if isinstance(now, Refusal):
        return now
    event, draft = _rulebook_event(case.coup, now, command.reason), DecisionBuilder(state)
    draft.emit(event)
    _record_breaches(draft, case.coup, now)
    coup = _corrected(case.coup, event)
    settle_again(draft, context, coup, was=case.rulebook, now=now, reason=command.reason)
    return draft.done


def _phase_refusal(state: TableState, change: str, open_text: str) -> Refusal | None:
    """Return why a change of this type cannot come now; `open_text` says it of open betting."""
    return first_refusal(
        (state.phase is Phase.BETTING, "betting_open", open_text),
        (
            not allows(state.phase, change),
            "coup_misaligned",
            "realign the coup first; what is paid already could not be paid again",
        ),
    )


def _asked_for(
    coup: Coup,
    was: Rulebook,
    shoe: ShoeState | None,
    command: CorrectRulebook,
    context: DecisionContext,
) -> Rulebook | Refusal:
    """Return the rulebook that the command names, or why the coup cannot have been played by it."""
    now = find_rulebook(context, command.rulebook_hash)
    if now is None or now.id != command.rulebook:
        text = f"no rulebook {command.rulebook!r} of hash {command.rulebook_hash[:12]!r} is known"
        return refuse("unknown_rulebook", text)
    scale, was_scale = pay_scale(now), pay_scale(was)
    held = context.pay_scale or was_scale
    fault = next(iter(check_rulebook(now)), None) if now.hash != context.rulebook.hash else None
    refusal = first_refusal(
        (now.hash == was.hash, "changes_nothing", f"coup {coup.id} is judged by that rulebook"),
        (
            now.money != was.money,
            "wrong_currency",
            f"coup {coup.id} was staked in {was.money.said}, and {now.id} pays {now.money.said}",
        ),
        (
            shoe is not None and shoe.decks != now.decks,
            "wrong_decks",
            f"the shoe of coup {coup.id} has not the {now.decks} decks of {now.id}",
        ),
        (
            scale not in {None, was_scale} and held not in {None, scale},
            "wrong_pay_scale",
            f"{now.id} pays by scale {scale}; the property's, at every table, is {held}",
        ),
        (fault is not None, "rulebook_faulty", f"{now.id} has a fault: {fault}"),
    )
    return refusal or now


def _rulebook_event(coup: Coup, now: Rulebook, reason: str) -> RulebookCorrected:
    return RulebookCorrected(
        coup=coup.id,
        was=coup.rulebook,
        was_hash=coup.rulebook_hash,
        rulebook=now.id,
        rulebook_hash=now.hash,
        reason=reason,
    )


def _record_breaches(draft: DecisionBuilder, coup: Coup, now: Rulebook) -> None:
    """Record in one event every wager that the right rulebook would have refused."""
    wagers = tuple(coup.wagers.values())
    refusals = zip(wagers, check_wagers(now, (), wagers), strict=True)
    told = [_told(wager, no.text, now) for wager, no in refusals if no is not None]
    if told:
        more = len(told) - _MOST_TOLD
        rest = [f"and {more} more"] if more > 0 else []
        reason = "; ".join([*told[:_MOST_TOLD], *rest])
        draft.emit(IrregularityRecorded(coup=coup.id, kind="limit_breach", reason=reason))


def _told(wager: Wager, text: str, now: Rulebook) -> str:
    void = "" if wager.bet in now.bets else "; it is void"
    return f"wager {wager.id}: {text}{void}"


# ---- a rulebook, before the settlement ----


def _judged_by_another(
    state: TableState, coup: Coup, command: CorrectRulebook, context: DecisionContext
) -> Decision:
    was = context.rulebook_of(coup)
    now = _asked_for(coup, was, state.shoe, command, context)
    if isinstance(now, Refusal):
        return now
    draft = DecisionBuilder(state)
    draft.emit(_rulebook_event(coup, now, command.reason))
    _record_breaches(draft, coup, now)
    _first_phase_again(draft, context, was, now, command.reason)
    _lay_anew(draft, now)
    return draft.done


def _first_phase_again(
    draft: DecisionBuilder, context: DecisionContext, was: Rulebook, now: Rulebook, reason: str
) -> None:
    """Reverse a first phase that was paid, and pay it by the right rulebook.

    A first phase that only the right rulebook has is paid if the first four faces are known.
    """
    coup = draft.coup
    paid, hands = coup.settlement(INITIAL_PHASE), _first_four(coup)
    if hands is None:
        return
    outcome = phase_outcome(INITIAL_PHASE, *hands)
    lines, cuts = settle_with_caps(now, outcome, coup.wagers.values(), phase=INITIAL_PHASE)
    if (paid or lines) and not is_settled_so(coup, INITIAL_PHASE, outcome, lines):
        settlement = next_settlement(context.table, coup, INITIAL_PHASE, outcome, lines)
        issue_revision(draft, coup, settlement, cuts, was=was, now=now, reason=reason)


def _first_four(coup: Coup) -> Hands | None:
    """Return the faces that the first phase is paid on; None while they are not known."""
    paid = coup.settlement(INITIAL_PHASE)
    if paid is not None:
        return paid.player, paid.banker  # even where a face was distrusted since
    player, banker = (
        known_faces(coup, hand)[:_TWO_CARDS]
        if all(dealt.card for dealt in coup.hand(hand)[:_TWO_CARDS])
        else ()
        for hand in (Hand.PLAYER, Hand.BANKER)
    )
    return (player, banker) if len(player) == len(banker) == _TWO_CARDS else None


def _lay_anew(draft: DecisionBuilder, now: Rulebook) -> None:
    """Adjust the prepaid commission of unsettled wagers to the right rulebook."""
    coup = draft.coup
    open_ = [each for each in coup.wagers.values() if now.phase_of(each.bet) not in coup.settled]
    more, less = amount_changes(draft.state.commission.laid, prepaid_commission(now, open_))
    if more:
        draft.emit(CommissionPrepaid(coup=coup.id, currency=now.currency, amounts=more))
    if less:
        draft.emit(CommissionReturned(coup=coup.id, currency=now.currency, amounts=less))


def correct_wager(state: TableState, command: CorrectWager, context: DecisionContext) -> Decision:
    """Correct a wager once betting is closed."""
    coup = find_coup_in_progress(state, command.coup)
    if coup is None:
        return _wager_of_past_coup(state, command, context)
    open_text = "betting is open: place the wager, or withdraw it"
    refusal = _phase_refusal(state, WagerCorrected.TYPE, open_text) or first_refusal(
        (not command.reason.strip(), "reason_required", "say why")
    )
    made = refusal or _wager_event(coup, context.rulebook_of(coup), command, context)
    if isinstance(made, Refusal):
        return made
    return _wager_in_progress(state, coup, made, context)


def _wager_of_past_coup(
    state: TableState, command: CorrectWager, context: DecisionContext
) -> Decision:
    case = find_case(state, command.coup, command.reason, context)
    if isinstance(case, Refusal):
        return case
    event = _wager_event(case.coup, case.rulebook, command, context)
    if isinstance(event, Refusal):
        return event
    if case.coup.phase is Phase.VOIDED and not _of_first_phase(case, event):
        text = f"coup {case.coup.id} is void: all stakes went back but those of its first phase"
        return refuse("coup_void", text)
    draft = DecisionBuilder(state)
    draft.emit(event)
    _record_late_wager(draft, case.coup, event)
    _record_breach(draft, case.coup, case.rulebook, event)
    coup = _corrected(case.coup, event)
    settle_again(draft, context, coup, was=case.rulebook, now=case.rulebook, reason=command.reason)
    return draft.done


def _of_first_phase(case: SettledCase, event: WagerCorrected) -> bool:
    """Return whether a correction is about a wager of the first phase, before it and after it."""
    if event.wager is not None and case.rulebook.phase_of(event.wager.bet) != INITIAL_PHASE:
        return False
    return event.was is None or event.was.id in taken_by_first_phase(case.coup).wagers


def _wager_in_progress(
    state: TableState, coup: Coup, event: WagerCorrected, context: DecisionContext
) -> Decision:
    """Emit the correction; prepaid commission and a paid first phase are adjusted at once."""
    rulebook, draft = context.rulebook_of(coup), DecisionBuilder(state)
    draft.emit(event)
    _record_late_wager(draft, coup, event)
    _record_breach(draft, coup, apply_limits(rulebook, state.limits), event)
    before, after = coup.wagers.values(), draft.coup.wagers.values()
    more, less = prepaid_changes(rulebook, before, after)
    if more:
        draft.emit(CommissionPrepaid(coup=coup.id, currency=rulebook.currency, amounts=more))
    paid = coup.settlement(INITIAL_PHASE)
    if paid is not None:
        draft.settle(context, INITIAL_PHASE, hands=(paid.player, paid.banker))
    else:
        settle_first_phase(draft, context)
    if less:
        draft.emit(CommissionReturned(coup=coup.id, currency=rulebook.currency, amounts=less))
    return draft.done


def _wager_event(
    coup: Coup, rulebook: Rulebook, command: CorrectWager, context: DecisionContext
) -> WagerCorrected | Refusal:
    """Return the correction, or why there can be none."""
    was = coup.wagers.get(command.wager or "")
    if command.wager is not None and was is None:
        return refuse("unknown_wager", f"no wager {command.wager!r} stands in coup {coup.id}")
    if was is None and command.to is None:
        return refuse("changes_nothing", "neither a wager on record nor what it should be")
    wager = None
    if command.to is not None:
        name = was.id if was else f"{context.user}/{command.transaction}/0"
        wager = _wager(name, command.to, was.patron if was else None)
        if wager == was:
            return refuse("changes_nothing", f"wager {name} stands so on record")
        refusal = _never_a_wager(rulebook, _others(coup, was), wager)
        if refusal:
            return refusal
    return WagerCorrected(coup=coup.id, was=was, wager=wager, reason=command.reason)


def _wager(name: str, asked: WagerRequest, patron: str | None) -> Wager:
    return Wager(
        id=name,
        seat=asked.seat,
        bet=asked.bet,
        stake=asked.stake,
        patron=patron if asked.patron is None else asked.patron,
        kind=asked.kind,
    )


def _others(coup: Coup, was: Wager | None) -> tuple[Wager, ...]:
    """Return the wagers of a coup but for the one that is corrected."""
    return tuple(each for each in coup.wagers.values() if each != was)


def _never_a_wager(rulebook: Rulebook, others: Sequence[Wager], wager: Wager) -> Refusal | None:
    """Return why a wager cannot have existed; a broken limit is a breach, not a reason."""
    if not MIN_SEAT <= wager.seat <= MAX_SEAT:
        return refuse("invalid_seat", f"seat {wager.seat}; seats are {MIN_SEAT} to {MAX_SEAT}")
    if any(each.id == wager.id for each in others):
        return refuse("duplicate_wager", f"wager {wager.id!r} stands already")
    (refusal,) = check_wagers(rulebook, others, (wager,))
    if refusal is not None and refusal.code not in _BREACHES:
        return refusal
    if wager.stake % rulebook.unit:
        text = f"{wager.stake} is no multiple of the smallest chip, {rulebook.unit}"
        return refuse("not_a_step", text)
    return bounds_refusal(add_wagers(WagerTotals(), others), (wager,))


def _record_breach(
    draft: DecisionBuilder, coup: Coup, rulebook: Rulebook, event: WagerCorrected
) -> None:
    """Record a limit that the correction broke: all is paid or lost in full (house rule 19)."""
    others = _others(coup, event.was)
    breach, wager = None, event.wager or event.was
    if event.wager is not None:
        (breach,) = check_wagers(rulebook, others, (event.wager,))
    if breach is None and event.was is not None:
        left = add_wagers(WagerTotals(), filter(None, (*others, event.wager)))
        (breach,) = below_minimum(rulebook, (event.was,), left)
    if breach is not None and wager is not None:
        text = f"wager {wager.id}: {breach.text}"
        draft.emit(IrregularityRecorded(coup=coup.id, kind="limit_breach", reason=text))


def _record_late_wager(draft: DecisionBuilder, coup: Coup, event: WagerCorrected) -> None:
    """Record that a wager was added to a coup in which nobody could wager."""
    if coup.wagerless and event.was is None and event.wager is not None:
        text = f"wager {event.wager.id}: no wagers were taken in coup {coup.id}"
        draft.emit(IrregularityRecorded(coup=coup.id, kind="late_wager", reason=text))


def acknowledge_correction(
    state: TableState, command: AcknowledgeCorrection, _: DecisionContext
) -> Decision:
    """Record that the dealer has moved the chips that corrections of a coup asked for."""
    found = next((each for each in state.to_move if each.coup == command.coup), None)
    if found is None or not found.due:
        return refuse("no_chips_to_move", f"no correction of coup {command.coup} waits for chips")
    if found.settlements != command.settlements:
        text = f"coup {command.coup} was corrected again since: move the chips as it says now"
        return refuse("corrected_again", text)
    return (CorrectionAcknowledged(coup=found.coup, settlements=found.settlements),)


HANDLERS: Final[Handlers] = {
    AcknowledgeCorrection: acknowledge_correction,
    CorrectHands: correct_hands,
    CorrectWager: correct_wager,
    CorrectRulebook: correct_rulebook,
}
OFFERS: Final = Offers()
