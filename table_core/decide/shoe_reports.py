"""Decides on shoe reports: state and shoe event to table events. Pure, and never refuses.

The table records every shoe event whole (`shoe_reported`), and then applies it. The draw table
gives a card its place. A card without a place makes the coup misaligned, and so does any break in
continuity after the close of betting. The table guesses nothing, and drops no card.
"""

from collections.abc import Callable
from typing import Any, Final, Literal

from events.cards import Card, Hand
from events.types import (
    AlarmRaised,
    BurnCard,
    CardCarriedOver,
    CardDealt,
    CardDisclosed,
    CardDrawn,
    CardOutOfGame,
    CardRevealed,
    CardReversed,
    CardUnread,
    CardUnreadable,
    CopyConflict,
    CoupMisaligned,
    CutCardReported,
    DeviceResult,
    ErrorRaised,
    ExcessCardDrawn,
    IrregularityRecorded,
    LinkDown,
    LinkOpen,
    Report,
    ReportLost,
    RoundForcedEnd,
    ShoeBooted,
    ShoeEvent,
    ShoeReported,
    TableEvent,
)
from table_core.decide.coup_resolution import (
    EXCESS_MISMATCH,
    hold_for_excess,
    judge_cards,
    misalign,
    raise_alarm,
    raise_excess_alarm,
    settle_or_hold,
)
from table_core.decide.decision import DecisionBuilder, DecisionContext
from table_core.state.coup import OVER, Phase, allows
from table_core.state.dealing import FIRST_PLACE, INITIAL_CARDS, CardPlace, due_places
from table_core.state.shoe import (
    ReportedCard,
    cut_card_event,
    cut_place_of,
    reported_burn,
    times_seen,
)
from table_core.state.shoe_of_card import (
    DRAWN_OUTSIDE,
    confirmed_entry,
    shoe_of_excess,
    shoe_of_report,
)
from table_core.state.table import Coup, TableState

__all__ = ["decide_on_report"]

_PLAYERS_THIRD: Final = CardPlace(Hand.PLAYER, 3)
_BANKERS_THIRD: Final = CardPlace(Hand.BANKER, 3)
_BEFORE_CARDS: Final = frozenset({*OVER, Phase.BETTING, Phase.CLOSED})
_EXPECT_CARDS: Final = frozenset({Phase.CLOSED, Phase.DEALING})
_REVERSE_RUNS: Final[dict[str, Literal["exit", "midway"]]] = {
    "reversed_at_exit": "exit",
    "reversed_midway": "midway",
}
_SEALED_FIELDS: Final = frozenset({"face", "bodies", "raw"})


def decide_on_report(
    state: TableState, event: ShoeEvent, context: DecisionContext
) -> tuple[TableEvent, ...]:
    """Decide on one shoe event; the first of the returned events records it whole."""
    draft, report = DecisionBuilder(state), event.report
    draft.emit(ShoeReported(source=event))
    if state.link.carried and not draft.state.link.carried:
        _awaited_card_taken_out(draft)
    too_many = _too_many_copies(draft, report)
    if too_many:
        _hold_for_copies(draft, context, too_many)
    entered = confirmed_entry(state, report)
    if entered is not None:
        _on_entry_confirmed(draft, entered, getattr(report, "face", None))
    else:
        _REPORT_HANDLERS.get(type(report), _nothing)(draft, report, context)
    if too_many:
        misalign(draft, "too_many_copies", too_many)  # the card itself may have begun the coup
    return draft.done


def _on_entry_confirmed(draft: DecisionBuilder, entered: ReportedCard, face: Card | None) -> None:
    """Misalign the coup where the shoe says another face than a person entered before."""
    if face not in {None, entered.face}:
        place = CardPlace(entered.hand or Hand.PLAYER, entered.number or 1)
        detail = f"{place} was entered as {entered.face} and was drawn as {face}"
        misalign(draft, "entry_contradicts", detail)


def _too_many_copies(draft: DecisionBuilder, report: Report) -> str | None:
    """Return the complaint about a face that comes more often than the shoe holds it; else None."""
    face = getattr(report, "face", None)
    if draft.state.shoe is None or face is None:
        return None
    shoe = shoe_of_report(draft.state, report)
    if times_seen(shoe, face) <= shoe.decks:
        return None
    return f"a face has come more often than {shoe.decks} decks hold it"


