"""A wager's result in words and sums: category, arithmetic, commission, rounding. Pure.

A settlement line holds the figures. The rulebook that the coup pinned explains them; where that
file is missing, only the figures are given.

A wager and its categories in words, and the source of its rule. The words of a kind stand in its
row of `table_core.rules.wagers`. This module has the words for bets and categories without a row.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from events.money import Currency, Odds, parse_odds, scale
from events.types import Settlement, SettlementLine
from table_core.narrative.formatting import Phrase, amount, exact_amount
from table_core.rules.rulebook import PUSH, Rulebook
from table_core.rules.wagers import BET_KINDS, HOUSE, BetKind

__all__ = [
    "DOCUMENTS",
    "SeatChange",
    "WagerNarrative",
    "bet_name",
    "bet_words",
    "category_words",
    "differences",
    "narrate_wager",
    "received",
]

DOCUMENTS: Final = {
    "source 1": "New Zealand, Rules of Casino Table Games, Division 5 (Baccarat), section 11A",
    "source 2": "an Australian house's leaflet on how to play Baccarat",
    "source 3": "an American house's sheet for Mini Baccarat with Lucky 8",
}
"""The documents that sources name."""
_TIE_PUSHES: Final = "a tie: the stake goes back"


def bet_words(bet: str) -> BetKind:
    """Return the row of a bet; of one that this build does not know, a row with its id as name."""
    unknown = BetKind(name=bet, wins="its rulebook says so", source=HOUSE, categories={}, judges={})
    return BET_KINDS.get(bet, unknown)


def category_words(bet: str, category: str) -> str:
    """Return what came for this bet, as a settlement line names it; else the category's id."""
    if category == PUSH:
        return Phrase(_TIE_PUSHES)
    named = bet_words(bet).categories
    return Phrase(named[category]) if category in named else category


def bet_name(bet: str) -> str:
    """Return a bet's name on the layout; the id of one that this build does not know."""
    return Phrase(BET_KINDS[bet].name) if bet in BET_KINDS else bet


class WagerNarrative(Struct, frozen=True, kw_only=True):
    """One wager in the narrative.

    Args:
        wager: its id.
        seat: 1 to 99.
        bet: the bet's id.
        name: on the layout.
        result: `win`, `lose`, `push` or `void`.
        why: the category that it came out as, in words.
        sums: the arithmetic, a step a line.
        source: document and clause of the rule.
        stake: minor units, like all that follow.
        winnings: before commission.
        commission: kept by the house.
        paid: received by the patron; a token that goes back counts like chips.
    """

    wager: str
    seat: int
    bet: str
    name: str
    result: str
    why: str
    sums: tuple[str, ...]
    source: str
    stake: int
    winnings: int
    commission: int
    paid: int


class SeatChange(Struct, frozen=True, kw_only=True):
    """The change of one seat by a revision, minor units.

    Args:
        seat: 1 to 99.
        before: what the reversed settlement paid.
        after: what the revision pays.
        difference: the latter less the former.
        staked_before: the chips staked by the reversed settlement; tokens count nothing.
        staked_after: the same by the revision.
        owed: the difference, less what the stakes grew; positive: the house owes the seat.
    """

    seat: int
    before: int
    after: int
    difference: int
    staked_before: int
    staked_after: int
    owed: int


def narrate_wager(
    line: SettlementLine, rulebook: Rulebook | None, currency: Currency, rules: str
) -> WagerNarrative:
    """Return the narrative of a wager.

    Args:
        line: its settlement line.
        rulebook: the one that the coup pinned; None where it is not at hand.
        currency: for the amounts.
        rules: the rulebook's id.
    """
    words = bet_words(line.bet)
    return WagerNarrative(
        wager=line.wager,
        seat=line.seat,
        bet=line.bet,
        name=_name(line),
        result=line.result,
        why=_why(line),
        sums=tuple(_sums(line, rulebook, currency)),
        source=Phrase(
            "{source}; {rules}: bets.{bet}",
            source=Phrase(words.source),
            rules=rules,
            bet=line.bet,
        ),
        stake=line.stake,
        winnings=line.winnings,
        commission=line.commission,
        paid=received(line),
    )


def received(line: SettlementLine) -> int:
    """Return what a patron received for a wager, with a token that goes back, in minor units."""
    token_back = (line.kind, line.result) == ("promo", "void")
    return line.paid + (line.stake if token_back else 0)


def differences(before: Settlement | None, after: Settlement) -> tuple[SeatChange, ...]:
    """Return, by seat, how much more or less a revision pays than the settlement it reverses.

    Args:
        before: None where the coup had no settlement of that phase.
        after: the revision.
    """
    lines = before.lines if before else ()
    seats = sorted({line.seat for line in (*lines, *after.lines)})
    return tuple(_seat_change(seat, lines, after.lines) for seat in seats)


