"""Resolves a coup from its cards: contradictions, completion, result, settlement. Pure.

The shoe's reports and people's corrections both call this module. So the table judges a coup in the
same way, whether the shoe or a person named its cards.
"""

from typing import Final

from events.cards import Winner
from events.types import (
    AlarmRaised,
    CoupMisaligned,
    DealCompleted,
    DeviceResult,
    ExcessCardDrawn,
    ResultConfirmed,
    ResultDisputed,
)
from table_core.decide.decision import DecisionBuilder, DecisionContext
from table_core.rules.rulebook import INITIAL_PHASE, LAST_PHASE
from table_core.state.coup import Phase, allows
from table_core.state.dealing import INITIAL_CARDS, due_places, judge_deal
from table_core.state.table import TableState

__all__ = [
    "EXCESS_MISMATCH",
    "hold_for_excess",
    "judge_cards",
    "misalign",
    "raise_alarm",
    "raise_excess_alarm",
    "settle_ahead",
    "settle_first_phase",
    "settle_or_hold",
]

EXCESS_MISMATCH: Final = "excess_card_mismatch"
"""The alarm for an excess card that the shoe handled against the house's policy."""
_TWO_CARDS: Final = 2
_BANKER_SIX: Final = 6


def judge_cards(draft: DecisionBuilder, context: DecisionContext) -> None:
    """Judge the coup after a card or a correction: check it, complete it, conclude it."""
    coup = draft.coup
    if coup.phase is not Phase.DEALING:
        return
    if len(coup.cards) < INITIAL_CARDS and not coup.excess_open:
        return
    judged = judge_deal(coup)
    if isinstance(judged, str):
        misalign(draft, "position_contradicts_draw_table", judged)
        return
    settle_first_phase(draft, context)
    if judged is None:
        if coup.excess_open:
            _misalign_if_the_excess_was_due(draft)
        return
    draft.emit(judged)
    if coup.excess_open:
        hold_for_excess(draft)
        return
    settle_or_hold(draft, context)


def settle_or_hold(draft: DecisionBuilder, context: DecisionContext) -> None:
    """Settle a complete deal where the result may be paid; hold it where the shoe disagrees."""
    coup = draft.coup
    if coup.phase is not Phase.COMPLETE or coup.completed is None:
        return
    if not context.result_required:
        draft.emit(ResultConfirmed(coup=coup.id, by="last_card"))
        draft.settle(context, LAST_PHASE)
        return
    device = coup.device_result
    if device is None:
        return
    differences = _differences(coup.completed, device)
    if differences:
        draft.emit(
            ResultDisputed(
                coup=coup.id,
                ours=coup.completed.winner,
                device=device.winner,
                detail="; ".join(differences),
            )
        )
        return
    draft.emit(ResultConfirmed(coup=coup.id, by="device"))
    draft.settle(context, LAST_PHASE)


def settle_ahead(state: TableState, context: DecisionContext) -> None:
    """Settle a complete coup as if its result had come, and keep only what caches keep of it."""
    draft = DecisionBuilder(state)
    draft.emit(ResultConfirmed(coup=draft.coup.id, by="device"))
    draft.settle(context, LAST_PHASE)


def hold_for_excess(draft: DecisionBuilder) -> None:
    """Hold the coup for a card that was drawn when none was due, until a person has resolved it."""
    draft.emit(ExcessCardDrawn(coup=draft.coup.id))
    raise_excess_alarm(draft)


def raise_excess_alarm(draft: DecisionBuilder) -> None:
    """Raise the alarm of an excess card, with what is known of it now."""
    coup = draft.coup
    if coup.phase is Phase.HELD:
        then = "say whether the table has seen it"
    else:
        then = "put it aside; when the faces are known it is judged whether one was due"
    text = f"coup {coup.id}: a card was drawn outside the game; {then}"
    if coup.excess == "taken_out":
        text = f"{text} (the shoe has taken it out of play: it is burned)"
    raise_alarm(draft, "excess_card", text, coup.id)


def misalign(draft: DecisionBuilder, reason: str, detail: str) -> None:
    """Misalign the coup, where it is in a phase in which it can be."""
    if allows(draft.state.phase, CoupMisaligned.TYPE):
        draft.emit(CoupMisaligned(coup=draft.coup.id, reason=reason, detail=detail))


def raise_alarm(draft: DecisionBuilder, name: str, text: str, coup: str | None = None) -> None:
    """Raise an alarm: something needs a person."""
    draft.emit(AlarmRaised(alarm=name, text=text, coup=coup))


def _misalign_if_the_excess_was_due(draft: DecisionBuilder) -> None:
    """Misalign the coup where the card drawn outside the game was due to a hand."""
    coup = draft.coup
    places = due_places(coup)
    if places and all(dealt.card is not None for dealt in coup.cards):
        detail = f"a card was drawn outside the game where {places[0]} was due"
        misalign(draft, "excess_card_was_due", detail)


def settle_first_phase(draft: DecisionBuilder, context: DecisionContext) -> None:
    """Settle the pair wagers once the first four faces are known (seed 1, 11A.6)."""
    coup = draft.coup
    if len(coup.cards) < INITIAL_CARDS:
        return
    rulebook = context.rulebook_of(coup)
    asked = any(rulebook.phase_of(each.bet) == INITIAL_PHASE for each in coup.wagers.values())
    if not asked and coup.settlement(INITIAL_PHASE) is None:
        return
    known = [dealt.card is not None for dealt in coup.cards if dealt.number <= _TWO_CARDS]
    if len(known) >= INITIAL_CARDS and all(known):
        draft.settle(context, INITIAL_PHASE)


def _differences(ours: DealCompleted, device: DeviceResult) -> list[str]:
    """Return where the device's own result differs from ours.

    A device that does not report a winning six separately reports plain Banker: that is no
    difference. A reported six that is none is a difference.
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
