"""What a day came to: one worked by hand, and games against the table's own totals."""

import json
import random
import re
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from sqlalchemy import text

from baccarat.cli.cage.reconcile import table_figures
from cage.ledger.database import create_ledger_engine, parse_ledger_url
from cage.ledger.reading import Filter, open_ledger
from cage.ledger.store import LedgerStore
from cage.reports.drop_and_hold import FloatReport
from cage.reports.patrons import PatronReport
from cage.reports.reconcile import TableFigures, reconcile
from cage.reports.summary import SummaryReport, summary_reports
from events.commands import ChipCommand, CloseFloat, CountDrop, Fill, OpenFloat
from events.errors import LedgerError
from events.log.reader import reading as reading_log
from events.types import (
    ChipsCorrected,
    ChipsFilled,
    FloatOpened,
    Pieces,
    RulebookAdopted,
    TableEvent,
)
from tests.support.cage.ledgers import (
    STREAM,
    accounts_of,
    agrees,
    book_log,
    facts_of,
    held_against,
    play_log,
)
from tests.support.machine.commands import here, said
from tests.support.property.logs import played, write_log
from tests.support.table.chip_day import FLOAT, chip_day
from tests.support.table.evidence import signed_table
from tests.support.table.histories import play_history
from tests.support.table.money_game import BOOKS, Game, random_coup

# Of all ordered deals from eight decks (docs/reference/rules.md): the edges are worked here.
PLAYER, BANKER, TIE = 2_230_518_282_592_256, 2_292_252_566_437_888, 475_627_426_473_216
ALL = PLAYER + BANKER + TIE
RULES = "au-commission"
EDGES = {
    (RULES, "player"): Fraction(BANKER - PLAYER, ALL),
    (RULES, "banker"): (PLAYER - Fraction(95, 100) * BANKER) / ALL,
    (RULES, "tie"): Fraction(ALL - 9 * TIE, ALL),
}
SIGNED = ("s-1", "d-4")


def booked(ledger: str, log: Path, events: list[TableEvent], every_s: int = 1) -> None:
    write_log(log, STREAM, events, every_s=every_s)
    book_log(ledger, log)
    agrees(ledger, log)


def by_day(ledger: str, day: str | None = None) -> list[SummaryReport]:
    with open_ledger(parse_ledger_url(ledger)) as opened:
        return summary_reports(opened, "day", Filter(day=day), EDGES)


@pytest.fixture
def day(ledger: str, tmp_path: Path) -> SummaryReport:
    booked(ledger, tmp_path / "table.sqlite", chip_day(), every_s=60)
    (found,) = by_day(ledger)
    return found


def test_the_day_that_was_worked_by_hand(day: SummaryReport) -> None:
    assert (day.table, day.key) == (STREAM, "2026-11-27")
    assert (day.coups, day.voids, day.corrections) == (3, 1, 0)
    assert day.handle == 10_600_00  # 1,000 + 500, 2,000 + 100, 3,000 + 4,000
    assert (day.win, day.commission, day.house) == (4_600_00, 50_00, 4_650_00)
    assert (day.accrued, day.reversed_, day.collected) == (50_00, 0, 50_00)
    assert (day.outstanding, day.uncollected, day.recovered) == (0, 0, 0)
    # 1,000 x 1.0579 % + 9,500 x 1.2351 % + 100 x 14.3596 %: 10.58 + 117.33 + 14.36
    assert day.theoretical == 142_27
    assert day.rulebooks == (RULES,)


def test_drop_and_hold_of_that_day(day: SummaryReport) -> None:
    (found,) = day.floats
    assert (found.float_id, found.currency, found.closed) == (FLOAT, "AUD", True)
    assert (found.opening, found.fills, found.credits) == (40_000_00, 20_000_00, 2_500_00)
    assert found.closing == 50_150_00
    assert found.movement == -7_350_00  # 50,150 + 2,500 - 40,000 - 20,000
    assert found.won == 4_650_00  # what the wagers won, and the commission that was kept back
    assert found.drop_due == 12_000_00
    assert (found.drop, found.win, found.difference) == (11_900_00, 4_550_00, -100_00)
    assert found.hold == 0.3824  # 4,550 / 11,900
    assert (found.opening_difference, found.repeated) == (None, ())
    pieces = [
        (d.denomination, d.opening, d.fills, d.credits, d.closing) for d in found.denominations
    ]
    assert pieces == [(25_00, 400, 0, 100, 86), (100_00, 300, 200, 0, 480)]
    moves = [(each.move, each.slip, each.reference, each.amount) for each in found.moves]
    assert moves == [
        ("opening", "", "", 40_000_00),
        ("fill", "F-101", "R-7", 20_000_00),
        ("credit", "C-55", "", 2_500_00),
        ("count", "change of shift", "", 52_500_00),
        ("closing", "", "", 50_150_00),
    ]
    assert [(box.box, box.amount, box.was) for box in found.boxes] == [("B-7", 11_900_00, None)]
    assert {each.signed for each in found.moves} == {SIGNED}
    assert found.boxes[0].signed == SIGNED


