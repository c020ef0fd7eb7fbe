"""Print lines and table rows for a person, whatever the texts in them would do to a terminal."""

from typing import TYPE_CHECKING

import click

from events.free_text import show_lines, show_text

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["add_shown_row", "say"]


def say(*lines: str, err: bool = False) -> None:
    """Print lines on stdout or stderr; a text in one neither ends it nor controls the terminal."""
    click.echo(show_lines(lines), err=err)


def add_shown_row(table: "Table", *cells: str) -> None:
    """Add a row of plain texts to a table: no controls, and no markup of rich's."""
    from rich.text import Text  # noqa: PLC0415 - only tables need it, and it takes long

    table.add_row(*(Text(show_text(cell)) for cell in cells))
