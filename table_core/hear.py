"""What the shoe says, to events: `hear(state, shoe_event, context)`. Pure, and never refuses.

Every shoe event is recorded whole (`shoe_reported`) and then acted on. A card goes to the place
the draw table says; a card that belongs nowhere, and any break in continuity from the close of
betting on, makes the coup misaligned. Nothing is guessed, and no card is dropped.
"""

from collections.abc import Callable
from typing import Any, Final

from events.cards import Card, Hand, Winner
from events.shoe import (
    BurnCard,
    CardCarriedOver,
    CardDrawn,
    CardOutOfGame,
    CardRevealed,
    CardReversed,
    CardUnreadable,
    CopyConflict,
    CutCard,
    DeviceResult,
    LinkDown,
    LinkOpen,
    Report,
    ReportLost,
    RoundForcedEnd,
    ShoeBooted,
    ShoeEvent,
)
from events.table import (
    AlarmRaised,
    CardDealt,
    CardDisclosed,
    CoupMisaligned,
    DealCompleted,
    ResultConfirmed,
    ResultDisputed,
    ShoeReported,
    TableEvent,
)
from table_core.coup import Phase, allows
from table_core.dealing import FIRST_PLACE, Place, completion, contradiction, due_places
from table_core.draft import FIRST_PHASE, LAST_PHASE, Context, Draft
from table_core.shoe_life import burn_of_the_shoe, cut_card, place_of
from table_core.shoe_state import times_seen
from table_core.state import TableState

__all__ = ["hear"]

_INITIAL_CARDS: Final = 4
_BANKER_SIX: Final = 6
_SEALED_FIELDS: Final = frozenset({"face", "bodies", "raw"})


def hear(state: TableState, event: ShoeEvent, context: Context) -> tuple[TableEvent, ...]:
    """What the table makes of one shoe event; the first of the events records it whole."""
    draft = Draft(state)
    draft.emit(ShoeReported(source=event))
    _count(draft, event.report)
    _HEARERS.get(type(event.report), _nothing)(draft, event.report, context)
    return tuple(draft.events)


def _count(draft: Draft, report: Report) -> None:
    """A face that comes more often than the shoe can hold it holds the coup."""
    shoe, face = draft.state.shoe, getattr(report, "face", None)
    if shoe is None or face is None or times_seen(shoe, face) <= shoe.decks:
        return
    text = f"a face has come {shoe.decks + 1} times out of {shoe.decks} decks"
    _alarm(draft, "too_many_copies", text)
    _misalign(draft, "too_many_copies", text)


def _burn_card(draft: Draft, report: BurnCard, context: Context) -> None:
    """The burn is done when its countdown ends."""
    shoe = draft.state.shoe
    if shoe is None or report.left != 0 or shoe.burn_recorded:
        return
    recorded = burn_of_the_shoe(shoe, context.rulebook.procedure)
    draft.emit(recorded)
    if recorded.expected not in {None, recorded.burned}:
        text = f"shoe {shoe.id}: {recorded.burned} burned where {recorded.expected} were due"
        _alarm(draft, "burn_mismatch", text)


def _cut_card(draft: Draft, _: CutCard, context: Context) -> None:
    shoe = draft.state.shoe
    if shoe is None or shoe.ended or shoe.last_coup is not None:
        return
    place = place_of(draft.state.phase)
    draft.emit(cut_card(shoe, place, context.rulebook.procedure, by="shoe"))


def _nothing(_: Draft, __: Report, ___: Context) -> None:
    """The report is recorded; the coup goes on as it was."""


def _card_drawn(draft: Draft, report: CardDrawn, context: Context) -> None:
    if draft.state.phase is Phase.MISALIGNED:
        return
    place = Place(report.hand, report.number) if report.hand and report.number else None
    first = place is None or _same(place, FIRST_PLACE)
    if not _begin(draft, context, first=first, what=f"card drawn to {place}"):
        return
    places = due_places(draft.coup)
    fitting = places[:1] if place is None else [p for p in places if _same(p, place)]
    if not fitting:
        due = " or ".join(str(p) for p in places) or "no card"
        reason = "position_contradicts_draw_table" if places else "excess_card"
        _misalign(draft, reason, f"the shoe drew {place or 'a card'} where {due} was due")
        return
    _deal(draft, fitting[0], report.face)
    _judge(draft, context)


def _deal(draft: Draft, place: Place, face: Card | None) -> None:
    if not allows(draft.state.phase, CardDealt.TYPE):
        _misalign(draft, "excess_card", f"{place} came in phase {draft.state.phase.value}")
        return
    draft.emit(
        CardDealt(
            coup=draft.coup.id,
            hand=place.hand,
            number=place.number,
            card=face,
            rule=place.rule if face else None,
        )
    )


def _card_revealed(draft: Draft, report: CardRevealed, context: Context) -> None:
    if draft.state.phase is Phase.MISALIGNED:
        return
    place = Place(report.hand, report.number)
    if not _begin(draft, context, first=False, what=f"{place} disclosed"):
        return
    dealt = {(card.hand, card.number): card.card for card in draft.coup.cards}
    if (report.hand, report.number) not in dealt:
        _misalign(draft, "disclosure_contradicts", f"{place} was disclosed but never drawn")
        return
    known = dealt[report.hand, report.number]
    if known is report.face:
        return
    if known is not None:
        detail = f"{place} is {known} and was disclosed as {report.face}"
        _misalign(draft, "disclosure_contradicts", detail)
        return
    draft.emit(
        CardDisclosed(coup=draft.coup.id, hand=report.hand, number=report.number, card=report.face)
    )
    _judge(draft, context)


