"""How each wager comes out in shoes that the real core plays: by the rules, and how often."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final, NamedTuple, Self

from events.commands import WagerRequest
from events.types import CoupSettled, SettlementLine, ShoeAudited
from simulators.device.deck import shuffled
from simulators.shoe.dealing import next_shoe_id
from simulators.world.auditor.rules import Hands, settle_wager
from table_core.decide.decision import DecisionContext
from table_core.odds.exact import BetOdds, exact_odds
from table_core.rulebooks.shipped import load_rulebook
from table_core.rules.rulebook import Requirement, Rulebook
from table_core.rules.rulebook_file import full_shoe
from tests.support.shoe.whole_shoe import CardTable

STAKE: Final = 100
"""At these odds and this commission it is paid to the cent, so that payments are exact."""
_FIRST_SHOE: Final = "20261127-01"
_NORMAL: Final = 25  # from this variance on a count is as good as normal


class Tally(NamedTuple):
    """What came out.

    Args:
        coups: how many were settled.
        shoes: in how many whole shoes.
        found: (bet, category) to how often.
        paid: (bet, category) to everything that it was ever paid, net of the stake.
    """

    coups: int
    shoes: int
    found: Counter[tuple[str, str]]
    paid: Mapping[tuple[str, str], frozenset[int]]

    @classmethod
    def together(cls, parts: Iterable[Self]) -> Self:
        """Several of them as one."""
        coups, shoes = 0, 0
        found: Counter[tuple[str, str]] = Counter()
        paid: dict[tuple[str, str], frozenset[int]] = {}
        for part in parts:
            coups, shoes, found = coups + part.coups, shoes + part.shoes, found + part.found
            for key, amounts in part.paid.items():
                paid[key] = paid.get(key, frozenset()) | amounts
        return cls(coups, shoes, found, paid)


@cache
def odds_of(rulebook_id: str) -> Mapping[str, BetOdds]:
    """The exact odds of a shipped rulebook, counted once for all tests that ask."""
    return exact_odds(load_rulebook(rulebook_id), full_shoe(8))


def every_bet(rulebook: Rulebook) -> tuple[WagerRequest, ...]:
    """Each bet at a seat of its own, beside the wager that it needs."""
    wagers: list[WagerRequest] = []
    for seat, bet in enumerate(rulebook.bets.values(), start=1):
        if bet.requirement is not Requirement.NONE:
            wagers.append(WagerRequest(seat=seat, bet="player", stake=STAKE))
        wagers.append(WagerRequest(seat=seat, bet=bet.id, stake=STAKE))
    return tuple(wagers)


def play_shoes(rulebook_id: str, seed: str, coups: int) -> Tally:
    """Play whole shoes of eight decks until at least so many coups are settled.

    Each wager must come to what the printed rules say of it (the auditor's rules).
    A shoe that is begun is played to its last coup: to stop in the middle of one would favour
    coups of few cards.

    Args:
        rulebook_id: a shipped one.
        seed: shuffles the shoes.
        coups: how many at least.
    """
    rulebook = load_rulebook(rulebook_id)
    table = CardTable(DecisionContext(table="t1", rulebook=rulebook))
    wagers, shoe, shoes = every_bet(rulebook), _FIRST_SHOE, 0
    found: Counter[tuple[str, str]] = Counter()
    paid: dict[tuple[str, str], set[int]] = {}
    while table.world.state.totals.coups < coups:
        table.load(shoe, shuffled(f"{seed}/{shoes}"))
        while not table.over:
            for line in _one_of_each(table.coup(wagers)):
                assert table.called is not None
                hands = Hands(table.called.player, table.called.banker)
                right = settle_wager(rulebook_id, line.bet, STAKE, hands)
                assert line.paid == right.paid, (line, table.called)
                key = (line.bet, line.category)
                found[key] += 1
                paid.setdefault(key, set()).add(line.paid - line.stake)
        _check_audit(table)
        shoe, shoes = next_shoe_id(shoe), shoes + 1
    totals = table.world.state.totals
    assert totals.voids == 0
    assert all(count <= totals.coups for count in found.values())
    amounts = {key: frozenset(values) for key, values in paid.items()}
    return Tally(totals.coups, shoes, found, amounts)


def implausible(tally: Tally, odds: Mapping[str, BetOdds], errors: float) -> list[str]:
    """Every category whose count is further off than so many standard errors.

    Where a category is too rare for a normal distribution, the chance of a count at least so far
    off, by the binomial distribution itself, stands against that of so many standard errors.
    """
    complaints = []
    for bet, rows in odds.items():
        for category, row in rows.categories.items():
            count, p = tally.found[bet, category], float(row.probability)
            mean, variance = tally.coups * p, tally.coups * p * (1 - p)
            if variance >= _NORMAL:
                off = abs(count - mean) > errors * math.sqrt(variance)
            else:
                off = _tail(count, tally.coups, p) < math.erfc(errors / math.sqrt(2)) / 2
            if off:
                complaints.append(
                    f"{bet} {category}: {count} of {tally.coups}, expected {mean:.1f}"
                )
            expected = row.pays * STAKE
            if tally.paid.get((bet, category), {expected}) != {expected}:
                complaints.append(f"{bet} {category}: paid {tally.paid[bet, category]}")
    known = {(bet, category) for bet, rows in odds.items() for category in rows.categories}
    complaints += [f"{key}: not among the odds" for key in tally.found if key not in known]
    return complaints


def _tail(count: int, trials: int, p: float) -> float:
    """The chance of a count as far from its mean as this one, on the same side."""
    if p in {0.0, 1.0}:
        return float(count == trials * p)
    side = range(count + 1) if count <= trials * p else range(count, min(trials, count + 200) + 1)
    return math.fsum(_chance(k, trials, p) for k in side)


def _chance(count: int, trials: int, p: float) -> float:
    ways = math.lgamma(trials + 1) - math.lgamma(count + 1) - math.lgamma(trials - count + 1)
    return math.exp(ways + count * math.log(p) + (trials - count) * math.log1p(-p))


def _one_of_each(events: Iterable[object]) -> Iterable[SettlementLine]:
    """Of each bet one line of the coup; wagers on the same bet come out alike."""
    lines = [
        line
        for event in events
        if isinstance(event, CoupSettled)
        for line in event.settlement.lines
    ]
    return {line.bet: line for line in lines}.values()


def _check_audit(table: CardTable) -> None:
    """Every card is accounted for; then the log is let go, for a million coups fill a memory."""
    (audit,) = (event for event in table.world.log if isinstance(event, ShoeAudited))
    assert audit.left == {card: table.deck.composition()[card] for card in audit.left}
    assert audit.seen + sum(audit.left.values()) == audit.decks * 52
    table.world.log.clear()
