"""The group `baccarat cage`: run the reference ledger, read it, and reconcile it with the log."""

from typing import Final

import click

from baccarat.cli.lazy import LazyGroup

__all__ = ["cage"]

_COMMANDS: Final = {
    "balance": ("baccarat.cli.cage.read:balance", "what stands on each account"),
    "export": ("baccarat.cli.cage.read:export", "every posting, as CSV or JSON lines"),
    "reconcile": ("baccarat.cli.cage.reconcile:reconcile_command", "the ledger against a log"),
    "report": ("baccarat.cli.cage.report:report_command", "what a shoe or a day came to"),
    "run": ("baccarat.cli.cage.run:run", "book a table's settlements as they come"),
    "statement": ("baccarat.cli.cage.read:statement", "entries, oldest first"),
}


@click.group(cls=LazyGroup, lazy=_COMMANDS)
def cage() -> None:
    """A ledger of what a table has settled, in double entry: one consumer that others can copy."""