def _hold_for_copies(draft: DecisionBuilder, context: DecisionContext, text: str) -> None:
    """Misalign the coup with an alarm, before the card can complete anything."""
    raise_alarm(draft, "too_many_copies", text)
    if draft.state.phase is Phase.BETTING:
        draft.close_betting(context, by="break")
    misalign(draft, "too_many_copies", text)


def _burn_card(draft: DecisionBuilder, report: BurnCard, context: DecisionContext) -> None:
    """Record the burn when its countdown ends."""
    shoe = draft.state.shoe
    if shoe is None or report.left != 0 or shoe.burn_recorded:
        return
    recorded = reported_burn(shoe, context.rulebook.procedure)
    draft.emit(recorded)
    if recorded.expected not in {None, recorded.burned}:
        text = f"shoe {shoe.id}: {recorded.burned} burned where {recorded.expected} were due"
        raise_alarm(draft, "burn_mismatch", text)


def _cut_card(draft: DecisionBuilder, _: CutCardReported, context: DecisionContext) -> None:
    shoe = draft.state.shoe
    if shoe is None or shoe.ended or shoe.last_coup is not None:
        return
    place = cut_place_of(draft.state.phase)
    draft.emit(cut_card_event(shoe, place, context.rulebook.procedure, by="shoe"))


def _nothing(_: DecisionBuilder, __: Report, ___: DecisionContext) -> None:
    """Do nothing more: the report is recorded, and the coup goes on."""


def _card_drawn(draft: DecisionBuilder, report: CardDrawn, context: DecisionContext) -> None:
    place = CardPlace(report.hand, report.number) if report.hand and report.number else None
    if _carried_card_due(draft):
        _carried_card_missing(draft, context, f"card drawn to {place}")
    else:
        _take_card(draft, place, report.face, context)


def _carried_card_due(draft: DecisionBuilder) -> bool:
    return draft.state.link.carried and draft.state.phase in _BEFORE_CARDS


def _carried_card_missing(draft: DecisionBuilder, context: DecisionContext, what: str) -> None:
    """Misalign the coup: the shoe dealt a card although the carried-over card is due."""
    _begin(draft, context, first=True, what=what)
    text = "a card was drawn from the shoe where the carried-over card was due"
    misalign(draft, "carried_card_missing", text)


def _take_card(
    draft: DecisionBuilder, place: CardPlace | None, face: Card | None, context: DecisionContext
) -> None:
    """Place a card on the table, or misalign the coup where the card belongs nowhere."""
    if draft.state.phase not in _EXPECT_CARDS:
        first, hidden = place is None or _same(place, FIRST_PLACE), face is None
        if not _begin(draft, context, first=first, hidden=hidden, what=f"card drawn to {place}"):
            return
    coup = draft.coup
    if coup.excess_open and coup.phase in _EXPECT_CARDS:
        detail = f"a card was drawn outside the game, and behind it one to {place}"
        misalign(draft, "excess_card_was_due", detail)
        return
    fitting = _fitting(draft, coup, place)
    if fitting is None:
        _card_not_due(draft, place, context)
        return
    draft.emit(
        CardDealt(
            coup=coup.id,
            hand=fitting.hand,
            number=fitting.number,
            card=face,
            rule=fitting.rule if face else None,
        )
    )
    judge_cards(draft, context)


def _fitting(draft: DecisionBuilder, coup: Coup, place: CardPlace | None) -> CardPlace | None:
    """Return the due place that a card belongs to; None where it belongs nowhere.

    A card that the shoe gives to Player's third place while Banker's is due is Banker's third.
    """
    if not allows(coup.phase, CardDealt.TYPE):
        return None
    places = due_places(coup)
    if place is None:
        return places[0] if places else None
    for due in places:
        if _same(due, place):
            return due
    if (
        places
        and _same(place, _PLAYERS_THIRD)
        and _same(places[0], _BANKERS_THIRD)
        and all(dealt.card is not None for dealt in coup.cards)
    ):
        reason = "drawn for Player in error while Banker's third was due"
        draft.emit(IrregularityRecorded(coup=coup.id, kind="card_to_wrong_hand", reason=reason))
        return places[0]
    return None


def _card_not_due(
    draft: DecisionBuilder, place: CardPlace | None, context: DecisionContext
) -> None:
    if draft.state.phase is Phase.BETTING:
        draft.close_betting(context, by="break")
    phase = draft.state.phase
    if allows(phase, ExcessCardDrawn.TYPE) and place is not None and place.number > 1:
        hold_for_excess(draft)
        return
    due = due_places(draft.coup) if phase in _EXPECT_CARDS else ()
    where = " or ".join(str(p) for p in due) or "no card"
    reason = "position_contradicts_draw_table" if due else "excess_card"
    misalign(draft, reason, f"the shoe drew {place or 'a card'} where {where} was due")


