"""`baccarat cage report` as text, JSON, CSV and a page, of the day that was worked by hand."""

import csv
import io
import json
from contextlib import closing, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from baccarat.cli.main import main
from cage.ledger.database import parse_ledger_url
from cage.ledger.store import LedgerStore
from tests.house.sources import texts
from tests.support.cage.ledgers import STREAM, facts_of, write_log
from tests.support.table.chip_day import FLOAT, chip_day


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("day")
    write_log(folder / "table.sqlite", chip_day())
    url = str(folder / "cage.sqlite")
    with closing(LedgerStore.open(parse_ledger_url(url), STREAM)) as store:
        store.book(facts_of(folder / "table.sqlite"))
    return url


def run(books: str, *args: str | Path) -> tuple[int, str, str]:
    out, err = io.StringIO(newline=""), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(["cage", "report", "--ledger", books, *map(str, args)])
    return code, out.getvalue(), err.getvalue()


def test_the_day_as_json_has_patrons_and_floats(books: str) -> None:
    code, out, err = run(books, "--by", "day", "--json")
    assert (code, err) == (0, "")
    (line,) = out.splitlines()
    day = json.loads(line)
    assert (day["key"], day["house"], day["theoretical"]) == ("2026-11-27", 465_000, 14_227)
    assert [each["patron"] or each["seat"] for each in day["patrons"]] == ["p-17", "p-4", 7]
    (found,) = day["floats"]
    assert (found["float_id"], found["drop"], found["difference"]) == (FLOAT, 1_190_000, -10_000)


def test_each_table_of_it_as_csv(books: str) -> None:
    rows = {}
    for what in ("totals", "patrons", "floats"):
        code, out, _ = run(books, "--by", "day", "--csv", what)
        assert code == 0
        assert "\r\n" in out
        rows[what] = list(csv.DictReader(io.StringIO(out)))
    assert [len(found) for found in rows.values()] == [1, 3, 1]
    assert rows["totals"][0]["handle"] == "1060000"
    assert sum(int(row["turnover"]) for row in rows["patrons"]) == 1_060_000
    assert rows["floats"][0]["hold"] == "0.3824"


def test_the_page_is_written_and_nothing_else_is_said(books: str, tmp_path: Path) -> None:
    page = tmp_path / "day.html"
    assert run(books, "--by", "day", "--html", page) == (0, "", "")
    source = page.read_text("utf-8")
    assert "12,000.00" in source
    assert "38.24 %" in source
    assert "Amounts in AUD" in source
    page.write_text("something else", "utf-8")
    code, _, err = run(books, "--by", "day", "--html", page)
    assert (code, "that is not overwritten" in err) == (2, True)
    other = tmp_path / "euro.html"
    assert run(books, "--by", "shoe", "--currency", "JPY", "--html", other)[0] == 0
    assert "1,060,000" in other.read_text("utf-8")


def test_as_text_every_figure_is_there(books: str) -> None:
    code, out, _ = run(books, "--by", "day")
    assert code == 0
    for said in ("1,060,000", "14,227", "-735,000", "38.24 %", "p-17"):
        assert said in out
    assert run(books, "--json", "--csv", "totals")[0] == 2
    assert run(books, "--by", "day", "--day", "2026-01-01") == (0, "", "")


def test_the_day_that_the_document_works_is_this_one() -> None:
    """docs/cage.md, "Drop and hold": its right-hand column, sum by sum."""
    section = texts()["docs/cage.md"].partition("## Drop and hold")[2].partition("\n## ")[0]
    worked = {row[0]: row[-1] for row in map(_cells, section.splitlines()) if len(row) == 3}
    for name, sum_ in worked.items():
        formula, equals, result = sum_.rpartition(" = ")
        if not equals:
            continue
        value = eval(formula.replace(",", "").replace(" x ", " * "))  # noqa: S307 - our own document
        said = float(result.rstrip(" %").replace(",", ""))
        assert abs(value * (100 if "%" in result else 1) - said) < 0.01, name
    assert worked["difference"].endswith("= -100")


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
