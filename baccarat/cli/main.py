"""The command line: names, options and exit codes are a contract with scripts outside.

Exit codes: 0 done; 1 the answer is no, or the machine ended a service that may be started again; 2
bad usage or input, with one line on stderr that says what is wrong, where, and what would be right.
Results go to stdout, everything else to stderr.
"""

import errno
import os
import sqlite3
import sys
from collections.abc import Sequence
from typing import Final

import click

from baccarat.cli.lazy import LazyGroup
from baccarat.services.restart import RestartableError
from events.errors import InputError, TableError
from events.free_text import show_text

__all__ = [
    "EXIT_BAD_INPUT",
    "EXIT_DONE",
    "EXIT_INTERRUPTED",
    "EXIT_NO",
    "cli",
    "main",
    "print_error",
]

EXIT_DONE: Final = 0
EXIT_NO: Final = 1
EXIT_BAD_INPUT: Final = 2
EXIT_INTERRUPTED: Final = 130

_NO_WRAPPING: Final = 10_000  # columns of help in a pipe, which has no width

# Name -> (module:attribute, one line). A command is imported when called, so `settle` never imports
# MQTT.
_COMMANDS: Final = {
    "cage": ("baccarat.cli.cage.group:cage", "the reference ledger: run, read, reconcile it"),
    "config": ("baccarat.cli.config.group:config", "a table's TOML file: begin, check, read it"),
    "demo": ("baccarat.cli.demo:demo", "a whole table on this machine"),
    "doctor": ("baccarat.cli.doctor:doctor", "what is wrong with a table, and what to do"),
    "evidence": ("baccarat.cli.evidence:evidence", "prove one coup, or verify its proof"),
    "keys": ("baccarat.cli.keys:keys", "make and show the keys of checkpoints and messages"),
    "log": ("baccarat.cli.log.group:log", "verify, show, count, back up and restore event logs"),
    "odds": ("baccarat.cli.odds:odds", "exact odds of a rulebook's wagers"),
    "pki": ("baccarat.cli.pki:pki", "a small certificate authority for one site"),
    "practice": ("baccarat.cli.sim.practice:practice", "deal yourself at a table, with a coach"),
    "property": (
        "baccarat.cli.property.group:property_command",
        "many tables: uplinks, archive, witness, page, questions",
    ),
    "replay": (
        "baccarat.cli.replay:replay_command",
        "the table at any moment, a coup step by step, what if",
    ),
    "roads": ("baccarat.cli.roads:roads", "the roads of a row of results"),
    "rulebook": ("baccarat.cli.rulebook:rulebook", "list, show, print or check rulebooks"),
    "run": ("baccarat.cli.run:run", "a controller's services from its TOML file"),
    "schema": ("baccarat.cli.schema:schema", "the contract of the bus, for other programs"),
    "settle": ("baccarat.cli.settle:settle", "judge coups without a table"),
    "shoe": ("baccarat.cli.shoe.group:shoe", "find, record, watch, decode what a shoe says"),
    "sim": ("baccarat.cli.sim.group:sim", "simulate a shoe, a casino, or what tests your program"),
    "site": ("baccarat.cli.site:site", "keys, passwords and logins of tables that play on"),
    "user": ("baccarat.cli.user:user", "who may log in at the consoles"),
}


# What click says of a value, and what it means.
_PLAIN: Final = {
    "is not a valid integer range": "is not a whole number",
    "is not a valid float range": "is not a number",
}


@click.group(
    cls=LazyGroup,
    lazy=_COMMANDS,
    plugins="baccarat.commands",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(None, "-V", "--version", package_name="baccarat-table", prog_name="baccarat")
def cli() -> None:
    """A live baccarat table: shoe driver, event-sourced core, settlements that can be proved."""


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns:
        The exit code.
    """
    _open_streams()
    try:
        _require_utf8(sys.argv[1:] if args is None else args)
        width = None if sys.stdout.isatty() else _NO_WRAPPING
        result = cli.main(
            args=args, prog_name="baccarat", standalone_mode=False, terminal_width=width
        )
        sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()  # the reader of our output is gone, and nobody would see a message
        return EXIT_NO
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return EXIT_BAD_INPUT
    except (click.ClickException, TableError, OSError, sqlite3.Error) as error:
        print_error(*_lines(error))
        return EXIT_NO if isinstance(error, RestartableError) else EXIT_BAD_INPUT
    return result if isinstance(result, int) else EXIT_DONE


def _require_utf8(args: Sequence[str]) -> None:
    """Check that the arguments can be shown, stored and sent: Python takes any bytes.

    Raises:
        InputError: one of them is not UTF-8.
    """
    for given in args:
        try:
            given.encode()
        except UnicodeEncodeError as error:
            raw = given.encode(errors="surrogateescape")
            shown = raw.decode(errors="backslashreplace")
            raise InputError(f"argument '{shown}' is not UTF-8; write it in UTF-8") from error


def _lines(error: Exception) -> tuple[str, ...]:
    """Return the error in one line, or in one line for each fault of a file."""
    return getattr(error, "lines", None) or (_in_one_line(error),)


def _in_one_line(error: Exception) -> str:
    if isinstance(error, click.UsageError) and error.ctx is not None:
        said = error.format_message()
        for words, plain in _PLAIN.items():
            said = said.replace(words, plain)
        stop = "" if said.endswith((".", "?")) else "."
        return f"{said}{stop} `{error.ctx.command_path} -h` lists what there is."
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, OSError):
        if error.filename is None:
            _silence_stdout()
            if error.errno == errno.EBADF:
                return "standard output is closed; what is said needs somewhere to go"
        return f"{error.filename or 'standard output'}: {error.strerror}"
    if isinstance(error, sqlite3.Error):
        return f"a database file of this run: {error}"
    return str(error)


def _silence_stdout() -> None:
    """Keep the interpreter from reporting at exit that it could not write the rest."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_streams() -> None:
    """Replace each standard stream that was closed before the start.

    Otherwise the next file to be opened, a log perhaps, would get the stream's number, and output
    would be written into it. As in the GNU tools, printing results then raises an error.
    """
    for number, mode in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)


def print_error(*messages: str) -> None:
    """Write messages for a person to stderr, a line each, with the command's name before it."""
    for message in messages:
        line = show_text(" ".join(message.split()))
        print(f"baccarat: {line}", file=sys.stderr)  # noqa: T201 - the command's voice