def _card_revealed(draft: DecisionBuilder, report: CardRevealed, context: DecisionContext) -> None:
    place = CardPlace(report.hand, report.number)
    if not _begin(draft, context, first=False, what=f"{place} disclosed"):
        return
    dealt = {(card.hand, card.number): card.card for card in draft.coup.cards}
    if (report.hand, report.number) not in dealt:
        misalign(draft, "disclosure_contradicts", f"{place} was disclosed but never drawn")
        return
    known = dealt[report.hand, report.number]
    if known is report.face:
        return
    if known is not None:
        detail = f"{place} is {known} and was disclosed as {report.face}"
        misalign(draft, "disclosure_contradicts", detail)
        return
    draft.emit(
        CardDisclosed(coup=draft.coup.id, hand=report.hand, number=report.number, card=report.face)
    )
    judge_cards(draft, context)


def _device_result(draft: DecisionBuilder, report: DeviceResult, context: DecisionContext) -> None:
    """Compare the shoe's result, which the fold stored, with the cards; it may come too early."""
    phase = draft.state.phase
    if phase in _EXPECT_CARDS and not draft.coup.unread:
        detail = f"the shoe says {report.winner} before the deal is complete"
        misalign(draft, "result_too_early", detail)
    elif phase is Phase.COMPLETE:
        settle_or_hold(draft, context)


def _card_unreadable(
    draft: DecisionBuilder, report: CardUnreadable, context: DecisionContext
) -> None:
    """Place an unread card; the coup goes on by positions until a person enters the face."""
    place = CardPlace(report.hand, report.number) if report.hand and report.number else None
    first, what = place is None or _same(place, FIRST_PLACE), "a card that could not be read"
    if _carried_card_due(draft):
        _carried_card_missing(draft, context, what)
        return
    if not _begin(draft, context, first=first, what=what):
        return
    fitting = _fitting(draft, draft.coup, place)
    if fitting is None:
        misalign(draft, "unreadable_card", f"a card that could not be read came to {place}")
        return
    draft.emit(CardUnread(coup=draft.coup.id, hand=fitting.hand, number=fitting.number))
    text = f"coup {draft.coup.id}: the card at {fitting} could not be read; enter it"
    raise_alarm(draft, "unreadable_card", text, draft.coup.id)


def _card_out_of_game(
    draft: DecisionBuilder, report: CardOutOfGame, context: DecisionContext
) -> None:
    """Handle a card outside the game: the excess card, or the shoe's evidence of its end.

    Where a face is not known yet, nobody can tell whether the deal is complete. The fold keeps the
    card, and it is judged when all faces are known.
    """
    phase = draft.state.phase
    excess = draft.coup.excess if draft.state.coup else ""
    if report.reason != DRAWN_OUTSIDE:
        told = excess == "taken_out" and phase in {Phase.CLOSED, Phase.DEALING, Phase.HELD}
        if told:
            raise_excess_alarm(draft)
        elif not (excess and phase in {Phase.COMPLETE, Phase.DISPUTED, Phase.HELD}):
            _break(draft, report, context)
    elif phase is Phase.COMPLETE and excess == "drawn":
        hold_for_excess(draft)
    elif excess == "drawn" and _deal_may_be_complete(draft):
        if phase is Phase.BETTING:
            draft.close_betting(context, by="break")
        raise_excess_alarm(draft)
    else:
        _break(draft, report, context)


def _deal_may_be_complete(draft: DecisionBuilder) -> bool:
    """Return whether the first four cards lie there and some face is unknown."""
    if draft.state.phase not in {Phase.BETTING, Phase.CLOSED, Phase.DEALING}:
        return False
    dealt = draft.coup.cards
    return len(dealt) >= INITIAL_CARDS and any(card.card is None for card in dealt)


def _awaited_card_taken_out(draft: DecisionBuilder) -> None:
    """Note that the shoe burned a card to be carried over: no coup waits for it any more."""
    shoe = shoe_of_excess(draft.state).id
    text = f"the shoe {shoe} took out of play the excess card that was to be carried over"
    coup = draft.coup.id if draft.state.in_progress else None
    draft.emit(IrregularityRecorded(coup=coup, kind=EXCESS_MISMATCH, reason=text))
    raise_alarm(draft, EXCESS_MISMATCH, text, coup)


