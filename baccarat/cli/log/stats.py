"""`baccarat log stats`: count what a log contains."""

from collections import Counter
from pathlib import Path
from typing import Final

import click
import msgspec
from msgspec import Struct
from rich.table import Table

from baccarat.cli.progress import show_progress, stderr_is_terminal
from baccarat.cli.shown import add_shown_row
from baccarat.cli.whole_table import print_whole
from events.log.reader import LogReader, reading
from events.log.wal import wal_of
from events.types import BettingOpened, BooksClosed, CoupSettled, CoupVoided, ShoeLoaded

__all__ = ["stats"]

_COUNTED: Final = {
    "shoes": ShoeLoaded.TYPE,
    "coups": BettingOpened.TYPE,
    "voids": CoupVoided.TYPE,
    "settlements": CoupSettled.TYPE,
    "books": BooksClosed.TYPE,
}


class _Stats(Struct, frozen=True, kw_only=True):
    """The document of `--json`; `bytes` counts all files and the WAL."""

    origin: str
    events: int
    first: str | None
    last: str | None
    bytes: int
    event_bytes: int
    shoes: int
    coups: int
    voids: int
    settlements: int
    books: int
    checkpoints: int
    types: dict[str, int]


@click.command("stats")
@click.argument("log", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def stats(log: Path, as_json: bool) -> None:
    """Count what LOG (table.sqlite) holds.

    Settlements are counted with their revisions, coups from the opening of their betting. The log
    stays as it is, and may be in use; every event is held against the hash chain on the way.
    """
    with reading(log) as reader:
        found = _count(log, reader)
    if as_json:
        click.echo(msgspec.json.encode(found))
    else:
        _print(found)


def _count(log: Path, reader: LogReader) -> _Stats:
    types: Counter[str] = Counter()
    first = last = None
    event_bytes, tell = 0, stderr_is_terminal()
    for stored in reader.read():
        types[stored.type] += 1
        first, last = first or stored.at, stored.at
        event_bytes += len(stored.stored)
        if tell:
            show_progress(stored.position, reader.end)
    files = log, wal_of(log), *(closed.path for closed in reader.closed)
    return _Stats(
        origin=reader.origin,
        events=types.total(),
        first=first,
        last=last,
        bytes=sum(each.stat().st_size for each in files if each.exists()),
        event_bytes=event_bytes,
        checkpoints=sum(1 for _ in reader.checkpoints()),
        types=dict(sorted(types.items())),
        **{name: types[kind] for name, kind in _COUNTED.items()},
    )


def _print(found: _Stats) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    for name, value in msgspec.structs.asdict(found).items():
        if name != "types":
            add_shown_row(table, name, "-" if value is None else _shown(value))
    for kind, number in found.types.items():
        add_shown_row(table, f"  {kind}", _shown(number))
    print_whole(table)


def _shown(value: str | int) -> str:
    return f"{value:,}" if isinstance(value, int) else value
