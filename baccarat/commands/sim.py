"""`baccarat sim ...`: the world around a table, without the table."""

from typing import Final

from baccarat.commands.lazy import LazyGroup

__all__ = ["sim"]

_COMMANDS: Final = {
    "shoe": ("baccarat.commands.sim_shoe:shoe", "a dealing shoe alone, on a pseudo-terminal"),
}

sim: Final = LazyGroup(name="sim", help="Simulate what stands around a table.", lazy=_COMMANDS)
