"""`baccarat cage` on ledgers and logs: reports, reconciliations of any length, and refusals."""

import csv
import io
import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from benchmarks.table.opening import make_log
from cage.ledger.database import parse_ledger_url
from cage.ledger.store import LedgerStore
from events.types import CoupSettled, TableEvent
from table_core.odds.exact import exact_odds
from table_core.rulebooks.shipped import load_rulebook
from table_core.rules.rulebook_file import full_shoe
from tests.house.sources import texts
from tests.support.cage.ledgers import STREAM, book_log, facts_of, play_log
from tests.support.log.logs import forging, json_bytes, rehash
from tests.support.machine.commands import Done, complaint, documents, here, said
from tests.support.machine.processes import ROOT, environment
from tests.support.property.logs import write_log
from tests.support.table import evidence as judged
from tests.support.table.chip_day import FLOAT, chip_day

REVISED: Final = 10
_COUPS_A_SHOE: Final = 80
_SHOES_A_DAY: Final = 99


SEED = 5


@pytest.fixture
def played(tmp_path: Path, ledger: str) -> Sequence[TableEvent]:
    log = tmp_path / "table.sqlite"
    events = play_log(log, seed=SEED, coups=25, book="au-commission")
    book_log(ledger, log)
    return events


def cage(*args: object) -> Done:
    return here("cage", *args)


def lines(*args: object) -> list[dict[str, Any]]:
    done = cage(*args, "--json")
    said(done)
    return documents(done)


def standing(events: Sequence[TableEvent]) -> dict[str, CoupSettled]:
    """The settlements that were not taken back."""
    found: dict[str, CoupSettled] = {}
    for event in events:
        if isinstance(event, CoupSettled):
            found.pop(event.settlement.reverses or "", None)
            found[event.settlement.settlement_id] = event
    return found


def test_balances_come_to_the_settlements_in_force(
    played: Sequence[TableEvent], ledger: str
) -> None:
    lines_in_force = [line for each in standing(played).values() for line in each.settlement.lines]
    won = sum(line.winnings - (line.stake if line.result == "lose" and line.kind != "promo" else 0)
              for line in lines_in_force)  # fmt: skip
    (whole,) = lines("balance", "--ledger", ledger)
    assert whole["table"] == STREAM
    accounts = whole["accounts"]
    assert accounts["win"] == won
    assert accounts["commission"] == -sum(line.commission for line in lines_in_force)
    assert sum(accounts.values()) == 0
    for by in ("shoe", "day", "seat", "bet"):
        parts: Counter[str] = Counter()
        for row in lines("balance", "--ledger", ledger, "--by", by):
            parts.update(row["accounts"])
        assert {k: v for k, v in parts.items() if v} == {k: v for k, v in accounts.items() if v}
    told = cage("balance", "--ledger", ledger)
    assert f"{won:,}" in told.out


def test_exports_and_statements_hold_every_posting(
    played: Sequence[TableEvent], ledger: str
) -> None:
    rows = lines("export", "--ledger", ledger)
    done = cage("export", "--ledger", ledger, "--csv")
    table = list(csv.DictReader(io.StringIO(done.out)))
    # The columns of the CSV are as they were; an entry's currency is in the JSON alone.
    assert {row.pop("currency") for row in rows} == {"AUD"}
    assert [{k: str(v) for k, v in row.items()} for row in rows] == table
    entries = lines("statement", "--ledger", ledger)
    postings = [p for entry in entries for p in entry["postings"]]
    assert len(postings) == len(rows) > 100
    coup = next(e.coup for e in played if isinstance(e, CoupSettled) and e.settlement.lines)
    told = cage("statement", "--ledger", ledger, "--coup", coup)
    assert f"{coup}" in told.out
    assert "wagers_placed" in told.out
    assert cage("export", "--ledger", ledger).code == 2


