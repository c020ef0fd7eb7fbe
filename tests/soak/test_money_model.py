"""A million commands of random histories at the table, each held against the model of the money.

A part of them is played once more on a log, and its ledger, list, replay, evidence and reports are
held against the model as well.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from benchmarks.instruments.postgres import Postgres
from tests.support.money_model.compare import Difference
from tests.support.money_model.driver import GAMES, play
from tests.support.money_model.records import check_records, logged
from tests.support.money_model.shorten import shortest

LINES = 250  # of a history; of three lines two are commands, and the third a report of the shoe
HISTORIES = 1_500  # of a game: 1.5 million lines
LOGGED_LINES, LOGGED_HISTORIES = 120, 40
IN_POSTGRES = 4  # every fourth ledger; the others are files
BEGUN = 1_000  # the seeds of the suite's own test are below
PROCESSES = 2


def differs(game: str, seed: int, _: str) -> str:
    """Play a history; the shortest that differs likewise, as text, where it does."""
    try:
        play(seed, game, LINES)
    except Difference as found:
        return f"seed {seed}: {shortest(found, game)}"
    return ""


def differs_on_record(game: str, seed: int, ledger: str) -> str:
    """Play a history on a log, booked in that ledger; what is told of it otherwise, as text."""
    lines = play(seed, game, LOGGED_LINES).steps.lines
    with TemporaryDirectory() as folder:
        found = check_records(logged(lines, game, Path(folder)), Path(folder), ledger)
    return "\n".join(f"seed {seed}: {each}" for each in found)


@pytest.mark.soak(computes=True)
@pytest.mark.parametrize("game", GAMES)
def test_a_million_commands_come_out_as_the_model_says(
    game: str, record_property: Callable[[str, object], None]
) -> None:
    record_property("figures", f"{HISTORIES * LINES:,} lines from seed {BEGUN}")
    assert in_processes(differs, game, [""] * HISTORIES) == []


@pytest.mark.soak(computes=True)
@pytest.mark.parametrize("game", GAMES)
def test_what_is_read_from_a_log_comes_out_as_the_model_says(
    game: str, postgres: Postgres, record_property: Callable[[str, object], None]
) -> None:
    record_property("figures", f"{LOGGED_HISTORIES} logs from seed {BEGUN}")
    ledgers = ["" if at % IN_POSTGRES else postgres.database() for at in range(LOGGED_HISTORIES)]
    assert in_processes(differs_on_record, game, ledgers) == []


def in_processes(
    check: Callable[[str, int, str], str], game: str, ledgers: Sequence[str]
) -> list[str]:
    """What was found in a history for each ledger; processes of their own and not forks."""
    seeds = range(BEGUN, BEGUN + len(ledgers))
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        found = pool.map(check, repeat(game), seeds, ledgers, chunksize=10)
        return [each for each in found if each]
