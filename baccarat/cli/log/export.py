"""`baccarat log export`: a whole log as JSON Lines."""

import sys
from pathlib import Path

import click

from baccarat.cli.main import EXIT_DONE, EXIT_NO, print_error
from baccarat.cli.output_files import require_stdout, write_whole
from baccarat.cli.progress import show_progress, stderr_is_terminal
from baccarat.cli.shown import say
from baccarat.history.log_export import editions_of, export_lines
from events.errors import LogRefused
from events.log.reader import reading

__all__ = ["export"]


@click.command("export")
@click.argument("log", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE",
              help="Instead of standard output; whole, or not at all.")  # fmt: skip
def export(log: Path, output: Path | None) -> int:
    """Write LOG (table.sqlite) as JSON Lines, for a verifier by another hand.

    A line an event, with its stored bytes and its hash; the signed checkpoints, and the rulebooks
    and wire profiles that the events cite, between them. Closed files are read too. LOG stays as it
    is, and may be in use. The export holds every card that the shoe has told of, sealed ones too.
    Exit code 1: LOG is damaged, and the position is named; 2: there is no such log.
    """
    if output is None:
        require_stdout("the export")
    progress = show_progress if output is not None and stderr_is_terminal() else None
    try:
        with reading(log) as reader:
            lines = export_lines(reader, editions_of(log), progress)
            if output is None:
                sys.stdout.buffer.writelines(lines)
                return EXIT_DONE
            write_whole(output, lines, "-o")
            said = f"{output}: {reader.end:,} events, {output.stat().st_size:,} bytes"
    except LogRefused as error:
        print_error(str(error))
        return EXIT_NO
    say(said, err=True)
    return EXIT_DONE