def test_a_report_of_a_shoe_says_what_the_odds_keep(
    played: Sequence[TableEvent], ledger: str
) -> None:
    rulebook = load_rulebook("au-commission")
    edges = {bet: row.edge for bet, row in exact_odds(rulebook, full_shoe(rulebook.decks)).items()}
    theoretical = sum(
        line.stake * edges[line.bet]
        for event in standing(played).values()
        for line in event.settlement.lines
        if line.kind != "promo" and line.result != "void"
    )
    (report,) = lines("report", "--ledger", ledger)  # 25 coups are one shoe
    assert (report["key"], report["theoretical"]) == ("20261127-01", round(theoretical))


def test_reconcile_agrees_and_then_names_what_is_missing(ledger: str, tmp_path: Path) -> None:
    log = judged.played(tmp_path / "judged.sqlite", coups=5)
    book_log(ledger, log)
    done = cage("reconcile", log, "--ledger", ledger)
    assert done.code == 0
    assert "agrees with the log to the unit" in done.out
    (document,) = lines("reconcile", log, "--ledger", ledger)
    assert (document["agrees"], document["read"]) == (True, len(facts_of(log)))
    assert document["judged"]["settlements"] == 5
    longer = Path(shutil.copy(log, tmp_path / "longer.sqlite"))
    with judged.signed_table(longer) as table:
        table.coup()
        table.coup()
    done = cage("reconcile", longer, "--ledger", ledger)
    assert done.code == 1
    assert "2 settlements are not booked yet" in done.out
    cut = judged.played(tmp_path / "cut.sqlite", coups=3)
    done = cage("reconcile", cut, "--ledger", ledger)
    assert done.code == 1
    assert "it was cut" in done.out
    done = cage("reconcile", tmp_path / "none.sqlite", "--ledger", ledger)
    assert done.code == 2


def test_a_payment_that_does_not_fit_its_cards_is_said_as_log_verify_says_it(
    tmp_path: Path,
) -> None:
    log, ledger = judged.played(tmp_path / "table.sqlite"), tmp_path / "ledger.sqlite"
    with forging(log) as db:
        newest = "SELECT position, bytes FROM event WHERE type = 'coup_settled' ORDER BY 1 DESC"
        position, stored = db.execute(newest).fetchone()
        told = json.loads(stored)
        settlement = told["data"]["settlement"]
        settlement["paid"] += 100
        settlement["lines"][0]["paid"] += 100
        settlement["lines"][0]["winnings"] += 100
        row = (json_bytes(told), position)
        db.execute("UPDATE event SET bytes = ? WHERE position = ?", row)
        rehash(db, STREAM)
        db.execute("DELETE FROM checkpoint")
    book_log(str(ledger), log)  # a cage books whatever the table publishes
    bank = tmp_path / "bank.csv"
    bank.write_text("settlement_id,seat,staked,paid,commission\n", "utf-8")
    verdict = json.loads(here("log", "verify", "--json", log).out)
    assert (verdict["first_bad"], "has other" in verdict["reason"]) == (position, True)
    for book in (("--ledger", ledger), ("--book", bank)):
        done = cage("reconcile", log, *book)
        said = f"{STREAM}: NOT ok at position {position}: {verdict['reason']}\n"
        assert (done.code, done.out.startswith(said)) == (1, True)
        document = json.loads(cage("reconcile", log, *book, "--json").out)
        assert (document["agrees"], document["sound"]) == (False, False)
        assert verdict["reason"] in str(document["difference"])


