"""How to play, by the rulebook: sentences on the deal, on betting, and on each wager. Pure."""

from collections.abc import Iterator
from typing import Final

from table_core.rules.draw import DRAW_TABLE
from table_core.rules.rulebook import INITIAL_PHASE, PUSH, Bet, Requirement, Rulebook
from table_core.rules.wagers import BET_KINDS
from table_core.texts.sentences import Sentence, Value
from table_core.texts.sign import offered_bets, their_names

__all__ = [
    "category_meaning",
    "draw_lines",
    "limit_line",
    "play_lines",
    "variant_of",
    "winning_line",
]

_NATURAL: Final = "natural"
_MARGIN: Final = "win_by_"
# A variant of these says when they win; a variant of the others, what their best category means.
_WON_BY_VARIANT: Final = frozenset({"perfect_pairs"})


def play_lines(rulebook: Rulebook) -> tuple[Sentence, ...]:
    """Return how the game is played, before the tables of third cards."""
    return (*_deal(rulebook), *_betting(rulebook), *_rounding(rulebook))


def draw_lines() -> tuple[Sentence, ...]:
    """Return the draw table, a line a row; a natural once."""
    rules = dict.fromkeys(row.rule.rule for row in DRAW_TABLE)
    return tuple(Sentence(f"rule.{rule}") for rule in rules)


def winning_line(bet: Bet) -> Sentence:
    """Return when a bet wins."""
    variant = variant_of(bet) if bet.id in _WON_BY_VARIANT else ""
    return Sentence(f"wins.{bet.id}.{variant}" if variant else f"wins.{bet.id}")


def category_meaning(bet: Bet, category: str) -> Sentence:
    """Return what came when a bet comes out as this category."""
    if category.startswith(_MARGIN):
        return Sentence("means.win_by", {"points": category.removeprefix(_MARGIN)})
    variant = variant_of(bet) if category == "double_suited_8" else ""
    return Sentence(f"means.{category}.{variant}" if variant else f"means.{category}")


def limit_line(bet: Bet) -> Sentence:
    """Return a bet's own limits."""
    values: dict[str, Value] = {"minimum": bet.minimum, "step": bet.step}
    if bet.maximum is None:
        return Sentence("help.limits_from", values)
    return Sentence("help.limits", values | {"maximum": bet.maximum})


def variant_of(bet: Bet) -> str:
    """Return the name of the bet's variant; empty where its kind has none."""
    judges = BET_KINDS[bet.id].judges
    return next(name for name, judge in judges.items() if judge is bet.judge)


def _deal(rulebook: Rulebook) -> Iterator[Sentence]:
    yield Sentence("help.aim")
    yield Sentence("help.decks", {"decks": str(rulebook.decks)})
    yield Sentence("help.values")
    yield Sentence("help.deal")
    yield Sentence("help.third")


def _betting(rulebook: Rulebook) -> Iterator[Sentence]:
    offered = offered_bets(rulebook)
    closes = rulebook.procedure.betting_closes
    yield Sentence(f"help.closes.{closes}")
    first = their_names(bet for bet in offered if BET_KINDS[bet.id].before_first_card)
    if first and closes != "first_card":
        yield Sentence("help.closes_first", {"bets": first})
    needing = their_names(bet for bet in offered if bet.requirement is not Requirement.NONE)
    if needing:
        order = "any" if rulebook.options.side_bet_first else "after"
        yield Sentence(f"help.order.{order}", {"bets": needing})
    early = their_names(bet for bet in offered if bet.phase == INITIAL_PHASE)
    if early:
        yield Sentence("help.initial", {"bets": early})
    pushing = their_names(bet for bet in offered if PUSH in bet.schedule)
    if pushing:
        yield Sentence("help.tie_pushes", {"bets": pushing})
    opposite = "allowed" if rulebook.options.allow_opposite else "refused"
    yield Sentence(f"help.opposite.{opposite}")


def _rounding(rulebook: Rulebook) -> Iterator[Sentence]:
    unit: dict[str, Value] = {"unit": rulebook.unit}
    yield Sentence(f"help.rounding.{rulebook.rounding.payout.value}", unit)
    if rulebook.commission is not None:
        yield Sentence(f"help.commission_rounding.{rulebook.rounding.commission.value}", unit)
