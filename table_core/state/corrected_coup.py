"""A corrected coup: its record with the correction, and the settlements that follow from it. Pure.

It treats a coup of a minute ago and one of last week alike. The input is the coup as the log has
it, and the result is compared only with the settlements in force.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from msgspec.structs import replace

from events.cards import Card, Hand
from events.types.corrections import HandsCorrected, RulebookCorrected, WagerCorrected
from events.types.table import (
    CoupSettled,
    CoupVoided,
    DealCompleted,
    SeatDifference,
    Settlement,
    SettlementLine,
    TableEvent,
    Wager,
)
from table_core.rules.draw import DealError, Outcome, hand_due, judge_hands
from table_core.rules.rulebook import INITIAL_PHASE, LAST_PHASE, Rulebook
from table_core.rules.settlement import CapApplied, Result, settle_with_caps
from table_core.state.coup import Phase
from table_core.state.dealing import due_places
from table_core.state.table import Coup, DealtCard

__all__ = [
    "fold_correction",
    "hands_error",
    "in_dealing_order",
    "known_faces",
    "next_settlement",
    "phase_outcome",
    "revised_settlements",
    "same_settlement",
    "void_revision",
    "with_hands",
    "with_wager",
]

_TWO_CARDS: Final = 2


# ---- the coup's record ----


def known_faces(coup: Coup, hand: Hand) -> tuple[Card, ...]:
    """Return the known faces of a hand, in dealing order."""
    return tuple(dealt.card for dealt in coup.hand(hand) if dealt.card is not None)


def hands_error(player: Sequence[Card], banker: Sequence[Card]) -> DealError | None:
    """Return the error of two hands by the draw table: a card is due, or was not; else None."""
    left = {Hand.PLAYER: list(player), Hand.BANKER: list(banker)}
    dealt: dict[Hand, list[Card]] = {Hand.PLAYER: [], Hand.BANKER: []}
    while (hand := hand_due(dealt[Hand.PLAYER], dealt[Hand.BANKER])[0]) is not None and left[hand]:
        dealt[hand].append(left[hand].pop(0))
    if any(left.values()):
        return "excess_card"
    return None if hand is None else "incomplete_coup"


def in_dealing_order(player: Sequence[Card], banker: Sequence[Card]) -> list[Card]:
    """Return two hands as one row: Player and Banker by turns, and Player's third first."""
    initial = [
        card
        for number in range(_TWO_CARDS)
        for hand in (player, banker)
        for card in hand[number : number + 1]
    ]
    return [*initial, *player[_TWO_CARDS:], *banker[_TWO_CARDS:]]


def with_hands(coup: Coup, player: Sequence[Card], banker: Sequence[Card]) -> Coup:
    """Return the coup with these cards; a card at its old place keeps its source."""
    was = {(dealt.hand, dealt.number): dealt for dealt in coup.cards}
    left = {Hand.PLAYER: list(player), Hand.BANKER: list(banker)}
    made = replace(coup, cards=(), completed=None)
    while any(left.values()):
        place = next(place for place in due_places(made) if left[place.hand])
        card = left[place.hand].pop(0)
        before = was.get((place.hand, place.number))
        source = before.source if before is not None and before.card is card else "manual"
        dealt = DealtCard(place.hand, place.number, card, place.rule, source)
        made = replace(made, cards=(*made.cards, dealt))
    return made


def with_wager(coup: Coup, was: Wager | None, wager: Wager | None) -> Coup:
    """Return the coup with a wager replaced, added at the end, or taken out."""
    if was is None:
        return replace(coup, wagers=(*coup.wagers, *((wager,) if wager else ())))
    wagers = (wager if each.id == was.id else each for each in coup.wagers)
    return replace(coup, wagers=tuple(each for each in wagers if each is not None))


def fold_correction(coup: Coup, event: TableEvent) -> Coup:
    """Return a coup that is over after one of the events of its correction."""
    change = _CHANGES.get(type(event))
    return change(coup, event) if change else coup


def _with_settlement(coup: Coup, event: CoupSettled) -> Coup:
    settlement = event.settlement
    others = (each for each in coup.settlements if each.phase != settlement.phase)
    return replace(coup, settlements=(*others, settlement))


_CHANGES: Final[dict[type[TableEvent], Callable[[Coup, Any], Coup]]] = {
    HandsCorrected: lambda coup, event: replace(
        with_hands(coup, event.player, event.banker), phase=Phase.SETTLED, reason=""
    ),
    DealCompleted: lambda coup, event: replace(coup, completed=event),
    WagerCorrected: lambda coup, event: with_wager(coup, event.was, event.wager),
    RulebookCorrected: lambda coup, event: replace(
        coup, rulebook=event.rulebook, rulebook_hash=event.rulebook_hash
    ),
    CoupSettled: _with_settlement,
    CoupVoided: lambda coup, event: replace(coup, phase=Phase.VOIDED, reason=event.reason),
}


