"""`baccarat property query CONFIG NAME`: run one of the archive's named queries."""

import asyncio
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.table import Table

from baccarat.cli.property.run import archive_of
from baccarat.cli.shown import add_shown_row, say
from baccarat.cli.whole_table import print_whole
from baccarat.config.property import load_property
from baccarat.csv_table import write_csv
from property.archive.client import ArchiveClient, QueryResult
from property.archive.database import require_current
from property.archive.questions import ARCHIVE_QUERIES, ArchiveQuery, parse_parameters

__all__ = ["query"]

_OPTIONS = {option.name: option for each in ARCHIVE_QUERIES.values() for option in each.options}


def _with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS.values()):
        of = [name for name, each in ARCHIVE_QUERIES.items() if option.name in _names(each)]
        command = click.option(
            f"--{option.name}",
            option.name,
            metavar=option.kind.upper(),
            help=f"Of {', '.join(of)}: {option.says}.",
        )(command)
    return command


def _names(question: ArchiveQuery) -> set[str]:
    return {option.name for option in question.options}


@click.command(epilog=" ".join(f"{name}: {each.says}." for name, each in ARCHIVE_QUERIES.items()))
@click.argument("config", type=click.Path(path_type=Path))
@click.argument("name", type=click.Choice(list(ARCHIVE_QUERIES)), metavar="NAME")
@_with_options
@click.option("--json", "as_json", is_flag=True, help="A line of JSON for each row.")
@click.option("--csv", "as_csv", is_flag=True, help="All rows, comma-separated (RFC 4180).")
def query(config: Path, name: str, *, as_json: bool, as_csv: bool, **given: str | None) -> None:
    """Ask the archive of CONFIG a question: NAME is alarms, commission, coups, editions, runs,
    shuffles, tables, two-tables, wagers or win.

    Times are RFC 3339, in UTC unless they say otherwise. Amounts are in minor units.
    """  # noqa: D205 - the first paragraph is what --help shows
    if as_csv and as_json:
        raise click.UsageError("say --csv or --json")
    question = ARCHIVE_QUERIES[name]
    wanted = parse_parameters(
        question, {key: text for key, text in given.items() if text is not None}, every=as_csv
    )
    url = archive_of(load_property(config))
    require_current(url)
    if as_csv:
        asyncio.run(_export(url, question, wanted))
        return
    answer = asyncio.run(_ask(url, question, wanted))
    if as_json:
        for row in answer.rows:
            click.echo(msgspec.json.encode(dict(zip(answer.columns, row, strict=True))))
        return
    _print(answer)


async def _ask(url: str, question: ArchiveQuery, wanted: dict[str, Any]) -> QueryResult:
    async with await ArchiveClient.open(url) as asker:
        return await asker.ask(question, wanted)


async def _export(url: str, question: ArchiveQuery, wanted: dict[str, Any]) -> None:
    goes_on = False
    async with await ArchiveClient.open(url) as asker:
        async for part in asker.stream(question, wanted):
            rows = (dict(zip(part.columns, map(_cell, row), strict=True)) for row in part.rows)
            write_csv(sys.stdout, part.columns, rows, goes_on=goes_on)
            goes_on = True


def _cell(value: Any) -> Any:
    return _shown(value) if isinstance(value, list | datetime) else value


def _print(answer: QueryResult) -> None:
    table = Table(*answer.columns)
    for row in answer.rows:
        add_shown_row(table, *map(_shown, row))
    print_whole(table)
    say(f"{len(answer.rows)} rows", err=True)


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return " ".join(map(str, value))
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value)
