"""The group `baccarat shoe`: work on a shoe's line without a table."""

from typing import Final

from baccarat.cli.lazy import LazyGroup

__all__ = ["shoe"]

_COMMANDS: Final = {
    "capture": (
        "baccarat.cli.shoe.capture:capture",
        "record what a shoe says, with its times",
    ),
    "conform": ("baccarat.cli.shoe.conform:conform", "hold a shoe to its profile, step by step"),
    "decode": ("baccarat.cli.shoe.decode:decode", "what captures and journals say"),
    "learn": ("baccarat.cli.shoe.learn:learn", "propose a profile for an unknown shoe"),
    "list": ("baccarat.cli.shoe.list:list_ports", "serial ports by their stable names"),
    "monitor": ("baccarat.cli.shoe.monitor:monitor", "watch a line live"),
    "profiles": ("baccarat.cli.shoe.profiles:profiles", "the wire profiles there are"),
}

shoe: Final = LazyGroup(
    name="shoe", help="Find, record, watch and decode what a shoe says.", lazy=_COMMANDS
)
