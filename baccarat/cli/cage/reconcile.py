"""`baccarat cage reconcile LOG`: compare the ledger with the log, to the unit."""

import sys
from functools import partial
from pathlib import Path

import click
import msgspec
from msgspec import Struct

from baccarat.cli.cage.options import day_option, ledger_option
from baccarat.cli.main import EXIT_BAD_INPUT, EXIT_DONE, EXIT_NO, print_error
from baccarat.cli.shown import say
from baccarat.history.log_facts import state_at
from baccarat.history.log_judging import Judging
from cage.ledger.database import parse_ledger_url
from cage.ledger.reading import open_ledger
from cage.reports.commission_debts import DebtFigures
from cage.reports.outside_book import book_difference, read_rows
from cage.reports.reconcile import Reconciliation, TableFigures, reconcile
from events.errors import InputError, LogError, OurBug
from events.log.reader import LogReader
from events.log.reader import reading as reading_log
from events.log.verify import BadFile, not_ok
from events.types import CoupSettled, Settlement, decode_entry

__all__ = ["BookComparison", "reconcile_command", "table_figures"]


@click.command("reconcile")
@click.argument("log", type=click.Path(path_type=Path))
@ledger_option
@click.option(
    "--book",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Instead of the ledger: another system's book, as CSV or JSON Lines.",
)
@day_option("With --book: this business day only.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def reconcile_command(
    log: Path, ledger: str, *, book: Path | None, day: str | None, as_json: bool
) -> int:
    """Hold the ledger against LOG (table.sqlite), coup by coup; both may be in use.

    LOG is judged on the way, as `log verify` judges it: a payment must fit its cards. Exit code 0:
    they agree to the unit; 1: they do not, or a payment does not fit, or the ledger has not booked
    everything: the first difference is named; 2: one of them cannot be read at all.
    """
    if book is not None:
        return _reconcile_book(log, book, day, as_json)
    if day is not None:
        raise click.UsageError("--day goes with --book")
    # Open the ledger first: it only follows the log, so the log has everything that it has booked.
    with open_ledger(parse_ledger_url(ledger)) as opened:
        opened.tables()  # the snapshot begins with this read
        try:
            with reading_log(log) as reader:
                judge = Judging(log, reader.origin)
                found = reconcile(reader, opened, partial(table_figures, reader), judge)
        except LogError as error:
            print_error(str(error))
            return EXIT_NO
    if as_json:
        sys.stdout.write(msgspec.json.encode(_document(found, judge)).decode() + "\n")
    else:
        say(_as_text(found), *judge.counts.left_open)
    return EXIT_DONE if found.agrees else EXIT_NO


def _reconcile_book(log: Path, path: Path, day: str | None, as_json: bool) -> int:
    """Compare another system's book with the settlements of the log."""
    try:
        rows = read_rows(path.read_bytes(), path.name)
    except InputError as error:
        print_error(*str(error).splitlines())
        return EXIT_BAD_INPUT
    prefix = "" if day is None else day.replace("-", "") + "-"
    settlements: list[Settlement] = []
    unfit = None
    try:
        with reading_log(log) as reader:
            origin, judge = reader.origin, Judging(log, reader.origin)
            for stored in reader.read():
                entry = decode_entry(stored.stored)
                judge.take(stored.position, entry, entry.data)
                if isinstance(entry.data, CoupSettled) and entry.data.coup.startswith(prefix):
                    settlements.append(entry.data.settlement)
            judge.finish()
    except BadFile as bad:
        unfit = not_ok(bad.position, bad.reason)
    except LogError as error:
        print_error(str(error))
        return EXIT_NO
    table = origin.partition("/")[2]
    ours = [row for row in rows if row.settlement_id.startswith(f"{table}/{prefix}")]
    text, unbooked = book_difference(ours, settlements) if unfit is None else (unfit, 0)
    found = BookComparison(
        sound=unfit is None,
        agrees=text is None and not unbooked,
        table=origin,
        rows=len(ours),
        left_out=len(rows) - len(ours),
        settlements=len(settlements),
        unbooked=unbooked,
        difference=text,
    )
    if as_json:
        sys.stdout.write(msgspec.json.encode(_document(found, judge)).decode() + "\n")
    else:
        say(found.text, *judge.counts.left_open)
    return EXIT_DONE if found.agrees else EXIT_NO


class BookComparison(Struct, frozen=True, kw_only=True):
    """The result of a comparison with another system's book.

    Args:
        agrees: whether the book has every settlement, to the unit.
        table: `<site>/<table>`.
        rows: the book's rows of this table and day.
        left_out: its other rows.
        settlements: in the log, revisions included.
        unbooked: phases of coups in the log after the book's newest row.
        difference: the first one, or None.
        sound: whether the record follows from itself; if not, `difference` says where it does not.
    """

    agrees: bool
    table: str
    rows: int
    left_out: int
    settlements: int
    unbooked: int
    difference: str | None
    sound: bool = True

    @property
    def text(self) -> str:
        """The result in a line."""
        if not self.sound:
            return f"{self.table}: {self.difference}"
        if self.difference is not None:
            return f"{self.table}: they differ first at {self.difference}"
        compared = f"{self.rows:,} rows, {self.settlements:,} settlements"
        if self.left_out:
            compared += f"; {self.left_out:,} rows of other tables or days were left out"
        if self.unbooked:
            many = "phase of a coup is" if self.unbooked == 1 else "phases of coups are"
            return f"{self.table}: {self.unbooked:,} {many} not booked yet; {compared}"
        return f"{self.table}: the book agrees with the log to the unit: {compared}"


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


def _document(found: Reconciliation | BookComparison, judge: Judging) -> dict[str, object]:
    judged = {"judged": judge.counts._asdict()}
    return {"agrees": found.agrees} | msgspec.structs.asdict(found) | judged


def _as_text(found: Reconciliation) -> str:
    compared = (
        f"{found.entries:,} entries of {found.settlements:,} settlements "
        f"in {found.coups:,} coups, up to event {found.read:,} of {found.log_end:,}"
    )
    first = found.difference
    if first is not None and not found.sound:
        return f"{found.table}: {not_ok(first.position, first.text)}"
    if first is not None:
        where = f"event {first.position}" if first.position else "at the end"
        coup = f", coup {first.coup}" if first.coup else ""
        return f"{found.table}: they differ first at {where}{coup}: {first.text}"
    if found.unbooked:
        return (
            f"{found.table}: {found.unbooked:,} settlements are not booked yet; before: {compared}"
        )
    return f"{found.table}: the ledger agrees with the log to the unit: {compared}"
