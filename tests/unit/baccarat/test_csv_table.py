"""A cell of a CSV table is never a formula, and never leaves its line."""

import csv
import io

import pytest

from baccarat.csv_table import write_csv


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("p-1", "p-1"),
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        (-1, "-1"),
        (None, ""),
        ('a,"b"', 'a,"b"'),
        ("a\r\n=1+1", r"a\u000D\u000A=1+1"),
        ("\t=1+1", r"\u0009=1+1"),
    ],
)
def test_a_cell_is_read_back_as_a_person_may_see_it(value: object, cell: str) -> None:
    out = io.StringIO()
    write_csv(out, ["first", "last"], [{"first": value, "last": "z"}])
    assert list(csv.reader(io.StringIO(out.getvalue()))) == [["first", "last"], [cell, "z"]]
