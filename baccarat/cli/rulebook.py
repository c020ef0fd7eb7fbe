"""`baccarat rulebook`: list, show, print and check rulebooks, shipped ones and a site's own."""

from pathlib import Path

import click
import msgspec

from baccarat.cli.main import EXIT_DONE, EXIT_NO
from baccarat.cli.output_files import write_whole
from baccarat.cli.shown import say
from baccarat.read_files import read_file
from baccarat.rulebooks.currencies import currency_faults
from baccarat.rulebooks.library import named_rulebook, source_of, table_requirements_missing
from events.errors import InputError
from events.free_text import show_lines
from table_core.odds.exact import exact_odds
from table_core.rulebook_check.check import check_file
from table_core.rulebooks.shipped import load_rulebook, shipped_ids
from table_core.rules.payable import chip_values, first_unpayable
from table_core.rules.rulebook import INITIAL_PHASE, Bet, Requirement, Rulebook
from table_core.rules.rulebook_fault import without_consequences
from table_core.rules.rulebook_file import full_shoe
from table_core.texts.help import variant_of

__all__ = ["rulebook", "rulebook_document"]


@click.group()
def rulebook() -> None:
    """Rulebooks: what a table offers, what it pays, and how it rounds."""


@rulebook.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def _list(*, as_json: bool) -> None:
    """List the rulebooks that ship with the product."""
    books = [load_rulebook(name) for name in shipped_ids()]
    if as_json:
        fields = ("id", "title", "decks", "currency", "hash")
        click.echo(msgspec.json.encode([{f: getattr(book, f) for f in fields} for book in books]))
        return
    for book in books:
        say(f"{book.id:<16} {book.decks} decks  {book.currency}  {book.title}")


@rulebook.command("show")
@click.argument("name", metavar="R")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.option("--source", is_flag=True, help="The file itself, to be copied and changed.")
def _show(*, name: str, as_json: bool, source: bool) -> None:
    """Show the rulebook R: the id of a shipped one, or a site's own file (FILE.toml)."""
    book = named_rulebook(name)
    if source:
        click.echo(source_of(name), nl=False)
    else:
        click.echo(msgspec.json.encode(rulebook_document(book)) if as_json else _as_text(book))


@rulebook.command("page")
@click.argument("name", metavar="R")
@click.option("-o", "folder", metavar="DIR", required=True,
              type=click.Path(file_okay=False, path_type=Path),
              help="Where the pages go: R.LANGUAGE.html each.")  # fmt: skip
def _page(*, name: str, folder: Path) -> None:
    """Write the rules of R for patrons, a page a language, for the site's own web server.

    R is the id of a shipped rulebook, or a site's own file (FILE.toml). A page says how to play,
    what each wager pays, how often it wins and what the house keeps of it. It is one file without a
    script, and loads nothing.
    """
    from baccarat.pages.rules_page import (  # noqa: PLC0415 - the other commands need no templates
        static_pages,
    )

    book = named_rulebook(name)
    pages = static_pages(book, exact_odds(book, full_shoe(book.decks)))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"-o {folder}: {error.strerror}") from error
    for file, text in pages.items():
        write_whole(folder / file, text.encode(), "-o")
        click.echo(folder / file)


@rulebook.command("check")
@click.argument("file", metavar="FILE")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def _check(*, file: str, as_json: bool) -> int:
    """Say whether a table may adopt the rulebook in FILE, and if not every fault, a line each.

    Exit code 0: it may; 1: it may not; 2: there is no such file, or it is not TOML.
    """
    book, found, edges = check_file(file, read_file(file))
    lacking = (*table_requirements_missing(book), *currency_faults(book))
    faults = tuple(dict.fromkeys((*found, *without_consequences(lacking, found))))
    if as_json:
        verdict = {
            "ok": not faults,
            "id": None if faults else book.id,
            "hash": None if faults else book.hash,
            "reason": "; ".join(map(str, faults)) or None,
            "faults": faults,
            "edges": {bet: f"{edge.numerator}/{edge.denominator}" for bet, edge in edges.items()},
        }
        click.echo(msgspec.json.encode(verdict))
    elif faults:
        say(*(f"{file}: NOT ok: {fault} [{fault.code}]" for fault in faults))
    else:
        say(f"{file}: ok, {book.id}, {len(book.bets)} wagers", f"hash {book.hash}")
    return EXIT_NO if faults else EXIT_DONE