def _card_carried_over(
    draft: DecisionBuilder, report: CardCarriedOver, context: DecisionContext
) -> None:
    """Take the next coup's first card, if that was decided; else misalign the coup."""
    if draft.state.link.carried and draft.state.phase in _BEFORE_CARDS:
        _take_card(draft, CardPlace(report.hand, report.number), report.face, context)
    else:
        _break(draft, report, context)


def _break(draft: DecisionBuilder, report: Report, context: DecisionContext) -> None:
    """Handle a break in continuity: from the close of betting on, it may hide a card."""
    reason, detail = _BREAKS[type(report)]
    said = ", ".join(f"{key} {value}" for key, value in _fields(report))
    detail = f"{detail} ({said})" if said else detail
    if draft.state.phase is Phase.BETTING and draft.coup.cards:
        draft.close_betting(context, by="break")
    if allows(draft.state.phase, CoupMisaligned.TYPE):
        misalign(draft, reason, detail)
    elif draft.state.phase is Phase.BETTING:
        text = f"{detail} while betting was open"
        draft.emit(AlarmRaised(alarm=reason, text=text, coup=draft.coup.id))


def _error_raised(draft: DecisionBuilder, report: ErrorRaised, context: DecisionContext) -> None:
    """Handle a device error, which the fold stored: some devices report a reverse run so."""
    if report.code in _REVERSE_RUNS:
        _break(draft, CardReversed(place=_REVERSE_RUNS[report.code]), context)


def _begin(
    draft: DecisionBuilder,
    context: DecisionContext,
    *,
    first: bool,
    what: str,
    hidden: bool = False,
) -> bool:
    """Bring the table to a coup that can take this card; return False where it can have none.

    A first card closes open betting, or begins a wagerless coup. Any other card, without a coup
    that expects it, is the rest of a void round or a break in continuity. Where the house closes
    betting before the reveal, a hidden card leaves it open and the first face closes it.
    """
    if not draft.state.in_progress:
        if draft.state.link.residue and not first:
            return False
        if draft.state.shoe is None or draft.state.shoe.ended:
            raise_alarm(draft, "card_without_shoe", f"{what}, but no shoe is in play")
            return False
        draft.open_coup(context, wagerless=True)
        raise_alarm(draft, "wagerless_coup", f"{what} without open betting", draft.coup.id)
    if draft.state.phase is Phase.BETTING:
        lying = bool(draft.coup.cards)
        expected = first or lying
        if hidden and expected and context.rulebook.procedure.betting_closes == "before_reveal":
            return True
        draft.close_betting(context, by="reveal" if lying else "first_card")
        if not expected:
            misalign(draft, "first_card_missing", f"{what} before Player's first card")
    return draft.state.phase is not Phase.MISALIGNED


def _same(one: CardPlace, other: CardPlace) -> bool:
    return one.hand is other.hand and one.number == other.number


def _fields(report: Report) -> list[tuple[str, object]]:
    """Return the fields of a report that texts may show: no face that the table has not seen."""
    return [
        (name, value.value if isinstance(value, Hand) else value)
        for name in report.__struct_fields__
        if name not in _SEALED_FIELDS and (value := getattr(report, name)) is not None
    ]


_BREAKS: Final[dict[type[Report], tuple[str, str]]] = {
    LinkDown: ("link_lost", "the shoe link was lost"),
    LinkOpen: ("link_reopened", "the shoe link was opened again"),
    ShoeBooted: ("shoe_booted", "the shoe powered up"),
    ReportLost: ("report_lost", "a report of the shoe never arrived"),
    CopyConflict: ("copy_conflict", "two copies of one report differ"),
    CardOutOfGame: ("card_out_of_game", "a card left the shoe for no hand"),
    CardCarriedOver: ("card_carried_over", "the shoe carried a card over"),
    CardReversed: ("card_reversed", "a card moved backwards"),
    RoundForcedEnd: ("round_forced_end", "the round was ended at the shoe"),
}

_REPORT_HANDLERS: Final[
    dict[type[Report], Callable[[DecisionBuilder, Any, DecisionContext], None]]
] = {
    CardDrawn: _card_drawn,
    CardRevealed: _card_revealed,
    DeviceResult: _device_result,
    BurnCard: _burn_card,
    CutCardReported: _cut_card,
    **dict.fromkeys(_BREAKS, _break),
    ErrorRaised: _error_raised,
    CardUnreadable: _card_unreadable,
    CardOutOfGame: _card_out_of_game,
    CardCarriedOver: _card_carried_over,
}
