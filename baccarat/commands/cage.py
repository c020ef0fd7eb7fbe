"""`baccarat cage ...`: the reference ledger: run it, read it, hold it against the log."""

from typing import Final

import click

from baccarat.commands.lazy import LazyGroup

__all__ = ["cage"]

_COMMANDS: Final = {
    "balance": ("baccarat.commands.cage_read:balance", "what stands on each account"),
    "export": ("baccarat.commands.cage_read:export", "every posting, as CSV or JSON lines"),
    "reconcile": ("baccarat.commands.cage_reconcile:reconcile_command", "the ledger against a log"),
    "report": ("baccarat.commands.cage_report:report_command", "what a shoe or a day came to"),
    "run": ("baccarat.commands.cage_run:run", "book a table's settlements as they come"),
    "statement": ("baccarat.commands.cage_read:statement", "entries, oldest first"),
}


@click.group(cls=LazyGroup, lazy=_COMMANDS)
def cage() -> None:
    """A ledger of what a table has settled, in double entry: one consumer that others can copy."""
