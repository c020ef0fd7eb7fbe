"""`baccarat log show`: print the events of a log, a line each."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from baccarat.cli.main import EXIT_DONE, EXIT_NO
from baccarat.cli.output_files import require_stdout
from baccarat.cli.shown import say
from baccarat.cli.value_types import NAME
from events.errors import InputError
from events.free_text import show_text
from events.log.reader import reading
from events.types import Stored, decode_envelope
from events.types.registry import TABLE_EVENTS

__all__ = ["show"]

_POSITION: Final = click.IntRange(min=1)


@click.command("show")
@click.argument("log", type=click.Path(path_type=Path))
@click.option("--from", "first", type=_POSITION, metavar="N", help="From this position on.")
@click.option("--to", "last", type=_POSITION, metavar="N", help="Up to and with this position.")
@click.option("--type", "kinds", multiple=True, metavar="TYPE", help="Only these; repeatable.")
@click.option(
    "--coup", metavar="ID", type=NAME, help="Only what names this coup, such as 20261127-01/31."
)
@click.option("--json", "as_json", is_flag=True, help="Lines: the envelopes as they are stored.")
def show(
    log: Path,
    first: int | None,
    last: int | None,
    kinds: tuple[str, ...],
    coup: str | None,
    as_json: bool,
) -> int:
    """Show the events of LOG (table.sqlite), oldest first, a line each.

    The log stays as it is, and may be in use; every event is held against the hash chain on the
    way. What is shown holds every card that the shoe has told of, sealed ones too. Exit code 1:
    there is no such coup or position; 2: no such log, type or range.
    """
    require_stdout("what is shown")
    known = {name for name, _ in TABLE_EVENTS}
    for kind in kinds:
        if kind not in known:
            raise InputError(f"--type {kind}: no such type; there are {', '.join(sorted(known))}")
    if first and last and first > last:
        raise InputError(f"--from {first} --to {last}: no position lies between them")
    with reading(log) as reader:
        if first and first > reader.end:
            say(f"{log}: it has {reader.end:,} events, none from {first:,} on", err=True)
            return EXIT_NO
        named = False  # whether any event in the range names the coup, printed or not
        for stored in _between(reader.read(), first or 1, last or reader.end):
            line = _line(stored, coup, as_json=as_json)
            named = named or line is not None
            if line is not None and (not kinds or stored.type in kinds):
                sys.stdout.write(line)
    if coup is not None and not named:
        where = " between these positions" if first or last else ""
        say(f"{log}: no event{where} names a coup {coup}", err=True)
        return EXIT_NO
    return EXIT_DONE


def _between(events: Iterator[Stored], first: int, last: int) -> Iterator[Stored]:
    for stored in events:
        if stored.position > last:
            return
        if stored.position >= first:
            yield stored


def _line(stored: Stored, coup: str | None, *, as_json: bool) -> str | None:
    """Return the event's line, or None if it does not name the coup."""
    envelope = decode_envelope(stored.stored)
    if coup is not None and envelope.correlation != coup:
        return None
    if as_json:
        return f"{stored.stored.decode()}\n"
    data = bytes(envelope.data).decode()
    line = f"{stored.position:>8} {envelope.at} {envelope.actor:<10} {envelope.type} {data}"
    return f"{show_text(line)}\n"
