"""`baccarat cage report`: the win of a shoe or a day next to the theoretical win."""

import re
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Literal

import click
import msgspec
from msgspec import Struct

from baccarat.cli.cage.options import add_filter_options, filter_of, ledger_option
from baccarat.cli.output_files import write_whole
from baccarat.cli.shown import say
from baccarat.csv_table import write_csv
from baccarat.pages.report_page import CSV_TABLES, Currencies, csv_rows, report_lines, report_page
from baccarat.read_files import read_file
from baccarat.rulebooks.currencies import iso_currency, known_currency
from cage.ledger.database import parse_ledger_url
from cage.ledger.reading import Filter, Ledger, open_ledger
from cage.reports.patrons import Edges
from cage.reports.summary import SummaryReport, summary_reports
from events.errors import InputError, MalformedJson
from events.json_form import decode_json_once
from events.money import UNKNOWN_CURRENCY, Currency
from table_core.odds.exact import exact_odds
from table_core.rulebooks.shipped import load_rulebook, shipped_ids
from table_core.rules.rulebook_file import full_shoe

__all__ = ["report_command"]

# Of a fraction: exact odds have some twenty digits, and Python reads no more than 4,300.
_EDGE: Final = re.compile(r"-?[0-9]{1,1000}(/[1-9][0-9]{0,999})?")


class _Edge(Struct, frozen=True):
    """A bet's row in the output of `baccarat odds --json`."""

    edge: str


class _Odds(Struct, frozen=True):
    """The output of `baccarat odds --json`, as far as it is read here."""

    rulebook: str
    bets: dict[str, _Edge]


@click.command("report")
@ledger_option
@click.option("--by", type=click.Choice(["shoe", "day"]), default="shoe", show_default=True)
@add_filter_options
@click.option(
    "--odds",
    "files",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="For a site's own rulebook: what `baccarat odds --rulebook R.toml --json` says.",
)
@click.option("--currency", metavar="CODE", help="Of the page's amounts, where a site's own rules.")
@click.option("--json", "as_json", is_flag=True, help="A line of JSON for each.")
@click.option("--csv", "table_of", type=click.Choice(CSV_TABLES), help="One table of them as CSV.")
@click.option(
    "--html",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a page that can be printed and signed.",
)
def report_command(
    ledger: str,
    by: Literal["shoe", "day"],
    files: tuple[Path, ...],
    *,
    currency: str | None,
    as_json: bool,
    table_of: str | None,
    html: Path | None,
    **options: Any,
) -> None:
    """Handle, win, theoretical win, hands an hour, commission, patrons and chips.

    The theoretical win takes each rulebook's exact odds from a full shoe; those of shipped
    rulebooks are counted here. The chip inventory, drop and hold are of a day.
    """
    if as_json and table_of:
        raise click.UsageError("say --json or --csv")
    with open_ledger(parse_ledger_url(ledger)) as opened:
        chosen = filter_of(opened, options)
        edges = _edges(opened, chosen, files)
        found = summary_reports(opened, by, chosen, edges)
    if html is not None:
        page = report_page(found, by, _currencies(found, currency))
        write_whole(html, page.encode(), "--html")
    if table_of:
        write_csv(sys.stdout, *csv_rows(found, table_of))
        return
    several = len({(each.table, each.key) for each in found}) < len(found)
    for each in found:
        if as_json:
            sys.stdout.write(msgspec.json.encode(each).decode() + "\n")
        elif html is None:
            say(*report_lines(each, by, named=several))


def _currencies(reports: Sequence[SummaryReport], asked: str | None) -> Currencies:
    """Return the currency of each float, and of each report that has exactly one."""
    given = None if asked is None else iso_currency(asked)
    found: dict[tuple[str, str, str], Currency] = {}
    for each in reports:
        named = {load_rulebook(name).money for name in each.rulebooks if name in shipped_ids()}
        if each.currency and not named:
            named.add(known_currency(each.currency))
        for float_ in each.floats:
            its = (each.table, float_.float_id, float_.currency)
            found[its] = known_currency(float_.currency)
            named.add(found[its])
        found[each.table, each.key, each.currency] = given or (
            named.pop() if len(named) == 1 else UNKNOWN_CURRENCY
        )
    return found


def _edges(ledger: Ledger, chosen: Filter, files: tuple[Path, ...]) -> Edges:
    edges: dict[tuple[str, str], Fraction] = {}
    for file in files:
        said = _edges_in(file)
        # The ledger does not know the version of a rulebook that an edge belongs to.
        twice = [key for key in said.keys() & edges.keys() if said[key] != edges[key]]
        if twice:
            name, bet = min(twice)
            raise InputError(f"--odds {file}: {name}, {bet}: another file has said otherwise")
        edges |= said
    known = {rulebook for rulebook, _ in edges}
    for name in ledger.rulebooks(chosen):
        if name in shipped_ids() and name not in known:
            book = load_rulebook(name)
            found = exact_odds(book, full_shoe(book.decks))
            edges |= {(name, bet): row.edge for bet, row in found.items()}
    return edges


def _edges_in(file: Path) -> Edges:
    wrong = f"--odds {file}: not what `baccarat odds --rulebook R.toml --json` prints"
    try:
        odds = decode_json_once(read_file(str(file)), _Odds)
    except MalformedJson as error:
        raise InputError(f"{wrong}: {error}") from error
    for bet, row in odds.bets.items():
        if not _EDGE.fullmatch(row.edge):
            raise InputError(f"{wrong}: the edge of {bet} is {row.edge[:80]!r}, no fraction")
    return {(odds.rulebook, bet): Fraction(row.edge) for bet, row in odds.bets.items()}
