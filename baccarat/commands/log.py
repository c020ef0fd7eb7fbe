"""`baccarat log`: look after event logs."""

import sys
from pathlib import Path

import click
import msgspec

from baccarat.cli import EXIT_DONE, EXIT_NO
from events.verify import Verdict, verify

__all__ = ["log"]


@click.group()
def log() -> None:
    """Look after event logs."""


@log.command("verify")
@click.argument("log", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def _verify(log: Path, as_json: bool) -> int:
    """Prove that nobody edited LOG, a table's log file (table.sqlite).

    The file stays as it is, and may be in use. Exit code 0: all is well; 1: it is not, and the
    first bad position is named; 2: there is no such log.
    """
    verdict = verify(log, _progress if sys.stderr.isatty() and not as_json else None)
    if as_json:
        click.echo(msgspec.json.encode(verdict._asdict()))
    else:
        click.echo(_told(log, verdict))
    return EXIT_DONE if verdict.ok else EXIT_NO


def _told(log: Path, verdict: Verdict) -> str:
    if verdict.ok:
        return f"{log}: ok, {verdict.events:,} events\nroot {verdict.root}"
    where = "" if verdict.first_bad is None else f" at position {verdict.first_bad:,}"
    return f"{log}: NOT ok{where}: {verdict.reason}"


def _progress(done: int, events: int) -> None:
    click.echo(f"\r{done:,} of {events:,} events", nl=done >= events, err=True)
