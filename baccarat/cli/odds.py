"""`baccarat odds`: count the house edge of each wager over every deal of a shoe."""

import sys
from collections.abc import Mapping
from fractions import Fraction
from typing import Final

import click
import msgspec

from baccarat.read_files import read_file
from baccarat.rulebooks.library import named_rulebook
from events.errors import InputError
from events.free_text import show_lines
from table_core.odds.exact import BetOdds, exact_odds
from table_core.rules.rulebook import Rulebook
from table_core.rules.rulebook_file import DECKS, full_shoe, read_composition

__all__ = ["odds"]

_EDGE_PLACES: Final = 10
_MAX_BYTES: Final = 1024 * 1024  # a whole shoe takes some five hundred bytes


@click.command()
@click.option(
    "--rulebook", metavar="R", required=True, help="A shipped one's id, or a site's FILE.toml."
)
@click.option(
    "--decks",
    type=click.Choice([str(decks) for decks in DECKS]),
    help="The shoe's; else the rulebook's.",
)
@click.option(
    "--composition",
    metavar="FILE",
    help='Cards left in it: {"9D": 8, ...}; - is standard input; else all are.',
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of a table.")
def odds(*, rulebook: str, decks: str | None, composition: str | None, as_json: bool) -> None:
    """Count every deal: exact probabilities and the house's edge for each wager.

    A wager's edge is what the house keeps of a stake on average, pushes counted in and commission
    taken off. A face that FILE does not name is gone from the shoe.
    """
    book = named_rulebook(rulebook)
    of = int(decks) if decks else book.decks
    shoe = full_shoe(of)
    if composition is not None:
        shoe = read_composition(composition, _read(composition), of)
    if sys.stderr.isatty() and not as_json:
        click.echo("counting every deal ...", err=True)
    try:
        found = exact_odds(book, shoe)
    except InputError as error:  # only a shoe from FILE can be wrong here
        raise InputError(f"{composition}: {error}") from error
    if as_json:
        click.echo(msgspec.json.encode(_document(book, of, found)))
    else:
        click.echo(_table(book, of, sum(shoe.values()), found))


def _read(composition: str) -> bytes:
    if composition != "-":
        return read_file(composition)
    if sys.stdin is None:
        raise InputError("--composition -: standard input is closed")
    return sys.stdin.buffer.read(_MAX_BYTES)


def _document(book: Rulebook, decks: int, found: Mapping[str, BetOdds]) -> dict[str, object]:
    return {
        "rulebook": book.id,
        "decks": decks,
        "bets": {
            bet: {
                "edge": _ratio(row.edge),
                "edge_decimal": _decimal(row.edge, _EDGE_PLACES),
                "categories": {
                    name: {"pays": str(category.pays), "probability": _ratio(category.probability)}
                    for name, category in row.categories.items()
                },
            }
            for bet, row in found.items()
        },
    }


def _table(book: Rulebook, decks: int, cards: int, found: Mapping[str, BetOdds]) -> str:
    lines = [f"{book.id}: {cards} cards left of {decks} decks"]
    for bet, row in found.items():
        lines.append(f"{bet:<22} the house keeps {_decimal(row.edge * 100, 4):>9} %")
        for name, category in row.categories.items():
            chance = _decimal(category.probability * 100, 6)
            lines.append(f"  {name:<20} pays {category.pays!s:>6}  comes {chance:>11} %")
    return show_lines(lines)


def _ratio(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}"


def _decimal(value: Fraction, places: int) -> str:
    """Return the value with so many decimal places, rounded to nearest, without using floats."""
    digits = round(abs(value) * 10**places)
    sign = "-" if value < 0 and digits else ""
    whole, part = divmod(digits, 10**places)
    return f"{sign}{whole}.{part:0{places}}"
