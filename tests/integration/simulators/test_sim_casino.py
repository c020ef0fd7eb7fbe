"""`baccarat sim casino`, and what `bench casino` says of crowds. Never how fast this machine is."""

import json
from pathlib import Path

import pytest

from benchmarks.casino.figures import casino_figures
from benchmarks.casino.tables import Crowd
from tests.support.machine.commands import complaint, here, run


def test_tables_are_played_at_and_every_settlement_is_seen(tmp_path: Path) -> None:
    words = ("--tables", "2", "--seconds", "5", "--speed", "40", "--data", tmp_path, "--json")
    done = run("sim", "casino", *words)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert (found["tables"], found["unseen"]) == (2, 0)
    assert found["coups"] > 0
    assert 0 < found["p50_ms"] <= found["p99_ms"] <= found["most_ms"]
    assert set(found["processor"]) == {"broker", "people", "shoe", "table"}
    assert found["table_mb"] > 0
    assert not list(tmp_path.iterdir()), "it leaves something behind"


def crowd(
    tables: int, *, p99: float = 20.0, cost: float = 1.0, mb: float = 0.5, disk: float = 1.0
) -> Crowd:
    """One that takes so many milliseconds a second and table, and so many MB a table."""
    return Crowd(
        tables=tables,
        coups_an_hour=70.0,
        seconds=60.0,
        coups=100,
        unseen=0,
        p50_ms=4.0,
        p99_ms=p99,
        most_ms=p99,
        disk_p99_ms=1.0,
        disk_most_ms=disk,
        load=1.0,
        processor={"broker": 0.0, "table": tables * cost / 1_000, "people": 1.0},
        memory_mb={"broker": 10.0, "table": 60.0 + mb * tables},
        table_mb=1.0,
    )


def test_a_crowd_is_put_beside_one_table_and_the_largest_is_told_of_without_a_bound() -> None:
    found = casino_figures({1: crowd(1, p99=8.0), 200: crowd(200), 1_000: crowd(1_000, p99=900.0)})
    one, many, most, linear, memory = found
    assert (one.name, many.name, most.name) == ("casino_1", "casino_200", "casino_1000")
    assert (many.p99, many.floor_p99, many.met) == (20.0, 8.0, True)
    assert (most.p99, most.met) == (900.0, True)
    assert (linear.met, linear.p50) == (True, 1.0)
    assert (memory.met, memory.p50) == (True, 0.5)


@pytest.mark.parametrize(
    ("few", "many", "missed"),
    [
        (crowd(50), crowd(200, p99=100.0), "casino_200"),
        (crowd(50), crowd(200, cost=1.3), "casino_linear"),
        (crowd(50), crowd(200, mb=1.0), "casino_memory"),
    ],
    ids=["late", "dearer among many", "too much memory"],
)
def test_what_a_crowd_may_not_be(few: Crowd, many: Crowd, missed: str) -> None:
    found = casino_figures({1: crowd(1), 50: few, 200: many})
    assert [each.name for each in found if not each.met] == [missed]


def test_a_crowd_that_could_not_be_played_at_is_void_and_says_why() -> None:
    found = casino_figures({1: crowd(1), 50: "the machine has no time for them"})
    (void,) = (each for each in found if each.name == "casino_50")
    assert void.void == "the machine has no time for them"


def test_a_disk_that_something_else_keeps_busy_makes_a_latency_void() -> None:
    one, many, *_ = casino_figures({1: crowd(1), 200: crowd(200, p99=500.0, disk=25.1)})
    assert (one.void, one.met) == (None, True)
    assert many.void == (
        "a forced write to this disk took up to 25.1 ms, with 25 at most: something else keeps "
        "it busy"
    )
    assert not many.met


@pytest.mark.parametrize("option", ["--speed", "--coups-an-hour"])
def test_a_pace_is_a_number(option: str) -> None:
    done = here("sim", "casino", "--tables", "2", option, "nan")
    assert f"'{option}': it is no number" in complaint(done)
