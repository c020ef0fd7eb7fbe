"""`baccarat cage report` as text, JSON, CSV and a page, of the day that was worked by hand."""

import csv
import io
import json
from pathlib import Path

import pytest

from tests.house.sources import texts
from tests.support.cage.ledgers import STREAM, book_log
from tests.support.machine.commands import Done, here, said
from tests.support.property.logs import write_log
from tests.support.table.chip_day import FLOAT, chip_day


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("day")
    write_log(folder / "table.sqlite", STREAM, chip_day())
    url = str(folder / "cage.sqlite")
    book_log(url, folder / "table.sqlite")
    return url


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
    """docs/cage.md, "Drop and hold": its right-hand column, sum by sum."""
    section = texts()["docs/cage.md"].partition("## Drop and hold")[2].partition("\n## ")[0]
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
