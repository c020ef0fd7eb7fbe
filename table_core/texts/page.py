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
_WIN: Final = "win"
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
        often: how often it wins in all.
        edge: the house's share of a stake on average.
        limits: of its stakes.
    """

    id: str
    name: str
    wins: str
    rows: tuple[OutcomeRow, ...]
    often: str
    edge: str
    limits: str


class RulesPage(Struct, frozen=True, kw_only=True):
    """The whole page; every text is in its language.

    Args:
        rulebook: the id.
        game: the kind of game.
        title: the rulebook's own.
        sign: the lines of the sign.
        play: how to play.
        draw: the draw table.
        wagers: in the rulebook's order.
        odds: how the odds were worked out.
        source: the rulebook's id and the hash of its file.
    """

    rulebook: str
    game: str
    title: str
    sign: tuple[str, ...]
    play: tuple[str, ...]
    draw: tuple[str, ...]
    wagers: tuple[WagerRules, ...]
    odds: str
    source: str


def rules_page(
    rulebook: Rulebook,
    odds: Mapping[str, BetOdds],
    words: Words,
    *,
    says: Iterable[Sentence] | None = None,
) -> RulesPage:
    """Return the page in one language.

    Args:
        rulebook: its bets with the limits in force.
        odds: of the rulebook, as `exact_odds` gives them for a full shoe.
        words: of the language.
        says: the sign's lines with the limits in force; None for those of the rulebook.
    """

    def said(sentences: Iterable[Sentence]) -> tuple[str, ...]:
        return tuple(say(each, words, rulebook.money) for each in sentences)

    source: dict[str, Value] = {"rulebook": rulebook.id, "hash": rulebook.hash}

    def own(text: str) -> str:
        return words.get(f"sign.{text}", text)

    written = () if rulebook.sign.generated else rulebook.sign.lines
    return RulesPage(
        rulebook=rulebook.id,
        game=own(rulebook.sign.game),
        title=rulebook.title,
        sign=(*map(own, written), *said(sign_lines(rulebook) if says is None else says)),
        play=said(play_lines(rulebook)),
        draw=said(draw_lines()),
        wagers=tuple(_wager(bet, rulebook, odds[bet.id], words) for bet in offered_bets(rulebook)),
        odds=" ".join(said([Sentence("help.odds", {"decks": str(rulebook.decks)})])),
        source=" ".join(said([Sentence("help.source", source)])),
    )


def rules_pages(
    rulebook: Rulebook, odds: Mapping[str, BetOdds], languages: Mapping[str, Words]
) -> dict[str, RulesPage]:
    """Return every text that follows from a rulebook, by language."""
    return {tag: rules_page(rulebook, odds, words) for tag, words in languages.items()}


def _wager(bet: Bet, rulebook: Rulebook, odds: BetOdds, words: Words) -> WagerRules:
    def said(sentence: Sentence) -> str:
        return say(sentence, words, rulebook.money)

    wins = sum(row.probability for row in odds.categories.values() if row.pays > 0)
    return WagerRules(
        id=bet.id,
        name=words[f"bet.{bet.id}"],
        wins=said(winning_line(bet)),
        rows=tuple(_rows(bet, rulebook, odds, words)),
        often=said(Sentence("help.often", {"chance": percent(Fraction(wins))})),
        edge=said(Sentence("help.edge", {"edge": percent(odds.edge)})),
        limits=said(limit_line(bet)),
    )


def _rows(bet: Bet, rulebook: Rulebook, odds: BetOdds, words: Words) -> Iterator[OutcomeRow]:
    for category, row in odds.categories.items():
        shared = _SHARED.get(category)
        meaning = Sentence(shared) if shared else category_meaning(bet, category)
        yield OutcomeRow(
            name="" if shared or category == _WIN else words[f"category.{bet.id}.{category}"],
            means=say(meaning, words, rulebook.money),
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
        return say(Sentence("help.pays_less", values), words, rulebook.money)
    return say(Sentence("help.pays", values), words, rulebook.money)