# ---- its settlements ----


def phase_outcome(phase: int, player: Sequence[Card], banker: Sequence[Card]) -> Outcome:
    """Return a phase's outcome; the first phase uses the initial deal alone (seed 1, 11A.6)."""
    if phase == INITIAL_PHASE:
        return judge_hands(player[:_TWO_CARDS], banker[:_TWO_CARDS])
    return judge_hands(player, banker)


def next_settlement(
    table: str, coup: Coup, phase: int, outcome: Outcome, lines: tuple[SettlementLine, ...]
) -> Settlement:
    """Return a phase's first settlement, or its next revision, which reverses the last one."""
    before = coup.settlement(phase)
    revision = before.revision + 1 if before else 1
    return Settlement(
        settlement_id=f"{table}/{coup.id}/{phase}/{revision}",
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
        staked=sum(_chips(line) for line in lines),
        paid=sum(line.paid for line in lines),
        commission=sum(line.commission for line in lines),
        difference=_differences(before.lines, lines) if before else (),
    )


def same_settlement(before: Settlement | None, after: Settlement) -> bool:
    """Return whether a settlement is the same as the one in force."""
    return before is not None and _said(before) == _said(after)


def revised_settlements(
    table: str, coup: Coup, rulebook: Rulebook
) -> Iterator[tuple[Settlement, tuple[CapApplied, ...]]]:
    """Yield the new settlements of a corrected coup: one for each in force that is now wrong.

    Where a wager moves to another phase, it leaves the old phase before it enters the new one.

    Args:
        table: the table's id.
        coup: as corrected, with the settlements in force until now.
        rulebook: the one that the coup pins now.
    """
    player, banker = known_faces(coup, Hand.PLAYER), known_faces(coup, Hand.BANKER)
    last = coup.settlement(LAST_PHASE)
    moved = {line.wager for line in last.lines} if last else set()
    first = (wager for wager in coup.wagers if rulebook.phase_of(wager.bet) == INITIAL_PHASE)
    to_first = any(wager.id in moved for wager in first)
    for phase in (LAST_PHASE, INITIAL_PHASE) if to_first else (INITIAL_PHASE, LAST_PHASE):
        outcome = phase_outcome(phase, player, banker)
        lines, cuts = settle_with_caps(rulebook, outcome, coup.wagers, phase=phase)
        before = coup.settlement(phase)
        if before is None and not lines and phase == INITIAL_PHASE:
            continue
        settlement = next_settlement(table, coup, phase, outcome, lines)
        if before is None:
            settlement = replace(settlement, difference=_differences((), lines))
        if not same_settlement(before, settlement):
            yield settlement, cuts


def void_revision(table: str, coup: Coup, phase: int) -> Settlement | None:
    """Return the revision that returns every stake of a settled phase; None where there is none."""
    before = coup.settlement(phase)
    if before is None:
        return None
    lines = tuple(
        replace(
            line,
            result=Result.VOID.value,
            category=Result.VOID.value,
            odds=None,
            winnings=0,
            commission=0,
            paid=_chips(line),
        )
        for line in before.lines
    )
    outcome = phase_outcome(phase, before.player, before.banker)
    return next_settlement(table, coup, phase, outcome, lines)


def _differences(
    before: Sequence[SettlementLine], after: Sequence[SettlementLine]
) -> tuple[SeatDifference, ...]:
    """Return, by seat, the sum of the lines after less those before; no seat without change."""
    seats: dict[int, list[int]] = {}
    for sign, lines in ((-1, before), (1, after)):
        for line in lines:
            sums = seats.setdefault(line.seat, [0, 0, 0])
            for index, amount in enumerate((_chips(line), line.paid, line.commission)):
                sums[index] += sign * amount
    return tuple(
        SeatDifference(seat=seat, staked=staked, paid=paid, commission=commission)
        for seat, (staked, paid, commission) in sorted(seats.items())
        if staked or paid or commission
    )


def _said(settlement: Settlement) -> tuple[object, ...]:
    return (
        settlement.rulebook_hash,
        settlement.player,
        settlement.banker,
        settlement.winner,
        settlement.lines,
    )


def _chips(line: SettlementLine) -> int:
    """Return a stake as the house's cash counts it: zero for a token."""
    return 0 if line.kind == "promo" else line.stake
