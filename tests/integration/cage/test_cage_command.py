"""`baccarat cage ...` as scripts outside use it: names, options, JSON, exit codes."""

import csv
import io
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from events.types.table import CoupSettled, CoupVoided, TableEvent
from table_core.odds.exact import exact_odds
from table_core.rulebooks.shipped import load_rulebook
from table_core.rules.composition import full_shoe
from tests.support.cage.ledgers import STREAM, book_log, play_log
from tests.support.machine.commands import Done, complaint, documents, here, run, said

SEED = 5


@pytest.fixture
def played(tmp_path: Path, ledger: str) -> list[TableEvent]:
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


def standing(events: list[TableEvent]) -> dict[str, CoupSettled]:
    """The settlements that were not taken back."""
    found: dict[str, CoupSettled] = {}
    for event in events:
        if isinstance(event, CoupSettled):
            found.pop(event.settlement.reverses or "", None)
            found[event.settlement.settlement_id] = event
    return found


def test_balances_come_to_the_settlements_in_force(played: list[TableEvent], ledger: str) -> None:
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


def test_exports_and_statements_hold_every_posting(played: list[TableEvent], ledger: str) -> None:
    rows = lines("export", "--ledger", ledger)
    done = cage("export", "--ledger", ledger, "--csv")
    table = list(csv.DictReader(io.StringIO(done.out)))
    assert [{k: str(v) for k, v in row.items()} for row in rows] == table
    entries = lines("statement", "--ledger", ledger)
    postings = [p for entry in entries for p in entry["postings"]]
    assert len(postings) == len(rows) > 100
    coup = next(e.coup for e in played if isinstance(e, CoupSettled) and e.settlement.lines)
    told = cage("statement", "--ledger", ledger, "--coup", coup)
    assert f"{coup}" in told.out
    assert "wagers_placed" in told.out
    assert cage("export", "--ledger", ledger).code == 2


def test_a_report_of_a_shoe_says_what_it_came_to(played: list[TableEvent], ledger: str) -> None:
    in_force = standing(played)
    rulebook = load_rulebook("au-commission")
    edges = {bet: row.edge for bet, row in exact_odds(rulebook, full_shoe(rulebook.decks)).items()}
    handle, theoretical, house = 0, Fraction(0), 0
    for event in in_force.values():
        for line in event.settlement.lines:
            if line.kind != "promo" and line.result != "void":
                handle += line.stake
                theoretical += line.stake * edges[line.bet]
        house += event.settlement.staked - event.settlement.paid
    reports = lines("report", "--ledger", ledger)
    settled = {e.settlement.coup for e in in_force.values() if e.settlement.phase == 2}
    assert sum(each["handle"] for each in reports) == handle
    assert sum(each["house"] for each in reports) == house
    (report,) = reports  # 25 coups are one shoe
    assert report["key"] == "20261127-01"
    assert report["theoretical"] == round(theoretical)
    voids = {event.coup for event in played if isinstance(event, CoupVoided)}
    assert report["voids"] == len(voids)
    assert len(settled - voids) <= report["coups"] <= len(settled)
    kept = [report[name] for name in ("collected", "outstanding", "uncollected", "recovered")]
    assert report["accrued"] - report["reversed_"] == sum(kept)


def test_reconcile_agrees_and_then_names_what_is_missing(
    played: list[TableEvent], ledger: str, tmp_path: Path
) -> None:
    log = tmp_path / "table.sqlite"
    done = cage("reconcile", log, "--ledger", ledger)
    assert done.code == 0
    assert "agrees with the log to the unit" in done.out
    (document,) = lines("reconcile", log, "--ledger", ledger)
    assert (document["agrees"], document["read"]) == (True, len(played))
    longer = tmp_path / "longer.sqlite"
    more = play_log(longer, seed=SEED, coups=27, book="au-commission")
    unbooked = sum(isinstance(event, CoupSettled) for event in more[len(played) :])
    done = cage("reconcile", longer, "--ledger", ledger)
    assert done.code == 1
    assert f"{unbooked} settlements are not booked yet" in done.out
    play_log(tmp_path / "cut.sqlite", seed=SEED, coups=20, book="au-commission")
    done = cage("reconcile", tmp_path / "cut.sqlite", "--ledger", ledger)
    assert done.code == 1
    assert "it was cut" in done.out
    done = cage("reconcile", tmp_path / "none.sqlite", "--ledger", ledger)
    assert done.code == 2


@pytest.mark.parametrize(
    ("args", "wrong"),
    [
        (("run",), "name the table's CONFIG, or its broker by --url"),
        (("run", "--url", "http://x/a/b"), "--url: write mqtt://"),
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
    assert wrong in complaint(run("cage", *args))