@pytest.mark.parametrize(
    ("args", "wrong"),
    [
        (("run",), "name the table's CONFIG, or its broker by --url"),
        (("run", "--url", "http://x/a/b"), "--url: write mqtt[s]://"),
        (("run", "--url", "mqtt://127.0.0.1/A/b"), "use lower-case letters"),
        (("balance", "--ledger", "none.sqlite"), "there is no such ledger"),
        (("balance", "--ledger", "mysql://x/y"), "not in mysql"),
        (
            ("run", "--url", "mqtt://127.0.0.1/a/b", "--ledger", "postgresql://127.0.0.1:1/x"),
            "127.0.0.1:1/x: connection",
        ),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_two(args: tuple[str, ...], wrong: str) -> None:
    assert wrong in complaint(here("cage", *args))


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("day")
    write_log(folder / "table.sqlite", STREAM, chip_day())
    url = str(folder / "cage.sqlite")
    book_log(url, folder / "table.sqlite")
    return url


@pytest.mark.parametrize(
    "command", ["balance", "statement", "export --csv", "export --json", "report --by day"]
)
@pytest.mark.parametrize(
    ("option", "said"),
    [
        *(
            (f"--day {day}", f"'{day}': write a business day, such as 2026-11-27")
            for day in (
                "30.11.2026",
                "20261130",
                "2026-13-45",
                "2026-02-29",
                "yesterday",
                "30/11/2026",
            )
        ),
        ("--table b7", f"no such table in this ledger; the newest first, there are {STREAM}"),
        ("--shoe 20261127-09", "no such shoe in this ledger; the newest first, there are 20261127"),
        ("--coup 99", "no such coup in this ledger; the newest first, there are 20261127-01/"),
        ("--bet bankr", "no such bet in this ledger; the newest first, there are "),
        (f"--table {STREAM} --bet bankr", f"no such bet in this ledger of {STREAM}; the newest"),
    ],
)
def test_what_the_ledger_does_not_have_is_named(
    command: str, option: str, said: str, books: str
) -> None:
    words = ["cage", *command.split(), "--ledger", books, *option.split()]
    assert said in complaint(here(*words))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is empty"),
        (b"\xff", "invalid"),
        (b"{}", "missing required field `rulebook`"),
        (b"[" * 200_000, "Expected `object`, got `array`"),
        (
            b'{"rulebook":"r","bets":{"tie":{"edge":"1/2"},"tie":{"edge":"1/3"}}}',
            "the key 'tie' is there twice; write it once",
        ),
        (b'{"rulebook":"r","bets":{"player":{}}}', "missing required field `edge`"),
        (b'{"rulebook":"r","bets":{},"more":' + b"[" * 200_000, "recursion"),
        *(
            (
                b'{"rulebook":"r","bets":{"banker":{"edge":"%b"}}}' % edge,
                f"the edge of banker is {edge[:80].decode()!r}, no fraction",
            )
            for edge in (b"1/0", b"1e99999999", b"1" * 5000, b"1/" + b"3" * 5000, b"", b"nan")
        ),
    ],
)
def test_odds_that_are_none_are_named(
    content: bytes, said: str, books: str, tmp_path: Path
) -> None:
    (file := tmp_path / "odds.json").write_bytes(content)
    told = complaint(report(books, "--odds", file))
    assert f"--odds {file}: not what `baccarat odds --rulebook R.toml --json` prints" in told
    assert said in told


def report(books: str, *args: object) -> Done:
    return here("cage", "report", "--ledger", books, *args)


def test_the_day_as_json_has_patrons_and_floats(books: str) -> None:
    day = json.loads(said(report(books, "--by", "day", "--json")))
    assert (day["key"], day["house"], day["theoretical"]) == ("2026-11-27", 465_000, 14_227)
    assert [each["patron"] or each["seat"] for each in day["patrons"]] == ["p-17", "p-4", 7]
    (found,) = day["floats"]
    assert (found["float_id"], found["drop"], found["difference"]) == (FLOAT, 1_190_000, -10_000)


def test_each_table_of_it_as_csv(books: str) -> None:
    rows = {}
    for what in ("totals", "patrons", "floats"):
        out = said(report(books, "--by", "day", "--csv", what))
        assert "\r\n" in out
        rows[what] = list(csv.DictReader(io.StringIO(out)))
    assert [len(found) for found in rows.values()] == [1, 3, 1]
    assert rows["totals"][0]["handle"] == "1060000"
    assert sum(int(row["turnover"]) for row in rows["patrons"]) == 1_060_000
    assert rows["floats"][0]["hold"] == "0.3824"


