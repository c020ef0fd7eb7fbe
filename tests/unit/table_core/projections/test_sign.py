"""What the sign at the table must say, in the figures of `state`."""

from events.commands import SetLimits
from events.types import BetLimits
from table_core.decide.decision import DecisionContext
from table_core.projections.table_document import BetView, project_table
from table_core.state.coup import Phase
from tests.support.cage.books import book
from tests.support.table.coups import World, world_in


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


def test_the_scoreboard_is_told_the_commission_of_a_bet() -> None:
    bets = shown(World(DecisionContext(table="t1", rulebook=book("mini-lucky8"))))
    assert {name: bet.less for name, bet in bets.items() if bet.less} == {"banker": "5"}


def test_a_wager_that_is_not_offered_is_not_on_the_sign() -> None:
    rulebook = book("au-commission", "bets.tiger.offered=false")
    world = World(DecisionContext(table="t1", rulebook=rulebook))
    assert "tiger" not in shown(world)
    assert "big_tiger" in shown(world)