# ---- the content of a rulebook ----


def rulebook_document(book: Rulebook) -> dict[str, object]:
    """Return what `rulebook show --json` prints."""
    terms = book.commission
    return {
        "id": book.id,
        "title": book.title,
        "decks": book.decks,
        "currency": book.currency,
        "decimals": book.decimals,
        "unit": book.unit,
        "chips": chip_values(book),
        "unpayable": first_unpayable(book),
        "hash": book.hash,
        "rounding": book.rounding,
        "commission": terms
        and {"rate": str(terms.rate), "timing": terms.timing, "block": terms.block},
        "options": book.options,
        "limits": book.limits,
        "bets": {name: _bet_document(bet) for name, bet in book.bets.items()},
        "caps": book.caps,
    }


def _bet_document(bet: Bet) -> dict[str, object]:
    return {
        "pays": _pays(bet),
        "variant": variant_of(bet) or None,
        "phase": bet.phase,
        "offered": bet.offered,
        "minimum": bet.minimum,
        "maximum": bet.maximum,
        "step": bet.step,
        "per": bet.per,
        "table_maximum": bet.table_maximum,
        "requirement": bet.requirement,
        "commission": bet.commission,
    }


def _pays(bet: Bet) -> dict[str, str]:
    """Return the schedule as a rulebook file writes it."""
    return {
        category: str(odds).removesuffix("/1") if odds else "push"
        for category, odds in bet.schedule.items()
    }


def _as_text(book: Rulebook) -> str:
    rounding = book.rounding
    lines = [
        f"{book.id}: {book.title}, {book.decks} decks",
        f"Amounts in minor units of {book.money.said}, payable in units of {book.unit}",
        f"Chips of {', '.join(map(str, chip_values(book)))}",
        f"Payouts rounded {rounding.payout.value}, commission {rounding.commission.value}",
    ]
    if book.commission:
        terms = book.commission
        block = f", in blocks of {terms.block}" if terms.block > 1 else ""
        lines.append(f"Commission {terms.rate} of winnings, {terms.timing.value}{block}")
    lines += [f"  {name:<20} {_bet_as_text(bet)}" for name, bet in book.bets.items()]
    lines += [
        f"At most {cap.maximum} won in a coup on {', '.join(cap.bets)}, by {cap.scope}, "
        f"{cap.allocation}"
        for cap in book.caps
    ]
    limits = msgspec.structs.asdict(book.limits).items()
    lines += [f"limits.{name} {most}" for name, most in limits if most is not None]
    return show_lines([*lines, f"hash {book.hash}"])


def _bet_as_text(bet: Bet) -> str:
    parts = [", ".join(f"{category} {pays}" for category, pays in _pays(bet).items())]
    parts += ["not offered"] * (not bet.offered)
    parts += ["less commission"] * bet.commission
    parts += [f"by {variant_of(bet)}"] * bool(variant_of(bet))
    parts += [f"phase {bet.phase}"] * (bet.phase == INITIAL_PHASE)
    parts += [f"needs {bet.requirement.value}"] * (bet.requirement is not Requirement.NONE)
    parts += [f"from {bet.minimum}"] * (bet.minimum > 1)
    parts += [f"up to {bet.maximum} a {bet.per}"] * (bet.maximum is not None)
    parts += [f"all together up to {bet.table_maximum}"] * (bet.table_maximum is not None)
    return "; ".join(parts)
