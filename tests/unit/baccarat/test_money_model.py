"""The table, the ledger, replay, the list and evidence against an independent model of the money.

The model (`tests.support.money_model`) is played the same histories and compared after every line.
`make soak` plays a million lines (`tests/soak/test_money_model.py`).
"""

from pathlib import Path

import pytest

from tests.support.money_model.compare import Difference
from tests.support.money_model.driver import GAMES, play
from tests.support.money_model.records import check_records, logged
from tests.support.money_model.rows import ROWS
from tests.support.money_model.shorten import replayed, shortest

LINES, HISTORIES = 200, 6  # thousands in tests/soak/test_money_model.py
LOGGED_LINES = 70


@pytest.mark.sweep
@pytest.mark.parametrize("title", ROWS)
def test_what_was_told_wrong_is_told_right(title: str, tmp_path: Path) -> None:
    row = ROWS[title]
    lines = [line.strip() for line in row.history.splitlines() if line.strip()]
    replayed(lines, row.game)
    found = check_records(logged(lines, row.game, tmp_path), tmp_path)
    assert found == [], "\n".join(map(str, found))


@pytest.mark.sweep
@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("seed", range(HISTORIES))
def test_a_random_history_comes_out_as_the_model_says(game: str, seed: int) -> None:
    try:
        play(seed, game, LINES)
    except Difference as found:
        raise shortest(found, game) from None


@pytest.mark.sweep
@pytest.mark.parametrize("game", GAMES)
def test_what_is_read_from_a_log_comes_out_as_the_model_says(game: str, tmp_path: Path) -> None:
    lines = play(HISTORIES, game, LOGGED_LINES).steps.lines
    found = check_records(logged(lines, game, tmp_path), tmp_path)
    assert found == [], "\n".join(map(str, found))
