"""Settles wagers once the cards are known: pure arithmetic by the rulebook.

Each bet is classified once a coup, however many wagers are on it. Then per wager: winnings by the
schedule's odds, rounded; an aggregate maximum, where one is exceeded; commission out of the
winnings; and paid = stake returned + winnings - commission. A push returns the stake by the rules;
a void returns it because the wager is invalid (its bet is not in the rulebook).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Final

from msgspec import Struct

from events.cards import Winner
from events.errors import OurBug
from events.money import Odds, scale
from events.types.table import SettlementLine, Wager
from table_core.rules.commission_owed import commission_of
from table_core.rules.draw import Outcome
from table_core.rules.rulebook import INITIAL_PHASE, PUSH, Bet, Cap, Rulebook
from table_core.rules.wagers import BET_KINDS, Judge, patron_of

__all__ = [
    "CapApplied",
    "KeptSettlement",
    "Result",
    "Verdicts",
    "capped_winnings",
    "categories_of",
    "settle",
    "settle_with_caps",
]


class Result(Enum):
    """The result of a wager; the values are those of settlement lines."""

    WIN = "win"
    LOSE = "lose"
    PUSH = "push"
    VOID = "void"


class _BetResult(Struct, frozen=True):
    """The result of one bet for an outcome, in the words of a settlement line.

    Args:
        result: a `Result`'s value.
        category: by its name in the schedule.
        odds: paid to one; None where nothing is paid.
        says: the odds in words.
        commission: whether commission is taken out of the winnings.
    """

    result: str
    category: str
    odds: Odds | None = None
    says: str | None = None
    commission: bool = False


_LOSE: Final = Result.LOSE.value
_LOSES: Final = _BetResult(_LOSE, "lose")
_IS_VOID: Final = _BetResult(Result.VOID.value, "void")


class Verdicts:
    """The results of a rulebook's bets, each found once for all deals that are alike to its judge.

    A judge that looks at totals says the same of all deals with the same totals and numbers of
    cards. Whoever settles many coups by one rulebook keeps them from coup to coup.
    """

    def __init__(self, rulebook: Rulebook) -> None:
        self._bets = rulebook.bets
        self._known: dict[tuple[int, int, int, int], dict[str, _BetResult]] = {}

    def of(self, outcome: Outcome, bets: Collection[str]) -> Mapping[str, _BetResult]:
        """Return the result of each of these bets."""
        totals = outcome.player_total, outcome.banker_total
        alike = *totals, len(outcome.player), len(outcome.banker)
        known = self._known.setdefault(alike, {})
        results = {}
        for name in bets:
            result = known.get(name)
            if result is None:
                bet = self._bets.get(name)
                result = _bet_result(bet, outcome)
                if bet is not None and BET_KINDS[name].looks == "totals":
                    known[name] = result
            results[name] = result
        return results


def settle(
    rulebook: Rulebook,
    outcome: Outcome,
    wagers: Sequence[Wager],
    *,
    phase: int | None = None,
    verdicts: Verdicts | None = None,
) -> tuple[SettlementLine, ...]:
    """Settle a coup's wagers.

    Args:
        rulebook: the one that the coup pins.
        outcome: of the cards.
        wagers: in the order they were placed.
        phase: only the wagers of this settlement phase; None for all.
        verdicts: those of the rulebook so far; None finds all anew.

    Returns:
        One line for each wager of the phase, in the order they were placed.

    Raises:
        OurBug: the deal is not complete, and the caller asked for more than the first phase.
    """
    return settle_with_caps(rulebook, outcome, wagers, phase=phase, verdicts=verdicts)[0]


class CapApplied(Struct, frozen=True):
    """An aggregate maximum that reduced winnings.

    Args:
        cap: the maximum.
        shares: wager id, its winnings before and after, in placing order.
    """

    cap: Cap
    shares: tuple[tuple[str, int, int], ...]


def settle_with_caps(
    rulebook: Rulebook,
    outcome: Outcome,
    wagers: Sequence[Wager],
    *,
    phase: int | None = None,
    verdicts: Verdicts | None = None,
) -> tuple[tuple[SettlementLine, ...], tuple[CapApplied, ...]]:
    """Settle as `settle` does, and return the aggregate maxima that reduced winnings as well."""
    if not outcome.complete and phase != INITIAL_PHASE:
        raise OurBug("settlement of an incomplete deal")
    asked = wagers
    if phase is not None:
        asked = [wager for wager in wagers if rulebook.phase_of(wager.bet) == phase]
    results = (verdicts or Verdicts(rulebook)).of(outcome, {wager.bet for wager in asked})
    unit, payout = rulebook.unit, rulebook.rounding.payout
    won = [
        scale(wager.stake, odds, unit=unit, rounding=payout)
        if (odds := results[wager.bet].odds)
        else 0
        for wager in asked
    ]
    cuts = []
    for cap in rulebook.caps:
        shares = []
        for index, winnings in capped_winnings(cap, asked, won, unit):
            shares.append((asked[index].id, won[index], winnings))
            won[index] = winnings
        if shares:
            cuts.append(CapApplied(cap, tuple(shares)))
    lines = [
        _line(rulebook, wager, results[wager.bet], winnings)
        for wager, winnings in zip(asked, won, strict=True)
    ]
    return tuple(lines), tuple(cuts)


class KeptSettlement:
    """Settles by one rulebook, and keeps the newest answer for whoever asks the same again.

    Args:
        rulebook: the rulebook.
    """

    def __init__(self, rulebook: Rulebook) -> None:
        self.rulebook = rulebook
        self._verdicts = Verdicts(rulebook)
        self._asked: tuple[Outcome, Sequence[Wager], int] | None = None
        self._answer: tuple[tuple[SettlementLine, ...], tuple[CapApplied, ...]] = ((), ())

    def settle(
        self, outcome: Outcome, wagers: tuple[Wager, ...], phase: int
    ) -> tuple[tuple[SettlementLine, ...], tuple[CapApplied, ...]]:
        """Settle one phase as `settle_with_caps` does."""
        asked = self._asked
        # A coup's wagers stay one object until they change; to compare them takes as long.
        if asked is None or asked[1] is not wagers or (asked[0], asked[2]) != (outcome, phase):
            self._answer = settle_with_caps(
                self.rulebook, outcome, wagers, phase=phase, verdicts=self._verdicts
            )
            self._asked = outcome, wagers, phase
        return self._answer


def categories_of(judge: Judge, outcome: Outcome) -> tuple[str, ...]:
    """Return the categories of an outcome, `PUSH` for a tie that meets no other condition."""
    categories = judge(outcome)
    return (PUSH,) if not categories and outcome.winner is Winner.TIE else categories


def _bet_result(bet: Bet | None, outcome: Outcome) -> _BetResult:
    """Return the first of the outcome's categories that the bet's schedule lists."""
    if bet is None:
        return _IS_VOID
    for category in categories_of(bet.judge, outcome):
        if category in bet.schedule:
            odds = bet.schedule[category]
            if odds is None:
                return _BetResult(Result.PUSH.value, category, commission=bet.commission)
            return _BetResult(Result.WIN.value, category, odds, str(odds), bet.commission)
    return _LOSES


def _line(rulebook: Rulebook, wager: Wager, verdict: _BetResult, winnings: int) -> SettlementLine:
    commission = commission_of(rulebook, winnings) if verdict.commission else 0
    # A token is never returned as chips: the house pays what it wins, and nothing else.
    gone = verdict.result == _LOSE or wager.kind == "promo"
    returned = 0 if gone else wager.stake
    return SettlementLine(
        wager=wager.id,
        seat=wager.seat,
        bet=wager.bet,
        patron=wager.patron,
        kind=wager.kind,
        result=verdict.result,
        category=verdict.category,
        odds=verdict.says,
        stake=wager.stake,
        winnings=winnings,
        commission=commission,
        paid=returned + winnings - commission,
    )


def capped_winnings(
    cap: Cap, wagers: Sequence[Wager], won: Sequence[int], unit: int
) -> Iterator[tuple[int, int]]:
    """Yield (index, reduced winnings) of the wagers that an exceeded maximum cuts."""
    shares: dict[object, list[int]] = {}
    for index, wager in enumerate(wagers):
        if wager.bet in cap.bets and won[index] and wager.kind != "toke":
            key = patron_of(wager) if cap.scope == "patron" else None
            shares.setdefault(key, []).append(index)
    for indices in shares.values():
        amounts = [won[index] for index in indices]
        if sum(amounts) > cap.maximum:
            allocate = _pro_rata if cap.allocation == "pro_rata" else _first_placed
            cut = allocate([amount // unit for amount in amounts], cap.maximum // unit)
            yield from zip(indices, (units * unit for units in cut), strict=True)


def _pro_rata(amounts: Sequence[int], maximum: int) -> list[int]:
    """Share in proportion; the rest goes to the largest remainders, first placed first."""
    total = sum(amounts)
    shares = [amount * maximum // total for amount in amounts]
    remainders = [amount * maximum % total for amount in amounts]
    by_remainder = sorted(range(len(amounts)), key=lambda index: -remainders[index])
    for index in by_remainder[: maximum - sum(shares)]:
        shares[index] += 1
    return shares


def _first_placed(amounts: Iterable[int], maximum: int) -> list[int]:
    """Pay in full in placing order until the maximum is used up."""
    shares = []
    for amount in amounts:
        shares.append(min(amount, maximum))
        maximum -= shares[-1]
    return shares
