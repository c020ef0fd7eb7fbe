"""Tables of answers are printed whole, however narrow the terminal."""

import pytest
from rich.table import Table

from baccarat.cli.whole_table import print_whole


def test_no_cell_is_cut(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    table = Table(*(f"column {number}" for number in range(9)))
    table.add_row(*(f"{number}00,000,000.00" for number in range(1, 10)))
    print_whole(table)
    said = capsys.readouterr().out
    assert "…" not in said
    assert all(f"{number}00,000,000.00" in said for number in range(1, 10))
