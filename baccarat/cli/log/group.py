"""The group `baccarat log`: verify, show, count, export, back up and restore event logs."""

from typing import Final

import click

from baccarat.cli.lazy import LazyGroup

__all__ = ["log"]

_COMMANDS: Final = {
    "adopt": (
        "baccarat.cli.log.adopt:adopt",
        "Let the table of CONFIG vouch for its log as it is, in your name.",
    ),
    "backup": (
        "baccarat.cli.log.copies:backup_command",
        "Copy LOG (table.sqlite), which may be in use, to a new FILE,...",
    ),
    "export": (
        "baccarat.cli.log.export:export",
        "Write LOG (table.sqlite) as JSON Lines, for a verifier by another...",
    ),
    "restore": (
        "baccarat.cli.log.copies:restore_command",
        "Put FILE, a backup, in place as LOG (table.sqlite), once it is...",
    ),
    "show": (
        "baccarat.cli.log.show:show",
        "Show the events of LOG (table.sqlite), oldest first, a line each.",
    ),
    "stats": ("baccarat.cli.log.stats:stats", "Count what LOG (table.sqlite) holds."),
    "verify": (
        "baccarat.cli.log.verify:verify_command",
        "Prove that nobody edited LOG, a table's log file (table.sqlite).",
    ),
}


@click.group(cls=LazyGroup, lazy=_COMMANDS)
def log() -> None:
    """Look after event logs."""
