"""Coups of many wagers, each of a patron of its own."""

from events.commands import OpenBetting, PlaceWager, WagerRequest
from table_core.state.coup import Phase
from tests.support.table.coups import World, world_in


def placed(count: int) -> World:
    """A table with so many wagers on the layout."""
    world = world_in(Phase.NONE)
    world.must(OpenBetting(transaction="o"))
    place(world, range(count))
    return world


def place(world: World, numbers: range) -> None:
    """Place a wager for each number."""
    for number in numbers:
        asked = WagerRequest(seat=number % 99 + 1, bet="tie", stake=100, patron=f"p{number}")
        world.must(PlaceWager(transaction=f"w-{number}", wagers=(asked,)))
