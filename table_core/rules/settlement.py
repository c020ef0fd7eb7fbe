"""Settles wagers once the cards are known: pure arithmetic by the rulebook.

Each bet is classified once a coup, however many wagers are on it. Then per wager: winnings by the
schedule's odds, rounded; an aggregate maximum, where one is exceeded; commission out of the
winnings; and paid = stake returned + winnings - commission. A push returns the stake by the rules;
a void returns it because the wager is invalid (its bet is not in the rulebook).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Final

from msgspec import Struct

from events.cards import Winner
from events.errors import OurBug
from events.money import Odds, scale
from events.types import SettlementLine, Wager
from table_core.rules.commission_owed import commission_of
from table_core.rules.draw import Outcome
from table_core.rules.rulebook import INITIAL_PHASE, PUSH, Bet, Cap, Rulebook
from table_core.rules.wagers import Judge, Totals, patron_of, plain_totals

__all__ = [
    "CapApplied",
    "KeptSettlement",
    "Payment",
    "Result",
    "Verdicts",
    "capped_winnings",
    "categories_of",
    "pay_wagers",
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


Payment = tuple[_BetResult, int, int, int]
"""The result of a wager's bet, its winnings, the commission on them, and what is paid."""
_LOSES: Final = _BetResult(Result.LOSE.value, "lose")
_LOST: Final[Payment] = (_LOSES, 0, 0, 0)
_IS_VOID: Final = _BetResult(Result.VOID.value, "void")


class _Results(dict[str, _BetResult]):
    """The result of each bet for one outcome, found when it is first asked for."""

    def __init__(self, rulebook: Rulebook, outcome: Outcome) -> None:
        super().__init__()
        self._bets, self._outcome = rulebook.bets, outcome

    def __missing__(self, name: str) -> _BetResult:
        result = self[name] = _bet_result(self._bets.get(name), self._outcome)
        return result


class Verdicts:
    """The results of a rulebook's bets, each found once for all deals that are alike to its judge.

    Whoever settles many coups by one rulebook keeps them from coup to coup. Only deals without
    pairs and suited hands are kept, of which there are some two hundred kinds (`plain_totals`).
    """

    def __init__(self, rulebook: Rulebook) -> None:
        self._rulebook = rulebook
        self._known: dict[Totals, _Results] = {}

    def of(self, outcome: Outcome) -> Mapping[str, _BetResult]:
        """Return the result of each bet, by its name."""
        alike = plain_totals(outcome)
        results = self._known.get(alike) if alike else None
        if results is None:
            results = _Results(self._rulebook, outcome)
            if alike:
                self._known[alike] = results
        return results


def settle(
    rulebook: Rulebook, outcome: Outcome, wagers: Sequence[Wager], *, phase: int | None = None
) -> tuple[SettlementLine, ...]:
    """Settle a coup's wagers.

    Args:
        rulebook: the one that the coup pins.
        outcome: of the cards.
        wagers: in the order they were placed.
        phase: only the wagers of this settlement phase; None for all.

    Returns:
        One line for each wager of the phase, in the order they were placed.

    Raises:
        OurBug: the deal is not complete, and the caller asked for more than the first phase.
    """
    return settle_with_caps(rulebook, outcome, wagers, phase=phase)[0]


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
    wagers: Iterable[Wager],
    *,
    phase: int | None = None,
    verdicts: Verdicts | None = None,
) -> tuple[tuple[SettlementLine, ...], tuple[CapApplied, ...]]:
    """Settle as `settle` does, and return the aggregate maxima that reduced winnings as well.

    `verdicts` are those of the rulebook so far, where they are kept.
    """
    if not outcome.complete and phase != INITIAL_PHASE:
        raise OurBug("settlement of an incomplete deal")
    asked = [each for each in wagers if phase is None or rulebook.phase_of(each.bet) == phase]
    payments, cuts = pay_wagers(rulebook, outcome, asked, verdicts or Verdicts(rulebook))
    lines = [
        SettlementLine(
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
            paid=paid,
        )
        for wager, (verdict, winnings, commission, paid) in zip(asked, payments, strict=True)
    ]
    return tuple(lines), cuts


def pay_wagers(
    rulebook: Rulebook, outcome: Outcome, wagers: Sequence[Wager], verdicts: Verdicts
) -> tuple[list[Payment], tuple[CapApplied, ...]]:
    """Return what each wager of one settlement is paid, and the maxima that reduced winnings.

    Args:
        rulebook: the one that the coup pins.
        outcome: of the cards.
        wagers: in the order they were placed.
        verdicts: those of the rulebook so far.
    """
    results = verdicts.of(outcome)
    payments: list[Payment] = []
    cuts: list[CapApplied] = []
    for wager in wagers:
        result = results[wager.bet]
        payments.append(_LOST if result is _LOSES else _payment(rulebook, wager, result))
    for cap in rulebook.caps:
        shares = []
        won = [winnings for _, winnings, _, _ in payments]
        for index, winnings in capped_winnings(cap, wagers, won, rulebook.unit):
            shares.append((wagers[index].id, won[index], winnings))
            payments[index] = _payment(rulebook, wagers[index], payments[index][0], winnings)
        if shares:
            cuts.append(CapApplied(cap, tuple(shares)))
    return payments, tuple(cuts)


def _payment(
    rulebook: Rulebook, wager: Wager, result: _BetResult, winnings: int | None = None
) -> Payment:
    """Return what a wager is paid. `winnings` are what a maximum left; None for all of them."""
    if winnings is None:
        rounding, odds = rulebook.rounding.payout, result.odds
        winnings = scale(wager.stake, odds, unit=rulebook.unit, rounding=rounding) if odds else 0
    commission = commission_of(rulebook, winnings) if result.commission else 0
    # A token is never returned as chips: the house pays what it wins, and nothing else.
    returned = 0 if wager.kind == "promo" else wager.stake
    return result, winnings, commission, returned + winnings - commission


class KeptSettlement:
    """Settles by one rulebook, and keeps the newest answer for whoever asks the same again.

    Args:
        rulebook: the rulebook.
    """

    def __init__(self, rulebook: Rulebook) -> None:
        self.rulebook = rulebook
        self._verdicts = Verdicts(rulebook)
        self._asked: tuple[Outcome, Mapping[str, Wager], int] | None = None
        self._answer: tuple[tuple[SettlementLine, ...], tuple[CapApplied, ...]] = ((), ())

    def settle(
        self, outcome: Outcome, wagers: Mapping[str, Wager], phase: int
    ) -> tuple[tuple[SettlementLine, ...], tuple[CapApplied, ...]]:
        """Settle one phase as `settle_with_caps` does."""
        asked = self._asked
        # A coup's wagers stay one object until they change; to compare them takes as long.
        if asked is None or asked[1] is not wagers or (asked[0], asked[2]) != (outcome, phase):
            self._answer = settle_with_caps(
                self.rulebook, outcome, wagers.values(), phase=phase, verdicts=self._verdicts
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
