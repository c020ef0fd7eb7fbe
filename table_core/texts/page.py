"""The rules of a table as a patron reads them, in one language: the content of `/rules`. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Final

from msgspec import Struct

from table_core.odds.exact import BetOdds
from table_core.rules.rulebook import PUSH, Bet, Rulebook
from table_core.texts.help import (
    category_meaning,
    draw_lines,
    limit_line,
    play_lines,
    winning_line,
)
from table_core.texts.sentences import Sentence, Value, Words, percent, percent_of, say
from table_core.texts.sign import offered_bets, sign_lines

__all__ = ["OutcomeRow", "RulesPage", "WagerRules", "rules_page", "rules_pages"]

_LOSE: Final = "lose"
_SHARED: Final = {PUSH: "help.tie", _LOSE: "help.otherwise"}
"""What came, where it is no category of the wager's own."""


class OutcomeRow(Struct, frozen=True, kw_only=True):
    """One way in which a wager can come out.

    Args:
        name: as the layout has it.
        means: what came.
        pays: to one, less commission.
        chance: how often it comes, in per cent.
    """

    name: str
    means: str
    pays: str
    chance: str


class WagerRules(Struct, frozen=True, kw_only=True):
    """A wager: when it wins, what it pays and how often, and what the house keeps of it.

    Args:
        id: of the bet.
        name: as the layout has it.
        wins: when it wins.
        rows: its outcomes, those that lose last.
        wins_often: how often it wins in all, in per cent.
        edge: the house's share of a stake on average, in per cent.
        limits: of its stakes.
    """

    id: str
    name: str
    wins: str
    rows: tuple[OutcomeRow, ...]
    wins_often: str
    edge: str
    limits: str


class RulesPage(Struct, frozen=True, kw_only=True):
    """The whole page; every text is in its language.

    Args:
        rulebook: the id.
        hash: of the rulebook's file.
        game: the kind of game.
        title: the rulebook's own.
        sign: the lines of the sign.
        play: how to play.
        draw: the draw table.
        wagers: in the rulebook's order.
        odds: how the odds were worked out.
    """

    rulebook: str
    hash: str
    game: str
    title: str
    sign: tuple[str, ...]
    play: tuple[str, ...]
    draw: tuple[str, ...]
    wagers: tuple[WagerRules, ...]
    odds: str


def rules_page(rulebook: Rulebook, odds: Mapping[str, BetOdds], words: Words) -> RulesPage:
    """Return the page in one language.

    Args:
        rulebook: with the limits in force.
        odds: of the rulebook, as `exact_odds` gives them for a full shoe.
        words: of the language.
    """

    def said(sentences: Iterable[Sentence]) -> tuple[str, ...]:
        return tuple(say(each, words, rulebook.currency) for each in sentences)

    def own(text: str) -> str:
        return words.get(f"sign.{text}", text)

    written = () if rulebook.sign.generated else rulebook.sign.lines
    return RulesPage(
        rulebook=rulebook.id,
        hash=rulebook.hash,
        game=own(rulebook.sign.game),
        title=rulebook.title,
        sign=(*map(own, written), *said(sign_lines(rulebook))),
        play=said(play_lines(rulebook)),
        draw=said(draw_lines()),
        wagers=tuple(
            _wager(bet, rulebook, odds[bet.id], words) for bet in offered_bets(rulebook)
        ),
        odds=say(Sentence("help.odds", {"decks": str(rulebook.decks)}), words, rulebook.currency),
    )


def rules_pages(
    rulebook: Rulebook, odds: Mapping[str, BetOdds], languages: Mapping[str, Words]
) -> dict[str, RulesPage]:
    """Return every text that follows from a rulebook, by language."""
    return {tag: rules_page(rulebook, odds, words) for tag, words in languages.items()}


def _wager(bet: Bet, rulebook: Rulebook, odds: BetOdds, words: Words) -> WagerRules:
    rows = tuple(_rows(bet, rulebook, odds, words))
    wins = sum(row.probability for row in odds.categories.values() if row.pays > 0)
    return WagerRules(
        id=bet.id,
        name=words[f"bet.{bet.id}"],
        wins=say(winning_line(bet), words, rulebook.currency),
        rows=rows,
        wins_often=percent(Fraction(wins)),
        edge=percent(odds.edge),
        limits=say(limit_line(bet), words, rulebook.currency),
    )


def _rows(bet: Bet, rulebook: Rulebook, odds: BetOdds, words: Words) -> Iterator[OutcomeRow]:
    for category, row in odds.categories.items():
        shared = _SHARED.get(category)
        meaning = Sentence(shared) if shared else category_meaning(bet, category)
        yield OutcomeRow(
            name="" if shared else words[f"category.{bet.id}.{category}"],
            means=say(meaning, words, rulebook.currency),
            pays=words["help.lost"] if category == _LOSE else _pays(bet, rulebook, category, words),
            chance=percent(row.probability),
        )


def _pays(bet: Bet, rulebook: Rulebook, category: str, words: Words) -> str:
    odds = bet.schedule[category]
    if odds is None:
        return words["help.pushed"]
    values: dict[str, Value] = {"num": str(odds.num), "den": str(odds.den)}
    if bet.commission and rulebook.commission is not None:
        values["rate"] = percent_of(rulebook.commission.rate)
        return say(Sentence("help.pays_less", values), words, rulebook.currency)
    return say(Sentence("help.pays", values), words, rulebook.currency)
