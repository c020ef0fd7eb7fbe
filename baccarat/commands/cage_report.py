"""`baccarat cage report`: what a shoe or a day came to, and what it would on average."""

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Literal, cast

import click
import msgspec

from baccarat.commands.cage_options import chosen_of, filtered, ledger_option
from cage.database import parse_ledger_url
from cage.reading import Filter, Ledger, reading
from cage.reports import Edges, Report, report
from events.errors import InputError
from table_core.composition import full_shoe
from table_core.odds import exact_odds
from table_core.stores import load_rulebook, shipped

__all__ = ["report_command"]

# What the lines are called, in the order in which they are read.
_LINES: Final = (
    ("handle", "handle"), ("win", "win before commission"), ("commission", "commission, net"),
    ("house", "win and commission"), ("theoretical", "theoretical, by exact odds"),
    ("accrued", "commission accrued"), ("reversed_", "  reversed"), ("collected", "  collected"),
    ("outstanding", "  outstanding"), ("uncollected", "  uncollected"),
    ("recovered", "  recovered"),
)  # fmt: skip


@click.command("report")
@ledger_option
@click.option("--by", type=click.Choice(["shoe", "day"]), default="shoe", show_default=True)
@filtered
@click.option(
    "--odds",
    "files",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="For a site's own rulebook: what `baccarat odds --rulebook R.toml --json` says.",
)
@click.option("--json", "as_json", is_flag=True, help="A line of JSON for each.")
def report_command(
    ledger: str, by: str, files: tuple[Path, ...], as_json: bool, **options: Any
) -> None:
    """Handle, win, theoretical win, hands an hour, and how the commission stands.

    The theoretical win takes each rulebook's exact odds from a full shoe; those of shipped
    rulebooks are counted here.
    """
    chosen = chosen_of(options)
    with reading(parse_ledger_url(ledger)) as opened:
        edges = _edges(opened, chosen, files)
        found = report(opened, cast(Literal["shoe", "day"], by), chosen, edges)
    for each in found:
        if as_json:
            sys.stdout.write(msgspec.json.encode(each).decode() + "\n")
        else:
            _print(each, by)


def _edges(ledger: Ledger, chosen: Filter, files: tuple[Path, ...]) -> Edges:
    edges: dict[tuple[str, str], Fraction] = {}
    for file in files:
        edges |= _edges_in(file)
    known = {rulebook for rulebook, _ in edges}
    for name in ledger.rulebooks(chosen):
        if name in shipped() and name not in known:
            book = load_rulebook(name)
            found = exact_odds(book, full_shoe(book.decks))
            edges |= {(name, bet): row.edge for bet, row in found.items()}
    return edges


def _edges_in(file: Path) -> Edges:
    try:
        document = msgspec.json.decode(file.read_bytes())
        bets = document["bets"].items()
        return {(document["rulebook"], bet): Fraction(row["edge"]) for bet, row in bets}
    except (msgspec.MsgspecError, UnicodeDecodeError, LookupError, TypeError, ValueError,
            AttributeError) as error:  # fmt: skip
        raise InputError(
            f"--odds {file}: not what `baccarat odds --json` writes: {error!r}"
        ) from error


def _print(each: Report, by: str) -> None:
    pace = "" if each.hands_per_hour is None else f", {each.hands_per_hour:g} hands an hour"
    click.echo(
        f"{each.table}, {by} {each.key}: {each.coups:,} coups, {each.voids:,} void, "
        f"{each.corrections:,} settlements taken back{pace}"
    )
    for name, told in _LINES:
        amount = getattr(each, name)
        click.echo(f"  {told:<28} {'unknown' if amount is None else f'{amount:,}':>16}")
