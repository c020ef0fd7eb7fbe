"""The settlements that follow from a coup's record, corrected or not. Pure.

It treats a coup of a minute ago and one of last week alike. The input is the coup as the log has
it, and the result is compared only with the settlements in force.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from events.cards import Card, Hand
from events.types import (
    AggregateCapped,
    CappedWager,
    SeatDifference,
    Settlement,
    SettlementLine,
    Wager,
)
from table_core.rules.draw import DealError, Outcome, hand_due, judge_hands
from table_core.rules.rulebook import INITIAL_PHASE, LAST_PHASE, Rulebook
from table_core.rules.settlement import CapApplied, Result, settle_with_caps
from table_core.state.table import Coup, by_id

__all__ = [
    "TAKEN_BACK",
    "capped_event",
    "first_phase_revision",
    "hands_error",
    "in_dealing_order",
    "is_settled_so",
    "known_faces",
    "moved_money",
    "next_settlement",
    "phase_outcome",
    "revised_settlements",
    "seat_differences",
    "taken_by_first_phase",
    "void_coup_revisions",
    "void_revision",
]

TAKEN_BACK: Final = "first_phase_taken_back"
"""The irregularity on record where a person takes back the first phase of a void coup."""
_TWO_CARDS: Final = 2


# ---- the coup's record ----


def known_faces(coup: Coup, hand: Hand) -> tuple[Card, ...]:
    """Return the known faces of a hand, in dealing order."""
    dealt = [each.card for each in coup.cards if each.hand is hand]
    return tuple([card for card in dealt if card is not None])


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


# ---- its settlements ----


def phase_outcome(phase: int, player: Sequence[Card], banker: Sequence[Card]) -> Outcome:
    """Return a phase's outcome; the first phase uses the initial deal alone (seed 1, 11A.6)."""
    if phase == INITIAL_PHASE:
        return judge_hands(player[:_TWO_CARDS], banker[:_TWO_CARDS])
    return judge_hands(player, banker)


def next_settlement(
    table: str, coup: Coup, phase: int, outcome: Outcome, lines: tuple[SettlementLine, ...]
) -> Settlement:
    """Return a phase's first settlement, or its next revision, which reverses the last one.

    The first settlement of a phase that a coup gets after its end says the difference as well.
    """
    before = coup.settlement(phase)
    revision = before.revision + 1 if before else 1
    late = before is not None or coup.settlement(LAST_PHASE) is not None
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
        staked=sum([_chips(line) for line in lines]),
        paid=sum([line.paid for line in lines]),
        commission=sum([line.commission for line in lines]),
        difference=seat_differences(before.lines if before else (), lines) if late else (),
    )


def capped_event(settlement: Settlement, cut: CapApplied) -> AggregateCapped:
    """Return the event that tells what an aggregate maximum cut from a settlement."""
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


def is_settled_so(
    coup: Coup, phase: int, outcome: Outcome, lines: tuple[SettlementLine, ...]
) -> bool:
    """Return whether the settlement in force of a phase says the same already."""
    before = coup.settlement(phase)
    return (
        before is not None
        and before.lines == lines
        and (before.player, before.banker) == (outcome.player, outcome.banker)
        and before.winner == (outcome.winner if phase == LAST_PHASE else None)
        and before.rulebook_hash == coup.rulebook_hash
    )


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
    wagers = coup.wagers.values()
    first = [wager for wager in wagers if rulebook.phase_of(wager.bet) == INITIAL_PHASE]
    to_first = any(wager.id in moved for wager in first)
    for phase in (LAST_PHASE, INITIAL_PHASE) if to_first else (INITIAL_PHASE, LAST_PHASE):
        if phase == INITIAL_PHASE and not first and coup.settlement(phase) is None:
            continue
        outcome = phase_outcome(phase, player, banker)
        lines, cuts = settle_with_caps(rulebook, outcome, wagers, phase=phase)
        if not is_settled_so(coup, phase, outcome, lines):
            yield next_settlement(table, coup, phase, outcome, lines), cuts


def void_revision(table: str, coup: Coup, phase: int) -> Settlement | None:
    """Return the revision that returns every stake of a settled phase; None where there is none."""
    before = coup.settlement(phase)
    if before is None:
        return None
    lines = tuple(map(_void_line, before.lines))
    outcome = phase_outcome(phase, before.player, before.banker)
    return next_settlement(table, coup, phase, outcome, lines)


