"""`baccarat sim ...`: the world around a table, without the table."""

from typing import Final

from baccarat.commands.lazy import LazyGroup

__all__ = ["sim"]

_COMMANDS: Final = {
    "cage-feed": (
        "baccarat.commands.sim_cage_feed:cage_feed",
        "a table for a cage under test: is its book right?",
    ),
    "casino": ("baccarat.commands.sim_casino:casino", "many tables, and what they take"),
    "shoe": ("baccarat.commands.sim_shoe:shoe", "a dealing shoe alone, on a pseudo-terminal"),
    "world": (
        "baccarat.commands.sim_world:world",
        "whole tables from seeds, where everything goes wrong",
    ),
}

sim: Final = LazyGroup(name="sim", help="Simulate what stands around a table.", lazy=_COMMANDS)