def _seat_change(
    seat: int, before: Iterable[SettlementLine], after: Iterable[SettlementLine]
) -> SeatChange:
    laid_then, then = _chips(before, seat)
    laid_now, now = _chips(after, seat)
    return SeatChange(
        seat=seat,
        before=then,
        after=now,
        difference=now - then,
        staked_before=laid_then,
        staked_after=laid_now,
        owed=now - then - (laid_now - laid_then),
    )


def _chips(lines: Iterable[SettlementLine], seat: int) -> tuple[int, int]:
    """Return the chips that a seat staked and was paid; a token counts nothing."""
    own = [line for line in lines if line.seat == seat]
    staked = sum(line.stake for line in own if line.kind != "promo")
    return staked, sum(line.paid for line in own)


def _why(line: SettlementLine) -> str:
    words = bet_words(line.bet)
    came = category_words(line.bet, line.category)
    if line.result == "lose":
        return Phrase("lost: it wins when {wins}", wins=Phrase(words.wins))
    if line.result == "void":
        return Phrase("void: the stake goes back")
    if line.result == "push":
        return Phrase("neither won nor lost: {came}", came=came)
    return Phrase("won: {came}", came=Phrase(words.wins) if line.category == "win" else came)


def _name(line: SettlementLine) -> str:
    """Return a wager's name; a stake that is no patron's chips is named too."""
    name = bet_name(line.bet)
    if line.kind == "promo":
        return Phrase("{bet} (token)", bet=name)
    return Phrase("{bet} (for the dealer)", bet=name) if line.kind == "toke" else name


def _sums(line: SettlementLine, rulebook: Rulebook | None, currency: Currency) -> Sequence[str]:
    stake, paid = amount(line.stake, currency), amount(line.paid, currency)
    if line.result == "lose":
        return (Phrase("stake {stake} lost, paid {paid}", stake=stake, paid=paid),)
    sums: list[str] = []
    if line.odds is not None:
        sums.append(_winnings(line, parse_odds(line.odds), rulebook, currency))
    if line.commission:
        sums.append(_commission(line, rulebook, currency))
    if line.kind == "promo" and line.result == "void":
        return (Phrase("the token goes back"),)
    if line.kind == "promo":
        sums.append(Phrase("a token is never given back, win or lose"))
    sum_ = _RECEIVED[bool(line.winnings), bool(line.commission)]
    figures = (line.paid - line.winnings + line.commission, line.winnings, line.commission)
    back, won, kept = (amount(each, currency) for each in figures)
    return [*sums, Phrase(sum_, back=back, won=won, kept=kept, paid=paid)]


_RECEIVED: Final = {
    (False, False): "stake back {back} = paid {paid}",
    (True, False): "stake back {back} + won {won} = paid {paid}",
    (False, True): "stake back {back} - commission {kept} = paid {paid}",
    (True, True): "stake back {back} + won {won} - commission {kept} = paid {paid}",
}
"""By whether something was won, and whether commission was kept."""


def _winnings(
    line: SettlementLine, odds: Odds, rulebook: Rulebook | None, currency: Currency
) -> str:
    stake = amount(line.stake, currency)
    exact = exact_amount(line.stake * odds.num, odds.den, currency)
    won = amount(line.winnings, currency)
    at = "{stake} at {num} to {den} = {exact}"
    said = Phrase(at, stake=stake, num=odds.num, den=odds.den, exact=exact)
    if rulebook is None:
        return Phrase("{sum}; won {won}", sum=said, won=won)
    rounding = rulebook.rounding.payout
    due = scale(line.stake, odds, unit=rulebook.unit, rounding=rounding)
    if due * odds.den != line.stake * odds.num:
        said = _rounded(said, rounding.value, rulebook, amount(due, currency), currency)
    if due != line.winnings:
        said = Phrase("{sum}, cut by an aggregate maximum to {won}", sum=said, won=won)
    return said


def _rounded(said: str, how: str, rulebook: Rulebook, to: str, currency: Currency) -> Phrase:
    return Phrase(
        "{sum}, rounded {how} to a multiple of {unit}: {to}",
        sum=said,
        how=Phrase(how),
        unit=amount(rulebook.unit, currency),
        to=to,
    )


def _commission(line: SettlementLine, rulebook: Rulebook | None, currency: Currency) -> str:
    kept = amount(line.commission, currency)
    terms = rulebook.commission if rulebook else None
    if rulebook is None or terms is None:
        return Phrase("commission {kept}", kept=kept)
    counted = -(-line.winnings // terms.block) * terms.block
    said = Phrase(
        "commission {rate} of {won} = {exact}",
        rate=f"{terms.rate.num}/{terms.rate.den}",
        won=amount(counted, currency),
        exact=exact_amount(counted * terms.rate.num, terms.rate.den, currency),
    )
    if counted != line.winnings:
        block = amount(terms.block, currency)
        said = Phrase("{sum} (counted in whole {block})", sum=said, block=block)
    if counted * terms.rate.num != line.commission * terms.rate.den:
        said = _rounded(said, rulebook.rounding.commission.value, rulebook, kept, currency)
    return said
