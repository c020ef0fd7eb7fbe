"""`baccarat cage reconcile LOG`: compare the ledger with the log, to the unit."""

import sys
from functools import partial
from pathlib import Path

import click
import msgspec

from baccarat.cli.cage.options import ledger_option
from baccarat.cli.main import EXIT_DONE, EXIT_NO, print_error
from baccarat.cli.shown import say
from baccarat.history.log_facts import state_at
from cage.ledger.database import parse_ledger_url
from cage.ledger.reading import open_ledger
from cage.reports.commission_debts import DebtFigures
from cage.reports.reconcile import Reconciliation, TableFigures, reconcile
from events.errors import LogError, OurBug
from events.log.reader import LogReader
from events.log.reader import reading as reading_log

__all__ = ["reconcile_command", "table_figures"]


@click.command("reconcile")
@click.argument("log", type=click.Path(path_type=Path))
@ledger_option
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def reconcile_command(log: Path, ledger: str, as_json: bool) -> int:
    """Hold the ledger against LOG (table.sqlite), coup by coup; both may be in use.

    Exit code 0: they agree to the unit; 1: they do not, or the ledger has not booked everything:
    the first difference is named; 2: one of them cannot be read at all.
    """
    # Open the ledger first: it only follows the log, so the log has everything that it has booked.
    with open_ledger(parse_ledger_url(ledger)) as opened:
        opened.tables()  # the snapshot begins with this read
        try:
            with reading_log(log) as reader:
                found = reconcile(reader, opened, partial(table_figures, reader))
        except LogError as error:
            print_error(str(error))
            return EXIT_NO
    if as_json:
        sys.stdout.write(msgspec.json.encode(_document(found)).decode() + "\n")
    else:
        say(_as_text(found))
    return EXIT_DONE if found.agrees else EXIT_NO


def table_figures(log: LogReader, position: int) -> TableFigures | None:
    """Return the table's own totals; None for a log that no table of this build comes to."""
    try:
        state = state_at(log, position)
    except OurBug:
        return None
    totals, book = state.totals, state.commission
    money = (totals, *totals.others)
    return TableFigures(
        staked=sum(each.staked for each in money),
        house=sum(each.house for each in money),
        commission=book.accrued - book.reversed_,
        collected=book.collected,
        recovered=book.recovered,
        outstanding=sum(each.amount for each in book.outstanding),
        uncollected=sum(each.amount for each in book.uncollected),
        debts=tuple(
            DebtFigures(
                coup=debt.coup,
                seat=debt.seat,
                patron=debt.patron or "",
                outstanding=debt.outstanding,
                uncollected=debt.uncollected,
                recovered=debt.recovered,
                refundable=debt.refundable,
            )
            for debt in book.debts
        ),
    )


def _document(found: Reconciliation) -> dict[str, object]:
    return {"agrees": found.agrees, **msgspec.structs.asdict(found)}


def _as_text(found: Reconciliation) -> str:
    compared = (
        f"{found.entries:,} entries of {found.settlements:,} settlements "
        f"in {found.coups:,} coups, up to event {found.read:,} of {found.log_end:,}"
    )
    first = found.difference
    if first is not None:
        where = f"event {first.position}" if first.position else "at the end"
        coup = f", coup {first.coup}" if first.coup else ""
        return f"{found.table}: they differ first at {where}{coup}: {first.text}"
    if found.unbooked:
        return (
            f"{found.table}: {found.unbooked:,} settlements are not booked yet; before: {compared}"
        )
    return f"{found.table}: the ledger agrees with the log to the unit: {compared}"
