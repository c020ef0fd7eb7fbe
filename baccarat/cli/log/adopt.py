"""`baccarat log adopt`: a named person answers for a log that no signatures prove."""

from pathlib import Path
from typing import Final

import click

from baccarat.cli.main import EXIT_DONE, EXIT_NO, print_error
from baccarat.cli.shown import say
from baccarat.cli.value_types import OneLine
from baccarat.config.table import load_config
from baccarat.services.registry import configure_logging
from baccarat.services.table import adopt_log
from baccarat.site.credentials import with_sources
from events.commands.text_lengths import COMMAND_LENGTHS
from events.errors import LogError

__all__ = ["adopt"]

_RECORDED: Final = OneLine(COMMAND_LENGTHS.of("reason"))


@click.command("adopt")
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--by", required=True, metavar="NAME", type=_RECORDED, help="Who answers for it.")
@click.option(
    "--reason",
    required=True,
    metavar="TEXT",
    type=_RECORDED,
    help="Why: which backup, and what it lost.",
)
def adopt(config: Path, by: str, reason: str) -> int:
    """Let the table of CONFIG vouch for its log as it is, in your name.

    For a log that was restored, or whose signatures end early, and that the table therefore refuses
    to open. Stop the table first, and verify the log. An event records who adopted it and why, with
    the signed state that is given up; the table signs it at once. Exit code 0: done; 1: the log is
    not sound, or a table has it; 2: bad usage.
    """
    configure_logging("adopt", quiet=True)
    try:
        events = adopt_log(with_sources(load_config(config)), by, reason)
    except LogError as error:
        print_error(f"nothing adopted: {error}")
        return EXIT_NO
    say(f"{config}: adopted by {by}, {events:,} events, and signed")
    return EXIT_DONE
