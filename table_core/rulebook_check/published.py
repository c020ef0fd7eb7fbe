"""What the published documents fix of a wager, and how a rulebook differs from it.

A row is a wager as one document has it: what it pays, and the rate of its commission. A rulebook
that offers the wager pays by one of its rows, or says `own_odds = true` (form 2). A `push` on a tie
is an option of every side bet (docs/reference/rules.md), so no row has it for them.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final, NamedTuple

from events.money import Odds, parse_odds
from events.toml_form import FileFault
from table_core.rules.rulebook import INITIAL_PHASE, PUSH, Bet, Rulebook
from table_core.rules.sign import PAY_SCALES

__all__ = ["PUBLISHED", "Published", "published_faults", "spoken_odds"]

_ROWS: Final = """
player: source 2, payouts: win=1 push=push
banker: source 2, payouts: win=1 push=push commission=1/20
banker: source 2, Even Money: win=1 win_on_6=1/2 push=push
banker: the rulebook ez: win=1 push_dragon7=push push=push
tie: source 2, payouts: win=8
player_pair: source 2, Player Pair: pair=11
banker_pair: source 2, Banker Pair: pair=11
super_six: source 2, Super Six: banker_six=15
tiger: source 2, Tiger: two_card=12 three_card=22
big_tiger: source 2, Big Tiger: three_card=55
small_tiger: source 2, Small Tiger: two_card=22
tiger_tie: source 2, Tiger Tie: tie_on_6=45
tiger_pair: source 2, Tiger Pair: single=4 double=25 twin=100
lucky8_player: source 3: double_suited_8=200 suited_8=25 double_8=15 unlucky_8=8 lucky_8=4
lucky8_banker: source 3: double_suited_8=200 suited_8=25 double_8=15 unlucky_8=8 lucky_8=4
"""
_SCALED: Final = "perfect_pairs"
_SCALE: Final = "Pay Scale "
_OWN: Final = "where the site means it, own_odds = true in [bets.{}] of a file of form 2"


class Published(NamedTuple):
    """A wager as a document has it.

    Args:
        source: the document and clause.
        pays: category to odds, None for a push.
        commission: the rate that the house keeps of winnings; None for none.
    """

    source: str
    pays: Mapping[str, Odds | None]
    commission: Odds | None

    @property
    def scale(self) -> str | None:
        """The name of the pay scale, such as `one`."""
        return self.source.partition(_SCALE)[2].lower() or None


def _published() -> Mapping[str, tuple[Published, ...]]:
    found: dict[str, tuple[Published, ...]] = {}
    scales = (
        f"{_SCALED}: source 1, 11A.7, {_SCALE}{name.capitalize()}: "
        + " ".join(f"{category}={odds}" for category, odds in scale.items())
        for name, scale in PAY_SCALES.items()
    )
    for row in (*_ROWS.strip().splitlines(), *scales):
        bet, source, written = row.split(": ")
        pays = dict(each.split("=") for each in written.split())
        commission = pays.pop("commission", None)
        each = Published(
            source,
            {name: None if odds == PUSH else parse_odds(odds) for name, odds in pays.items()},
            parse_odds(commission) if commission else None,
        )
        found[bet] = (*found.get(bet, ()), each)
    return found


PUBLISHED: Final = _published()
"""Bet to the ways in which the documents have it."""


def spoken_odds(odds: Odds | None) -> str:
    """Return odds as a sentence has them: `8 to 1`, or `push`."""
    return f"{odds.num} to {odds.den}" if odds else PUSH


def published_faults(rulebook: Rulebook) -> Iterator[FileFault]:
    """Yield in what the offered wagers differ from the documents that have them."""
    for bet in rulebook.bets.values():
        if not bet.offered:
            continue
        rows = PUBLISHED.get(bet.id, ())
        if rows and not bet.own_odds:
            nearest = min(rows, key=lambda row: _distance(rulebook, bet, row))
            yield from _unlike(rulebook, bet, nearest)
        if bet.id == _SCALED and bet.phase != INITIAL_PHASE:
            text = f"phase {bet.phase}; 11A.6 pays at the end of the initial deal"
            yield FileFault.of(f"bets.{bet.id}.phase", "wrong_phase", text, "write phase = 1")


def _distance(rulebook: Rulebook, bet: Bet, row: Published) -> tuple[int, bool, bool]:
    faults = sum(1 for _ in _unlike(rulebook, bet, row))
    taken = bet.commission != (row.commission is not None)
    return faults, taken, row.scale is not None and row.scale != rulebook.sign.pay_scale


def _unlike(rulebook: Rulebook, bet: Bet, row: Published) -> Iterator[FileFault]:
    own = _OWN.format(bet.id)
    for category in _differences(bet, row):
        has, where = row.pays.get(category), f"bets.{bet.id}.pays.{category}"
        listed = category in row.pays
        says = spoken_odds(has) if listed else "no such payment"
        pays = spoken_odds(bet.schedule[category]) if category in bet.schedule else "not listed"
        right = "leave it out" if not listed else f'write "{_written(has)}"'
        text = f"{pays}; {row.source} has {says}"
        yield FileFault.of(where, "not_as_published", text, f"{right}, or {own}")
    rate = rulebook.commission.rate if bet.commission and rulebook.commission else None
    if _share(rate) != _share(row.commission):
        where = "commission.rate" if rate and row.commission else f"bets.{bet.id}.commission"
        text = f"{_percent(rate)}; {row.source} has {_percent(row.commission)}"
        right = f'write rate = "{row.commission}"' if row.commission else "write commission = false"
        yield FileFault.of(where, "not_as_published", text, f"{right}, or {own}")


def _differences(bet: Bet, row: Published) -> list[str]:
    """Return the categories that pay otherwise than in the row."""
    optional = set() if PUSH in row.pays else {PUSH}
    named = dict.fromkeys((*row.pays, *bet.schedule))
    return [
        category
        for category in named
        if category not in optional
        and (
            category not in bet.schedule
            or category not in row.pays
            or _share(bet.schedule[category]) != _share(row.pays[category])
        )
    ]


def _share(odds: Odds | None) -> Fraction | None:
    return Fraction(odds.num, odds.den) if odds else None


def _written(odds: Odds | None) -> str:
    return str(odds).removesuffix("/1") if odds else PUSH


def _percent(rate: Odds | None) -> str:
    share = f"{float(Fraction(rate.num * 100, rate.den)):g} %" if rate else "no"
    return f"{share} commission"