def _device_result(draft: Draft, report: DeviceResult, context: Context) -> None:
    phase = draft.state.phase
    if phase in {Phase.CLOSED, Phase.DEALING}:
        _misalign(
            draft, "result_too_early", f"the shoe says {report.winner} before the deal is complete"
        )
        return
    if phase is not Phase.COMPLETE:
        return
    coup = draft.coup
    if coup.completed is None:
        return
    differences = _differences(coup.completed, report)
    if differences:
        draft.emit(
            ResultDisputed(
                coup=coup.id,
                ours=coup.completed.winner,
                device=report.winner,
                detail="; ".join(differences),
            )
        )
        return
    draft.emit(ResultConfirmed(coup=coup.id, by="device"))
    draft.settle(context, LAST_PHASE)


def _differences(ours: DealCompleted, device: DeviceResult) -> list[str]:
    """Where the device's own result is another than ours.

    A device that does not tell a winning six apart reports plain Banker: that is no difference.
    A six that is none is one.
    """
    player_pair = ours.player[0].rank == ours.player[1].rank
    banker_pair = ours.banker[0].rank == ours.banker[1].rank
    our_six = ours.winner is Winner.BANKER and ours.banker_total == _BANKER_SIX
    compared: tuple[tuple[str, str | bool, str | bool], ...] = (
        ("winner", ours.winner.value, device.winner),
        ("Player pair", player_pair, device.player_pair),
        ("Banker pair", banker_pair, device.banker_pair),
        ("Banker with six", our_six and device.banker_six, device.banker_six),
    )
    return [
        f"{what}: the table says {_word(mine)}, the shoe {_word(its)}"
        for what, mine, its in compared
        if mine != its
    ]


def _word(value: str | bool) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value


def _break(draft: Draft, report: Report, _: Context) -> None:
    """Continuity broke: from the close of betting on, a card may be hidden in the break."""
    reason, detail = _BREAKS[type(report)]
    said = ", ".join(f"{key} {value}" for key, value in _fields(report))
    detail = f"{detail} ({said})" if said else detail
    if allows(draft.state.phase, CoupMisaligned.TYPE):
        _misalign(draft, reason, detail)
    elif draft.state.phase is Phase.BETTING:
        text = f"{detail} while betting was open"
        draft.emit(AlarmRaised(alarm=reason, text=text, coup=draft.coup.id))


def _begin(draft: Draft, context: Context, *, first: bool, what: str) -> bool:
    """Bring the table to a coup that can take this card; False when it can have none.

    A first card closes open betting, or begins a wagerless coup. Anything else, without a coup
    that expects it, is the rest of a void round or a break in continuity.
    """
    if not draft.state.in_progress:
        if draft.state.link.residue and not first:
            return False
        if draft.state.shoe is None or draft.state.shoe.ended:
            _alarm(draft, "card_without_shoe", f"{what}, but no shoe is in play")
            return False
        draft.open_coup(context, wagerless=True)
        _alarm(draft, "wagerless_coup", f"{what} without open betting", draft.coup.id)
    if draft.state.phase is Phase.BETTING:
        draft.close_betting(context, by="first_card")
        if not first:
            _misalign(draft, "first_card_missing", f"{what} before Player's first card")
    return draft.state.phase is not Phase.MISALIGNED


def _judge(draft: Draft, context: Context) -> None:
    """After a card or a disclosure: contradictions, the first settlement phase, completion."""
    if draft.state.phase is not Phase.DEALING:
        return
    wrong = contradiction(draft.coup)
    if wrong:
        _misalign(draft, "position_contradicts_draw_table", wrong)
        return
    _settle_first_phase(draft, context)
    completed = completion(draft.coup)
    if completed is None:
        return
    draft.emit(completed)
    if not context.result_required:
        draft.emit(ResultConfirmed(coup=draft.coup.id, by="last_card"))
        draft.settle(context, LAST_PHASE)


def _settle_first_phase(draft: Draft, context: Context) -> None:
    """Pair wagers are judged once the first four faces are known (seed 1, 11A.6)."""
    coup = draft.coup
    if FIRST_PHASE in coup.settled or len(coup.cards) < _INITIAL_CARDS:
        return
    if any(dealt.card is None for dealt in coup.cards[:_INITIAL_CARDS]):
        return
    if any(context.rulebook.phase_of(wager.bet) == FIRST_PHASE for wager in coup.wagers):
        draft.settle(context, FIRST_PHASE)


def _misalign(draft: Draft, reason: str, detail: str) -> None:
    if allows(draft.state.phase, CoupMisaligned.TYPE):
        draft.emit(CoupMisaligned(coup=draft.coup.id, reason=reason, detail=detail))


def _alarm(draft: Draft, name: str, text: str, coup: str | None = None) -> None:
    draft.emit(AlarmRaised(alarm=name, text=text, coup=coup))


def _same(one: Place, other: Place) -> bool:
    return (one.hand, one.number) == (other.hand, other.number)


def _fields(report: Report) -> list[tuple[str, object]]:
    """What may be said of a report: a face that the table has not seen stays out of every text."""
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
    CardUnreadable: ("unreadable_card", "a card could not be read"),
    CardOutOfGame: ("card_out_of_game", "a card left the shoe for no hand"),
    CardCarriedOver: ("card_carried_over", "the shoe carried a card over"),
    CardReversed: ("card_reversed", "a card moved backwards"),
    RoundForcedEnd: ("round_forced_end", "the round was ended at the shoe"),
}

_HEARERS: Final[dict[type[Report], Callable[[Draft, Any, Context], None]]] = {
    CardDrawn: _card_drawn,
    CardRevealed: _card_revealed,
    DeviceResult: _device_result,
    BurnCard: _burn_card,
    CutCard: _cut_card,
    **dict.fromkeys(_BREAKS, _break),
}
