"""`baccarat log show`: the events of a log, a line each."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from events.codec import decode_envelope
from events.errors import InputError
from events.log import Stored
from events.log_read import reading
from events.registry import TABLE_EVENTS

__all__ = ["show"]

_POSITION: Final = click.IntRange(min=1)


@click.command("show")
@click.argument("log", type=click.Path(path_type=Path))
@click.option("--from", "first", type=_POSITION, metavar="N", help="From this position on.")
@click.option("--to", "last", type=_POSITION, metavar="N", help="Up to and with this position.")
@click.option("--type", "kinds", multiple=True, metavar="TYPE", help="Only these; repeatable.")
@click.option("--coup", metavar="ID", help="Only what names this coup, such as 20261127-01/31.")
@click.option("--json", "as_json", is_flag=True, help="Lines: the envelopes as they are stored.")
def show(
    log: Path,
    first: int | None,
    last: int | None,
    kinds: tuple[str, ...],
    coup: str | None,
    as_json: bool,
) -> None:
    """Show the events of LOG (table.sqlite), oldest first, a line each.

    The log stays as it is, and may be in use; every event is held against the hash chain on the
    way. What is shown holds every card that the shoe has told of, sealed ones too.
    """
    if sys.stdout is None:  # python's way to say that it was closed before the start
        raise InputError("standard output is closed; the events need somewhere to go")
    known = {name for name, _ in TABLE_EVENTS}
    for kind in kinds:
        if kind not in known:
            raise InputError(f"--type {kind}: no such type; there are {', '.join(sorted(known))}")
    with reading(log) as reader:
        chosen = _between(reader.read(), first or 1, last or reader.end)
        for stored in chosen:
            if kinds and stored.type not in kinds:
                continue
            line = _line(stored, coup, as_json=as_json)
            if line is not None:
                sys.stdout.write(line)


def _between(events: Iterator[Stored], first: int, last: int) -> Iterator[Stored]:
    for stored in events:
        if stored.position > last:
            return
        if stored.position >= first:
            yield stored


def _line(stored: Stored, coup: str | None, *, as_json: bool) -> str | None:
    """The event's line; None where it does not name the coup."""
    envelope = decode_envelope(stored.stored)
    if coup is not None and envelope.correlation != coup:
        return None
    if as_json:
        return f"{stored.stored.decode()}\n"
    data = bytes(envelope.data).decode()
    return f"{stored.position:>8} {envelope.at} {envelope.actor:<10} {envelope.type} {data}\n"