def taken_by_first_phase(coup: Coup) -> Coup:
    """Return a coup with those wagers alone that its first phase has settled.

    Where the coup is void, the stakes of all others have gone back.
    """
    first = coup.settlement(INITIAL_PHASE)
    taken = {line.wager for line in first.lines} if first else set()
    wagers = by_id(wager for wager in coup.wagers.values() if wager.id in taken)
    return replace(coup, wagers=wagers)


def first_phase_revision(
    table: str, coup: Coup, rulebook: Rulebook
) -> tuple[Settlement, tuple[CapApplied, ...]] | None:
    """Return the first phase of a coup that is void or becomes void, by its record as it is now.

    A face that nobody knows any more leaves the cards that the phase was paid on. Where a hand has
    fewer than two cards, there was no initial deal, and the stakes go back, as they do where the
    rulebook takes back the first phase with a void. So does the stake of a wager that the rulebook
    settles in the last phase, which a void coup does not have.

    Args:
        table: the table's id.
        coup: with the wagers of its first phase alone (`taken_by_first_phase`), as corrected.
        rulebook: the one that the coup pins now.

    Returns:
        None where nothing changes, or was never paid.
    """
    before = coup.settlement(INITIAL_PHASE)
    if before is None:
        return None
    initial = [dealt for dealt in coup.cards if dealt.number <= _TWO_CARDS]
    hands = known_faces(coup, Hand.PLAYER)[:_TWO_CARDS], known_faces(coup, Hand.BANKER)[:_TWO_CARDS]
    if any(dealt.card is None for dealt in initial):
        hands = before.player, before.banker
    keeps = rulebook.procedure.void_after_phase_one == "keep"
    dealt = keeps and min(map(len, hands)) == _TWO_CARDS
    outcome = phase_outcome(INITIAL_PHASE, *(hands if dealt else (before.player, before.banker)))
    wagers = coup.wagers.values()
    settled, cuts = settle_with_caps(rulebook, outcome, wagers, phase=INITIAL_PHASE)
    by_wager = {line.wager: line for line in settled} if dealt else {}
    lines = tuple(by_wager.get(each.id) or _void_line(_line_of(each)) for each in wagers)
    if is_settled_so(coup, INITIAL_PHASE, outcome, lines):
        return None
    settlement = next_settlement(table, coup, INITIAL_PHASE, outcome, lines)
    return settlement, cuts if dealt else ()


def void_coup_revisions(
    table: str, coup: Coup, rulebook: Rulebook
) -> Iterator[tuple[Settlement, tuple[CapApplied, ...]]]:
    """Yield the new settlements of a void coup that was corrected (`first_phase_revision`).

    Its last phase, if it was settled before the void, stays void, by the rulebook that is right.
    """
    first, last = first_phase_revision(table, coup, rulebook), coup.settlement(LAST_PHASE)
    if first is not None:
        yield first
    void = void_revision(table, coup, LAST_PHASE)
    if void is not None and last is not None and last.rulebook_hash != coup.rulebook_hash:
        yield void, ()


def _line_of(wager: Wager) -> SettlementLine:
    void = Result.VOID.value
    return SettlementLine(
        wager=wager.id,
        seat=wager.seat,
        bet=wager.bet,
        patron=wager.patron,
        kind=wager.kind,
        result=void,
        category=void,
        odds=None,
        stake=wager.stake,
        winnings=0,
        commission=0,
        paid=0,
    )


def _void_line(line: SettlementLine) -> SettlementLine:
    """Return the line of a wager whose stake goes back, because it does not count."""
    void = Result.VOID.value
    return replace(
        line, result=void, category=void, odds=None, winnings=0, commission=0, paid=_chips(line)
    )


def seat_differences(
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


def moved_money(revisions: Iterable[tuple[Settlement | None, Settlement]]) -> int:
    """Return the sum of all that patrons get more or less, minor units; both count alike.

    At each seat, each patron counts alone, and those without a reference count together.

    Args:
        revisions: each new settlement of a coup after the one in force, or None.
    """
    gets: dict[tuple[int, str | None], int] = {}
    for before, after in revisions:
        for sign, lines in ((-1, before.lines if before else ()), (1, after.lines)):
            for line in lines:
                payer = line.seat, line.patron
                gets[payer] = gets.get(payer, 0) + sign * (line.paid - _chips(line))
    return sum(map(abs, gets.values()))


def _chips(line: SettlementLine) -> int:
    """Return a stake as the house's cash counts it: zero for a token."""
    return 0 if line.kind == "promo" else line.stake
