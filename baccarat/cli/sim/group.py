"""The group `baccarat sim`: simulators that run without a table."""

from typing import Final

from baccarat.cli.lazy import LazyGroup

__all__ = ["sim"]

_COMMANDS: Final = {
    "cage-feed": (
        "baccarat.cli.sim.cage_feed:cage_feed",
        "a table for a cage under test: is its book right?",
    ),
    "display-feed": (
        "baccarat.cli.sim.program_feeds:display_feed",
        "a table for a display under test: is its screen right?",
    ),
    "shoe": ("baccarat.cli.sim.shoe:shoe", "a dealing shoe alone, on a pseudo-terminal"),
    "wagers-feed": (
        "baccarat.cli.sim.program_feeds:wagers_feed",
        "a table for a source of wagers under test",
    ),
    "world": (
        "baccarat.cli.sim.world:world",
        "whole tables from seeds, where everything goes wrong",
    ),
}

sim: Final = LazyGroup(
    name="sim",
    help="Simulate what stands around a table.",
    lazy=_COMMANDS,
    plugins="baccarat.sim.commands",
)
