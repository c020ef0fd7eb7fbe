"""Print a rich table at full width, so that the terminal cuts no amount."""

from typing import Final

from rich.console import Console
from rich.table import Table

__all__ = ["print_whole"]

_WIDEST: Final = 10_000


def print_whole(table: Table) -> None:
    """Print it on stdout at its full width; a narrower terminal breaks its lines.

    A pipe or a file gets the cells without a frame.
    """
    out = Console()
    if not out.is_terminal:
        table.box = None
    wanted = out.measure(table, options=out.options.update(width=_WIDEST)).maximum
    out.width = max(out.width, wanted)
    out.print(table)