def test_the_page_is_written_and_nothing_else_is_said(books: str, tmp_path: Path) -> None:
    page = tmp_path / "day.html"
    assert report(books, "--by", "day", "--html", page) == (0, "", "")
    source = page.read_text("utf-8")
    assert "12,000.00" in source
    assert "38.24 %" in source
    assert "Amounts in AUD" in source
    page.write_text("something else", "utf-8")
    code, _, err = report(books, "--by", "day", "--html", page)
    assert (code, "that is not overwritten" in err) == (2, True)
    other = tmp_path / "euro.html"
    assert report(books, "--by", "shoe", "--currency", "JPY", "--html", other)[0] == 0
    assert "1,060,000" in other.read_text("utf-8")


def test_as_text_every_figure_is_there(books: str) -> None:
    out = said(report(books, "--by", "day"))
    for figure in ("1,060,000", "14,227", "-735,000", "38.24 %", "p-17"):
        assert figure in out
    assert report(books, "--json", "--csv", "totals")[0] == 2
    assert report(books, "--by", "day", "--day", "2026-01-01") == (0, "", "")


def test_the_day_that_the_document_works_is_this_one() -> None:
    """docs/money/drop-and-hold.md: the right-hand column, sum by sum."""
    section = texts()["docs/money/drop-and-hold.md"].partition("\n## Drop and hold")[2]
    worked = {row[0]: row[-1] for row in map(_cells, section.splitlines()) if len(row) == 3}
    for name, sum_ in worked.items():
        formula, equals, result = sum_.rpartition(" = ")
        if not equals:
            continue
        value = eval(formula.replace(",", "").replace(" x ", " * "))  # noqa: S307 - our own document
        written = float(result.rstrip(" %").replace(",", ""))
        assert abs(value * (100 if "%" in result else 1) - written) < 0.01, name
    assert worked["difference"].endswith("= -100")


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []


# Each settlement that is kept costs several kilobytes, so this many are not to be overlooked.
SHORT, LONG = 5_000, 20_000  # events
MOST_KB = 4_096

# The command, and then the most memory that it ever had.
COMMAND = """\
import os, sys
from baccarat.cli.main import main
from tests.support.machine.processes import peak_kilobytes
code = main(sys.argv[1:])
print(peak_kilobytes(os.getpid()))
sys.exit(code)
"""


@pytest.mark.cold_start
def test_a_reconciliation_takes_no_more_memory_for_a_longer_ledger(
    ledger: str, tmp_path: Path
) -> None:
    log = tmp_path / "table.sqlite"
    make_log(log, LONG, lambda _: None)
    facts = facts_of(log)
    peaks, asked = [], ["cage", "reconcile", str(log), "--ledger", ledger, "--json"]
    with closing(LedgerStore.open(parse_ledger_url(ledger), facts[0].stream)) as store:
        for end in (SHORT, len(facts)):
            for first in range(store.position, end, 500):
                store.book(facts[first : min(first + 500, end)])
            done = subprocess.run(
                [sys.executable, "-c", COMMAND, *asked],
                check=False,
                capture_output=True,
                text=True,
                cwd=ROOT,
                env=environment(),
            )
            document, peak = done.stdout.splitlines()
            said = json.loads(document)
            assert said["difference"] is None
            settled = [each for each in facts[:end] if isinstance(each.data, CoupSettled)]
            assert said["settlements"] == len(settled)
            assert said["judged"]["settlements"] > end / 30
            peaks.append(int(peak))
    print(peaks)  # noqa: T201 - the figures
    assert done.returncode == 0
    assert peaks[1] - peaks[0] < MOST_KB
