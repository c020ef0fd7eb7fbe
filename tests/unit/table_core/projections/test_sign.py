"""What the sign at the table must say: in the rulebook's words, and in the figures of `state`."""

import re

import pytest

from events.commands.wagers import SetLimits
from events.types.wagers import BetLimits
from table_core.decide.decision import DecisionContext
from table_core.projections.table_document import BetView, project_table
from table_core.rulebooks.shipped import load_rulebook, shipped_ids
from table_core.rules.rulebook import Rulebook
from table_core.state.coup import Phase
from tests.support.cage.books import book
from tests.support.table.coups import World, world_in


def words(rulebook: Rulebook) -> str:
    return " ".join(rulebook.sign.lines)


@pytest.mark.parametrize(("name", "scale"), [("nz-scale-one", "one"), ("nz-scale-two", "two")])
def test_a_sign_says_what_its_rulebook_pays(name: str, scale: str) -> None:
    rulebook = load_rulebook(name)
    schedule = rulebook.bets["perfect_pairs"].schedule
    said = dict(re.findall(r"(mixed|coloured|perfect) (\d+)", words(rulebook)))
    assert said == {category: str(odds and odds.num) for category, odds in schedule.items()}
    assert rulebook.sign.pay_scale == scale
    assert f"Pay Scale {scale.capitalize()}" in words(rulebook)


def test_the_lucky_8_sign_says_its_maxima_and_that_there_is_no_side_betting() -> None:
    rulebook = load_rulebook("mini-lucky8")
    (cap,) = rulebook.caps
    maxima = {rulebook.bets[bet].maximum for bet in cap.bets}
    dollars = re.findall(r"\$([\d,]*\d)", words(rulebook))
    said = {int(amount.replace(",", "")) * 100 for amount in dollars}
    assert said == {cap.maximum, *maxima}
    assert "No side betting" in words(rulebook)


@pytest.mark.parametrize("name", shipped_ids())
def test_a_sign_says_which_game_it_is(name: str) -> None:
    rulebook = load_rulebook(name)
    even_money = rulebook.bets["banker"].schedule.get("win_on_6") is not None
    assert ("Even Money" in rulebook.sign.game) == even_money
    assert "Baccarat" in rulebook.sign.game


@pytest.mark.parametrize("name", shipped_ids())
def test_every_sign_has_a_line_about_help_with_gambling(name: str) -> None:
    assert any("gambling" in line and "help" in line for line in load_rulebook(name).sign.lines)


def shown(world: World) -> dict[str, BetView]:
    rulebook = world.context.rulebook
    document = project_table(world.state, table="t1", rulebook=rulebook, catching_up=False)
    return {bet.id: bet for bet in document.rulebook.bets}


def test_the_sign_shows_the_limits_in_force() -> None:
    world = world_in(Phase.NONE)
    assert (shown(world)["player"].minimum, shown(world)["player"].maximum) == (1, None)
    limits = BetLimits(bet="player", minimum=500, maximum=20_000, step=100)
    world.must(SetLimits(transaction="s", bets=(limits,)))
    player = shown(world)["player"]
    assert (player.minimum, player.maximum, player.step) == (500, 20_000, 100)
    assert player.pays == {"win": "1/1", "push": "push"}
    assert shown(world)["tie"].minimum == 1


def test_a_wager_that_is_not_offered_is_not_on_the_sign() -> None:
    rulebook = book("au-commission", "bets.tiger.offered=false")
    world = World(DecisionContext(table="t1", rulebook=rulebook))
    assert "tiger" not in shown(world)
    assert "big_tiger" in shown(world)