def test_each_patron_of_that_day(day: SummaryReport) -> None:
    edge = {bet: edge for (_, bet), edge in EDGES.items()}
    theoretical = [
        1_000_00 * edge["banker"] + 6_000_00 * edge["player"],
        3_500_00 * edge["player"],
        100_00 * edge["tie"],
    ]
    minutes = [each.minutes for each in day.patrons]
    assert day.patrons == (
        PatronReport(patron="p-17", seat=0, coups=3, turnover=7_000_00, average=2_333_33,
                     minutes=minutes[0], win=1_000_00, theoretical=round(theoretical[0])),
        PatronReport(patron="p-4", seat=0, coups=2, turnover=3_500_00, average=1_750_00,
                     minutes=minutes[1], win=3_500_00, theoretical=round(theoretical[1])),
        PatronReport(patron="", seat=7, coups=1, turnover=100_00, average=100_00,
                     minutes=minutes[2], win=100_00, theoretical=round(theoretical[2])),
    )  # fmt: skip
    assert sum(each.turnover for each in day.patrons) == day.handle
    assert sum(each.win for each in day.patrons) == day.win


def test_a_patrons_time_is_from_the_first_wager_to_the_last_settlement(day: SummaryReport) -> None:
    """An event a minute: so the minutes are the distances of the events in the log."""
    events = chip_day()
    names = [event.TYPE for event in events]
    placed = [n for n, name in enumerate(names) if name == "wagers_placed"]
    settled = [n for n, name in enumerate(names) if name == "coup_settled"]
    minutes = {each.patron: each.minutes for each in day.patrons}
    assert minutes["p-17"] == settled[2] - placed[0]
    assert minutes[""] == settled[1] - placed[1]
    # p-4's last wager was in a coup that came to nothing, and they were there for it.
    assert minutes["p-4"] == placed[3] - placed[0]


def test_a_shoe_has_patrons_and_no_float(ledger: str, day: SummaryReport) -> None:
    with open_ledger(parse_ledger_url(ledger)) as opened:
        (found,) = summary_reports(opened, "shoe", Filter(), EDGES)
        (seat,) = summary_reports(opened, "day", Filter(seat=7), EDGES)
    assert (found.floats, found.patrons) == ((), day.patrons)
    assert (seat.coups, seat.handle, seat.floats) == (1, 100_00, ())
    assert [each.seat for each in seat.patrons] == [7]


def test_a_float_that_is_open_is_taken_as_of_its_last_count(ledger: str, tmp_path: Path) -> None:
    events = chip_day()
    names = [event.TYPE for event in events]
    booked(ledger, tmp_path / "table.sqlite", events[: names.index("chips_counted")])
    (found,) = by_day(ledger)[0].floats
    assert (found.closing, found.movement, found.won, found.hold) == (None, None, None, None)
    assert (found.opening, found.fills, found.credits) == (40_000_00, 20_000_00, 2_500_00)
    assert {each.closing for each in found.denominations} == {None}
    other = tmp_path / "longer.sqlite"
    write_log(other, STREAM, events[: names.index("float_closed")])
    book_log(ledger, other)
    (found,) = by_day(ledger)[0].floats
    assert (found.closed, found.closing) == (False, 52_500_00)
    # 52,500 + 2,500 - 40,000 - 20,000 = -5,000; two coups had won -500 + 50 - 1,900.
    assert (found.movement, found.won, found.drop_due) == (-5_000_00, -2_350_00, 2_650_00)
    assert (found.drop, found.win, found.difference) == (None, None, None)


