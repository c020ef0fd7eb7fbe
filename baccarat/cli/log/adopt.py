"""`baccarat log adopt`: a named person answers for a log that no signatures prove."""

from pathlib import Path

import click

from baccarat.cli.main import EXIT_DONE, EXIT_NO, print_error
from baccarat.cli.shown import say
from baccarat.config.table import load_config
from baccarat.services.registry import configure_logging
from baccarat.services.table import adopt_log
from baccarat.site.credentials import with_sources
from events.commands.text_lengths import COMMAND_LENGTHS
from events.errors import InputError, LogError
from events.free_text import find_forbidden

__all__ = ["adopt"]


@click.command("adopt")
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--by", required=True, metavar="NAME", help="Who answers for it.")
@click.option(
    "--reason", required=True, metavar="TEXT", help="Why: which backup, and what it lost."
)
def adopt(config: Path, by: str, reason: str) -> int:
    """Let the table of CONFIG vouch for its log as it is, in your name.

    For a log that was restored, or whose signatures end early, and that the table therefore refuses
    to open. Stop the table first, and verify the log. An event records who adopted it and why, with
    the signed state that is given up; the table signs it at once. Exit code 0: done; 1: the log is
    not sound, or a table has it; 2: bad usage.
    """
    for option, text in (("--by", by), ("--reason", reason)):
        if not text.strip():
            raise InputError(f"{option}: say it in words; it is recorded")
        for _, fault in find_forbidden({"reason": text}, lengths=COMMAND_LENGTHS):
            raise InputError(f"{option}: {fault}")
    configure_logging("adopt", quiet=True)
    try:
        events = adopt_log(with_sources(load_config(config)), by, reason)
    except LogError as error:
        print_error(f"nothing adopted: {error}")
        return EXIT_NO
    say(f"{config}: adopted by {by}, {events:,} events, and signed")
    return EXIT_DONE
