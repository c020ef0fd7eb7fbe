"""`baccarat cage balance | statement | export`: read the ledger."""

import sys
from collections.abc import Iterable, Iterator
from typing import Any, Final

import click
import msgspec

from baccarat.cli.cage.options import add_filter_options, filter_of, ledger_option
from baccarat.cli.shown import say
from baccarat.csv_table import write_csv
from cage.ledger.database import parse_ledger_url
from cage.ledger.entries import ACCOUNTS
from cage.ledger.reading import BALANCE_KEYS, Balance, BookedEntry, open_ledger

__all__ = ["balance", "export", "statement"]

_COLUMNS: Final = (
    "table", "position", "part", "ref", "kind", "day", "at", "shoe", "coup", "phase", "rulebook",
    "reverses", "detail", "account", "seat", "bet", "result", "amount", "patron",
)  # fmt: skip


@click.command("balance")
@ledger_option
@click.option("--by", type=click.Choice(sorted(BALANCE_KEYS)), help="A balance for each.")
@add_filter_options
@click.option("--json", "as_json", is_flag=True, help="A line of JSON for each.")
def balance(ledger: str, by: str | None, as_json: bool, **options: Any) -> None:
    """What stands on each account, in minor units; a debit is positive.

    By shoe, a correction belongs to its coup's; by day, to the business day on which it was made.
    """
    with open_ledger(parse_ledger_url(ledger)) as opened:
        found = opened.balances(filter_of(opened, options), by)
    for each in found:
        if as_json:
            _print_json(
                {"table": each.table, **({by: each.key} if by else {}), "accounts": each.accounts}
            )
        else:
            _print_balance(each, by)


def _print_balance(each: Balance, by: str | None) -> None:
    say(f"{each.table}{f', {by} {each.key}' if by else ''}:")
    for name, account in ACCOUNTS.items():
        if name in each.accounts:
            say(f"  {name:<12} {each.accounts[name]:>16,}  {account.holds}")


@click.command("statement")
@ledger_option
@add_filter_options
@click.option("--json", "as_json", is_flag=True, help="A line of JSON for each entry.")
def statement(ledger: str, as_json: bool, **options: Any) -> None:
    """Entries in the order in which they were booked, with their postings."""
    with open_ledger(parse_ledger_url(ledger)) as opened:
        for entry in opened.entries(filter_of(opened, options)):
            if as_json:
                _print_json(entry)
            else:
                _print_entry(entry)


def _print_entry(entry: BookedEntry) -> None:
    back = f" takes back {entry.reverses}" if entry.reverses else ""
    where = entry.coup or entry.shoe
    say(f"{entry.position:>8} {entry.at[:19]}Z {entry.kind:<22} {where}{back}  {entry.ref}")
    for each in entry.postings:
        what = " ".join(filter(None, (each.bet, each.result)))
        seat = f"seat {each.seat}" if each.seat else ""
        say(f"{'':9}{each.account:<12} {seat:<8} {what:<28} {each.amount:>14,}")


@click.command("export")
@ledger_option
@add_filter_options
@click.option("--csv", "as_csv", is_flag=True, help="Comma-separated, with a head line (RFC 4180).")
@click.option("--json", "as_json", is_flag=True, help="A line of JSON for each posting.")
def export(ledger: str, as_csv: bool, as_json: bool, **options: Any) -> None:
    """Every posting with its entry, a line each."""
    if as_csv == as_json:
        raise click.UsageError("say --csv or --json")
    with open_ledger(parse_ledger_url(ledger)) as opened:
        # The columns are a contract: what entries have got since is in the JSON alone.
        rows = _rows(opened.entries(filter_of(opened, options)))
        if as_csv:
            write_csv(sys.stdout, _COLUMNS, rows)
        else:
            for row in rows:
                _print_json(row)


def _rows(entries: Iterable[BookedEntry]) -> Iterator[dict[str, Any]]:
    for entry in entries:
        head = {name: getattr(entry, name) for name in entry.__struct_fields__}
        del head["postings"]
        for posting in entry.postings:
            yield head | msgspec.structs.asdict(posting)


def _print_json(what: Any) -> None:
    sys.stdout.write(msgspec.json.encode(what).decode() + "\n")