@pytest.mark.parametrize(
    ("book", "seed"),
    [("au-commission", 1), ("first placed", 2), ("prepaid pairs", 3), ("per_shoe", 4)],
)
def test_the_wagers_bring_to_the_tray_what_the_table_says_they_came_to(
    ledger: str, tmp_path: Path, book: str, seed: int
) -> None:
    """Corrections, voids, tokens, tokes and every timing of commission; then nothing differs."""
    rng, game = random.Random(seed), Game(BOOKS[book](), seed)
    tray, bought = 10_000_000, 0

    def chips(amount: int) -> tuple[Pieces, ...]:
        return (Pieces(1, amount % 10_000), Pieces(10_000, amount // 10_000))

    def in_tray() -> int:
        state = game.world.state
        owed = (*state.commission.outstanding, *state.commission.uncollected)
        return state.totals.house - sum(each.amount for each in owed)

    def said(command: ChipCommand, number: int) -> None:
        named = f"{type(command).__name__}-{number}"
        game.world.must(replace(command, transaction=named, signed=SIGNED))

    for number in (1, 2):
        name, currency = f"20261127-0{number}", game.rulebook.currency
        before = in_tray()
        opening = OpenFloat(transaction="", float_id=name, currency=currency, chips=chips(tray))
        said(opening, number)
        for _ in range(12):
            game.play(random_coup(rng))
        bought = rng.randrange(1, 100) * 1_000
        tray += in_tray() - before + 500_000 - bought
        said(Fill(transaction="", slip=f"F-{number}", chips=(Pieces(10_000, 50),)), number)
        said(CloseFloat(transaction="", chips=chips(tray)), number)
        notes = (Pieces(1_000, bought // 1_000),)
        said(CountDrop(transaction="", float_id=name, box="B", notes=notes), number)
    booked(ledger, tmp_path / "table.sqlite", game.world.log)
    floats = [each for day in by_day(ledger, day="2026-11-27") for each in day.floats]
    assert [each.float_id for each in floats] == ["20261127-01", "20261127-02"]
    for each in floats:
        assert each.difference == 0, seed
        assert each.drop == each.drop_due
    assert floats[1].drop == bought
    assert floats[1].opening_difference == 0


def test_every_report_adds_up_to_the_ledger_and_to_the_table(ledger: str, tmp_path: Path) -> None:
    """Tokens, voids that were taken back, corrections on later days: nothing is in no report."""
    rng, game = random.Random(9), Game(BOOKS["prepaid pairs"](), 9)
    for _ in range(30):
        game.play(random_coup(rng))
    booked(ledger, tmp_path / "table.sqlite", game.world.log)
    totals, accounts = game.world.state.totals, accounts_of(ledger)
    with open_ledger(parse_ledger_url(ledger)) as opened:
        for by in ("shoe", "day"):
            found = summary_reports(opened, by, Filter())
            for each in found:
                assert each.win == sum(patron.win for patron in each.patrons)
                assert each.handle == sum(patron.turnover for patron in each.patrons)
                assert each.tokens == sum(patron.tokens for patron in each.patrons)
            assert sum(each.house for each in found) == totals.house
            assert sum(each.commission for each in found) == totals.commission
            assert sum(each.tokens for each in found) == -accounts["promo_used"]
            assert (sum(e.coups for e in found), sum(e.voids for e in found)) == (
                totals.coups, totals.voids,
            )  # fmt: skip


PLAYED_ON_TOKENS = """in none
open
place_wager wagers="1 player 1000 kind=promo patron=p-1"
close
deal 9S 2D KH 3C
result player
played 9S KH | 2D 3C | 2 player 500
void_coup coup=01/2
correct_hands coup=01/2 player="9S KH" banker="2D 3C\""""


def test_a_patron_of_tokens_alone_is_there_and_a_void_taken_back_is_none(
    ledger: str, tmp_path: Path
) -> None:
    booked(ledger, tmp_path / "table.sqlite", play_history(PLAYED_ON_TOKENS.splitlines()).log)
    (found,) = by_day(ledger)
    assert (found.coups, found.voids, found.win, found.tokens) == (2, 0, -1_500, 1_000)
    told = [(each.patron, each.turnover, each.win, each.tokens) for each in found.patrons]
    assert told == [("p-1", 0, -1_000, 1_000), ("", 500, -500, 0)]


def test_corrections_are_counted_and_named(ledger: str, tmp_path: Path) -> None:
    events = chip_day()
    again = (Pieces(10_000, 210),)
    events += [
        ChipsCorrected(
            float_id=FLOAT, move="fill", slip="F-101", chips=again, amount=21_000_00,
            was=20_000_00, reason="a rack was counted twice", signed=SIGNED,
        ),
        FloatOpened(
            float_id="20261128-01", currency="AUD", chips=(Pieces(100_00, 500),),
            amount=50_000_00, signed=SIGNED,
        ),
        ChipsFilled(
            float_id="20261128-01", slip="F-101", chips=(Pieces(100_00, 1),), amount=100_00,
            signed=SIGNED,
        ),
    ]  # fmt: skip
    booked(ledger, tmp_path / "table.sqlite", events)
    first, second = (each.floats[0] for each in by_day(ledger))
    assert (first.fills, first.movement, first.drop_due) == (21_000_00, -8_350_00, 13_000_00)
    line = next(each for each in first.moves if each.move == "fill")
    assert (line.amount, line.was, line.reason) == (
        21_000_00, 20_000_00, "a rack was counted twice",
    )  # fmt: skip
    assert first.denominations[1].fills == 210
    assert second.opening_difference == -150_00  # 50,000 where 50,150 had been left
    assert (first.repeated, second.repeated) == (("fill F-101",),) * 2
    assert [each.day for each in _only(by_day(ledger, day="2026-11-28"))] == ["2026-11-28"]
    assert _only(by_day(ledger, day="2026-11-28"))[0].opening_difference == -150_00


def _only(found: list[SummaryReport]) -> tuple[FloatReport, ...]:
    (one,) = found
    return one.floats


ORPHAN = (
    "INSERT INTO posting SELECT book, position, 2, line, account, seat, bet, result, amount, patron"
    " FROM posting WHERE account = 'drop'"
)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE entry SET detail = replace(detail, 'F-101', 'F-102') WHERE kind = 'chips_filled'",
         "detail"),
        ("UPDATE posting SET amount = amount - 1 WHERE account = 'drop'", "account drop"),
        ("UPDATE posting SET patron = 'p-4' WHERE patron = 'p-17'", "account pool, seat 3"),
        ("UPDATE posting SET patron = '' WHERE patron != ''", "account pool, seat 3"),
        ("UPDATE entry SET day = '2026-11-28' WHERE kind = 'chips_counted'", "day '2026-11-28'"),
        ("UPDATE entry SET day = '2026-11-28' WHERE phase = 2", "day '2026-11-28'"),
        ("UPDATE entry SET at = '2026' WHERE phase = 2", "at '2026'"),
        (ORPHAN, "belongs to no entry"),
    ],
)  # fmt: skip
def test_reconcile_finds_what_was_changed_about_chips_and_patrons(
    ledger: str, tmp_path: Path, statement: str, said: str
) -> None:
    log, postgres = tmp_path / "table.sqlite", "postgres" in ledger
    booked(ledger, log, chip_day())
    with create_ledger_engine(parse_ledger_url(ledger), create=True).begin() as connection:
        for table in ("entry", "posting"):
            seal = f"{table}_sealed ON {table}" if postgres else f"{table}_UPDATE"
            connection.execute(text(f"DROP TRIGGER {seal}"))
        connection.execute(text(statement))
    difference = held_against(ledger, log).difference
    assert difference is not None
    assert said in difference.text


def test_reconcile_compares_the_tables_own_totals(ledger: str, tmp_path: Path) -> None:
    log = tmp_path / "table.sqlite"
    play_log(log, seed=3, coups=12, book="au-commission")
    book_log(ledger, log)
    with open_ledger(parse_ledger_url(ledger)) as opened, reading_log(log) as reader:
        own = table_figures(reader, reader.end)
        assert own is not None
        found = reconcile(reader, opened, {reader.end: own}.get)
        assert (found.difference, found.totals) == (None, True)
        for name in set(TableFigures.__struct_fields__) - {"debts"}:
            other = replace(own, **{name: getattr(own, name) + 1})
            difference = reconcile(reader, opened, {reader.end: other}.get).difference
            assert difference is not None
            assert difference.text.startswith(f"{name}: {getattr(own, name)} in the ledger")


def test_a_ledger_that_stands_between_a_settlement_and_its_commission_agrees(
    tmp_path: Path,
) -> None:
    log, ledger = tmp_path / "table.sqlite", str(tmp_path / "cage.sqlite")
    with signed_table(log) as table:
        table.ready()
        table.open((1, "banker", 1000))
        table.deal(("2S", "9D", "3S", "KC"))
    compared = []
    with closing(LedgerStore.open(parse_ledger_url(ledger), STREAM)) as store:
        for fact in facts_of(log):
            store.book([fact])
            found = held_against(ledger, log)
            assert found.difference is None, (fact.position, found)
            compared.append(found.totals)
    assert compared[-1]
    assert False in compared


def test_a_ledger_of_the_first_version_is_brought_up_and_goes_on(
    ledger: str, tmp_path: Path
) -> None:
    """Half the day was booked before postings had patrons; nothing of it is touched.

    No release wrote such a ledger, so reconciliation finds that its patrons are missing. A log of
    that time names no currency.
    """
    log = tmp_path / "table.sqlite"
    events = [
        replace(event, currency="") if isinstance(event, RulebookAdopted) else event
        for event in played(3, 20, "au-even-money")
    ]
    write_log(log, STREAM, events)
    facts = facts_of(log)
    with closing(LedgerStore.open(parse_ledger_url(ledger), STREAM)) as store:
        store.book(facts[: len(facts) // 2])
    with create_ledger_engine(parse_ledger_url(ledger), create=True).begin() as connection:
        for statement in (
            "ALTER TABLE entry DROP COLUMN currency",
            "ALTER TABLE entry DROP COLUMN detail",
            "ALTER TABLE posting DROP COLUMN patron",
            "UPDATE alembic_version SET version_num = '0001'",
        ):
            connection.execute(text(statement))
    with (
        pytest.raises(LedgerError, match="is at version 0001, and this build reads 0003"),
        open_ledger(parse_ledger_url(ledger)),
    ):
        pass
    with closing(LedgerStore.open(parse_ledger_url(ledger), STREAM)) as store:
        assert store.book(facts).repeated == len(facts) // 2
    difference = held_against(ledger, log).difference
    assert difference is not None
    assert difference.text.startswith("entry ")
    with open_ledger(parse_ledger_url(ledger)) as opened:
        (found,) = summary_reports(opened, "shoe", Filter())
    named = {each.patron for each in found.patrons}
    assert "" in named
    assert len(named) > 1


# Of the hand-worked day: whose wagers, and what the cage and the pit have written beside.
OF_BEFORE = {"p-17": "p\0-17", "p-4": r"p\u0000-17", "R-7": "R\0", "change of shift": "a\nb\0"}


def test_a_log_that_holds_a_nul_is_booked_as_it_is(ledger: str, tmp_path: Path) -> None:
    """No table takes such a text any more; what one has taken stays in its log for ever."""
    log, day = tmp_path / "table.sqlite", chip_day()
    booked(ledger, log, [_with_texts_of_before(event) for event in day], every_s=60)
    with open_ledger(parse_ledger_url(ledger)) as opened:
        patrons = {each.patron for entry in opened.entries(Filter()) for each in entry.postings}
    assert patrons == {"p\0-17", r"p\u0000-17", ""}
    (found,) = by_day(ledger)
    assert {
        patron.patron: (patron.coups, patron.turnover, patron.win) for patron in found.patrons
    } == {
        # 1,000 Banker, 2,000 and 4,000 Player; 500 and 3,000 Player, and what was void.
        "p\0-17": (3, 7_000_00, 1_000_00),
        r"p\u0000-17": (2, 3_500_00, 3_500_00),
        "": (1, 100_00, 100_00),
    }


def _with_texts_of_before(event: TableEvent) -> TableEvent:
    document = msgspec.json.encode(event)
    for was, before in OF_BEFORE.items():
        document = document.replace(msgspec.json.encode(was), msgspec.json.encode(before))
    return msgspec.json.decode(document, type=type(event))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_printed_day_ties_to_the_log_by_a_sum_of_its_own(seed: int, tmp_path: Path) -> None:
    """The page's figures, added up from the bytes of the log alone; seed 0 is the worked day."""
    log, books, page = (tmp_path / name for name in ("table.sqlite", "cage.sqlite", "day.html"))
    if seed:
        play_log(log, seed=seed, coups=15)
    else:
        write_log(log, STREAM, chip_day(), every_s=60)
    book_log(str(books), log)
    said(here("cage", "report", "--ledger", books, "--by", "day", "--html", page))
    in_force: dict[str, list[dict[str, Any]]] = {}
    with closing(sqlite3.connect(log)) as db:
        rows = "SELECT bytes FROM event WHERE type = 'coup_settled' ORDER BY position"
        for (stored,) in db.execute(rows):
            settlement = json.loads(stored)["data"]["settlement"]
            in_force.pop(settlement.get("reverses", ""), None)
            in_force[settlement["settlement_id"]] = settlement["lines"]
    lines = [line for each in in_force.values() for line in each]
    money = [line for line in lines if line.get("kind") != "promo"]
    handle = sum(line["stake"] for line in money if line["result"] != "void")
    commission = sum(line["commission"] for line in lines)
    win = sum(line["stake"] for line in money) - sum(line["paid"] for line in lines) - commission
    text = re.sub(r"<[^>]*>|\s", " ", page.read_text("utf-8").replace("\u2212", "-"))
    due = {"Handle": handle, "Win before commission": win, "Commission, net": commission}
    for label, amount in (due | {"Win and commission": win + commission}).items():
        found = re.findall(rf" {label} +(-?[\d,.]+)", text)
        assert [int(re.sub(r"[,.]", "", each)) for each in found] == [amount], label
