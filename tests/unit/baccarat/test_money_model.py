"""The table, the ledger, replay, the list and evidence against an independent model of the money.

The model (`tests.support.money_model`) is played the same histories and compared after every line.
`make soak` plays a million lines (`tests/soak/test_money_model.py`).
"""

from pathlib import Path

import pytest

from tests.support.money_model.compare import Difference
from tests.support.money_model.driver import GAMES, play, texts
from tests.support.money_model.records import check_records, logged
from tests.support.money_model.rows import KNOWN, ROWS, known_kinds, left_out
from tests.support.money_model.rulebook import ModelRulebook, Stake
from tests.support.money_model.shorten import kind_of, replayed, shortest

LINES = 200


def differences(lines: list[str], currency: str, folder: Path) -> list[Difference]:
    """What the core and, where it agrees, the readers of its log tell otherwise than the model."""
    try:
        replayed(lines, currency)
    except Difference as found:
        return [found]
    return check_records(logged(lines, currency, folder), folder)


@pytest.mark.parametrize("title", ROWS)
def test_what_was_told_wrong_is_told_right(title: str, tmp_path: Path) -> None:
    row = ROWS[title]
    lines = [line.strip() for line in row.history.splitlines() if line.strip()]
    found = differences(lines, row.currency, tmp_path)
    assert bool(found) is (title in KNOWN), "\n".join(map(str, found))


@pytest.mark.parametrize("currency", GAMES)
@pytest.mark.parametrize("seed", range(20))
def test_a_random_history_comes_out_as_the_model_says(currency: str, seed: int) -> None:
    try:
        play(seed, currency, LINES, left_out())
    except Difference as found:
        raise shortest(found, currency) from None


@pytest.mark.parametrize("currency", GAMES)
def test_the_readers_of_a_log_tell_what_the_model_says(currency: str, tmp_path: Path) -> None:
    lines = play(0, currency, 80, left_out()).steps.lines
    check = check_records(logged(lines, currency, tmp_path), tmp_path)
    found = [each for each in check if kind_of(each) not in known_kinds()]
    assert found == [], "\n".join(map(str, found))
