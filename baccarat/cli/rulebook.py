"""`baccarat rulebook`: list, show and check rulebooks, shipped ones and a site's own."""

import click
import msgspec

from baccarat.cli.main import EXIT_DONE, EXIT_NO
from baccarat.read_files import read_file
from baccarat.rulebooks.library import named_rulebook, source_of, table_requirements_missing
from events.errors import ConfigError
from table_core.rulebooks.shipped import load_rulebook, shipped_ids
from table_core.rules.rulebook import INITIAL_PHASE, Bet, Requirement, Rulebook
from table_core.rules.rulebook_file import parse_rulebook
from table_core.rules.wagers import BET_KINDS

__all__ = ["rulebook"]


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
        click.echo(f"{book.id:<16} {book.decks} decks  {book.currency}  {book.title}")


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
        click.echo(msgspec.json.encode(_document(book)) if as_json else _as_text(book))


@rulebook.command("check")
@click.argument("file", metavar="FILE")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def _check(*, file: str, as_json: bool) -> int:
    """Say whether the rulebook in FILE can be played by, and if not every reason.

    Exit code 0: it can; 1: it cannot, and the keys at fault are named; 2: there is no such file.
    """
    source = read_file(file)
    book, reason = None, None
    try:
        book = parse_rulebook(file, source)
    except ConfigError as error:
        reason = " ".join(str(error).removeprefix(f"{file}: ").split())
    if book is not None and (lacking := list(table_requirements_missing(book))):
        book, reason = None, "; ".join(lacking)
    if as_json:
        verdict = {
            "ok": book is not None,
            "id": book and book.id,
            "hash": book and book.hash,
            "reason": reason,
        }
        click.echo(msgspec.json.encode(verdict))
    elif book:
        click.echo(f"{file}: ok, {book.id}, {len(book.bets)} wagers\nhash {book.hash}")
    else:
        click.echo(f"{file}: NOT ok: {reason}")
    return EXIT_DONE if book else EXIT_NO


# ---- the content of a rulebook ----


def _document(book: Rulebook) -> dict[str, object]:
    terms = book.commission
    return {
        "id": book.id,
        "title": book.title,
        "decks": book.decks,
        "currency": book.currency,
        "unit": book.unit,
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
        "variant": _variant(bet),
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


def _variant(bet: Bet) -> str | None:
    names = (name for name, judge in BET_KINDS[bet.id].judges.items() if judge is bet.judge)
    return next(names) or None


def _as_text(book: Rulebook) -> str:
    rounding = book.rounding
    lines = [
        f"{book.id}: {book.title}, {book.decks} decks",
        f"Amounts in minor units of {book.currency}, payable in units of {book.unit}",
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
    return "\n".join([*lines, f"hash {book.hash}"])


def _bet_as_text(bet: Bet) -> str:
    parts = [", ".join(f"{category} {pays}" for category, pays in _pays(bet).items())]
    parts += ["not offered"] * (not bet.offered)
    parts += ["less commission"] * bet.commission
    parts += [f"by {_variant(bet)}"] * bool(_variant(bet))
    parts += [f"phase {bet.phase}"] * (bet.phase == INITIAL_PHASE)
    parts += [f"needs {bet.requirement.value}"] * (bet.requirement is not Requirement.NONE)
    parts += [f"from {bet.minimum}"] * (bet.minimum > 1)
    parts += [f"up to {bet.maximum} a {bet.per}"] * (bet.maximum is not None)
    parts += [f"all together up to {bet.table_maximum}"] * (bet.table_maximum is not None)
    return "; ".join(parts)
