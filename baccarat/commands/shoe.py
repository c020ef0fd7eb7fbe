"""`baccarat shoe ...`: what is said on a shoe's line, seen without a table."""

from typing import Final

from baccarat.commands.lazy import LazyGroup

__all__ = ["shoe"]

_COMMANDS: Final = {
    "capture": (
        "baccarat.commands.shoe_capture:capture",
        "record what a shoe says, with its times",
    ),
    "decode": ("baccarat.commands.shoe_decode:decode", "what captures and journals say"),
    "list": ("baccarat.commands.shoe_list:list_ports", "serial ports by their stable names"),
    "monitor": ("baccarat.commands.shoe_monitor:monitor", "watch a line live"),
    "profiles": ("baccarat.commands.shoe_profiles:profiles", "the wire profiles there are"),
}

shoe: Final = LazyGroup(
    name="shoe", help="Find, record, watch and decode what a shoe says.", lazy=_COMMANDS
)
