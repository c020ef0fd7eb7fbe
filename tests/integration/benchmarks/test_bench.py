"""`baccarat bench`: the form and the sanity of its figures. Never how fast this machine is."""

import importlib
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest

from baccarat.history.log_facts import replay
from benchmarks.command import figures_of
from benchmarks.instruments.figures import FLOOR_P50_MOST_MS, Figure, latency, memory
from benchmarks.instruments.measure import MemoryUse, Samples
from benchmarks.instruments.postgres import Postgres
from benchmarks.ledger import ledger_figures
from benchmarks.rows import ROWS, BenchOptions, BenchRow, Unmeasurable, rows_named
from benchmarks.table import replay as bench_replay
from benchmarks.table.replay import MEMORY_MOST_MB, Pass, passes, peer_figure, stretch
from events.errors import InputError
from events.log.reader import reading
from events.log.store import EventLog
from events.log.verify import verify
from tests.support.machine.commands import Done, complaint, documents, here, run
from tests.support.table.stories import KeptWorld, disputed_and_corrected

pytestmark = pytest.mark.cold_start

FIELDS = {
    "name",
    "unit",
    "samples",
    "p50",
    "p99",
    "floor_p50",
    "floor_p99",
    "ratio_p50",
    "ratio_p99",
    "goal",
    "met",
    "void",
    "detail",
    "run",
}

FRAMINGS = list(next(row for row in ROWS if row.name == "framing").figures)


def bench(*arguments: object) -> Done:
    return run("bench", *arguments, timeout=150)


def lines_of(*arguments: object) -> list[dict[str, Any]]:
    """The figures, as JSON."""
    done = bench(*arguments, "--json")
    assert done.code == 0, done.err
    return documents(done)


def beside_floors(*lines: dict[str, Any]) -> None:
    """Each has percentiles, and a floor with as many."""
    for line in lines:
        assert 0 < line["p50"] <= line["p99"]
        assert 0 < line["floor_p50"] <= line["floor_p99"]


def test_the_figures_come_as_lines_with_their_floors(tmp_path: Path) -> None:
    rows = ("settlement", "framing")
    lines = lines_of(*rows, "--samples", "2", "--events", "5000", "--data", tmp_path)
    *others, first, last = [(line["name"], line["unit"]) for line in lines]
    assert (first, last) == (("latency", "ms"), ("memory", "MB"))
    assert [name for name, _ in others] == FRAMINGS
    for line in lines:
        assert set(line) == FIELDS
        assert "Linux" in line["run"]["machine"]
        assert "synchronous=FULL" in line["run"]["fsync"]
        beside_floors(line)
        assert line["ratio_p50"] == pytest.approx(line["p50"] / line["floor_p50"], rel=0.02)
    *_, seconds, megabytes = lines
    assert seconds["samples"] == 2
    # Three interpreters and a broker; less would mean that a process was not counted.
    assert {"broker", "shoe", "table", "pss_p50"} == set(megabytes["detail"])
    assert all(size > 5 for size in megabytes["detail"].values())
    assert not list(tmp_path.iterdir()), "it leaves something behind"


def test_a_row_that_lacks_something_is_printed_void_and_says_what(tmp_path: Path) -> None:
    figures = figures_of(
        BenchRow("odd", f"{__name__}:lacking", ("odd_one", "odd_two")),
        BenchOptions(samples=1, data=tmp_path),
    )
    assert [figure.name for figure in figures] == ["odd_one", "odd_two"]
    for figure in figures:
        assert (figure.met, figure.void) == (False, "there is no abacus: apt-get install abacus")
        line = json.loads(msgspec.json.encode(figure))
        assert set(line) == FIELDS - {"run"}
        assert (line["p50"], line["floor_p99"], line["ratio_p50"]) == (None, None, None)


def lacking(_: BenchOptions) -> list[Figure]:
    raise Unmeasurable("there is no abacus: apt-get install abacus")


def test_a_name_means_a_row_or_one_of_its_figures() -> None:
    assert [row.name for row, _ in rows_named(())] == [row.name for row in ROWS if row.unasked]
    ((settlement, wanted),) = rows_named(("memory",))
    assert (settlement.name, set(wanted)) == ("settlement", {"memory"})
    ((driver, wanted),) = rows_named(("driver",))  # both a row and a figure: the whole row
    assert tuple(wanted) == driver.figures == ("driver", "driver_memory", "driver_idle")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_rows_function_is_there(row: BenchRow) -> None:
    module, _, function = row.measure.partition(":")
    assert callable(getattr(importlib.import_module(module), function))


def test_no_two_rows_share_a_name() -> None:
    names = [name for row in ROWS for name in {row.name, *row.figures}]
    assert len(names) == len(set(names))


def test_one_figure_for_a_person() -> None:
    done = bench("memory", "--samples", "1")
    assert (done.code, "memory" in done.out, "latency" in done.out) == (0, True, False), done.err
    assert "1 coups" in done.err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("beauty",), "'latency', 'memory'"),
        (("--samples", "0"), "--samples"),
        (("--data", "/nowhere/at/all"), "--data"),
    ],
)
def test_bad_usage_is_one_line(arguments: tuple[str, ...], named: str) -> None:
    assert named in complaint(here("bench", *arguments))


def counted(scale: float = 1.0) -> list[float]:
    """0, 1, ... 100: the inclusive percentiles are the numbers themselves."""
    return [scale * number for number in range(101)]


def test_percentiles_and_ratios() -> None:
    figure = latency(Samples(floor_ms=counted(0.1), product_ms=counted(0.125)))
    assert (figure.p50, figure.p99) == (6.25, 12.375)
    assert (figure.floor_p50, figure.floor_p99) == (5.0, 9.9)
    assert (figure.ratio_p50, figure.ratio_p99) == (1.25, 1.25)
    assert (figure.met, figure.void, figure.samples) == (True, None, 101)


@pytest.mark.parametrize(
    ("product", "met"),
    [
        ([3.0] * 101, True),
        ([3.1] * 101, False),
        ([2.5] * 98 + [6.0] * 3, True),
        ([2.5] * 98 + [6.1] * 3, False),
    ],
    ids=["median at its limit", "median above", "tail at its limit", "tail above"],
)
def test_the_median_may_be_half_above_the_floor_and_the_tail_three_times_it(
    product: list[float], met: bool
) -> None:
    figure = latency(Samples(floor_ms=[2.0] * 101, product_ms=product))
    assert (figure.met, figure.void) == (met, None)


def test_a_floor_that_waits_for_delayed_acknowledgements_makes_the_figure_void() -> None:
    slow = [FLOOR_P50_MOST_MS + 0.1] * 10
    figure = latency(Samples(floor_ms=slow, product_ms=slow))
    assert not figure.met
    assert figure.void is not None
    assert "TCP_NODELAY" in figure.void


@pytest.mark.parametrize(("megabytes", "met"), [(150.0, True), (150.1, False)])
def test_memory_is_counted_resident(megabytes: float, met: bool) -> None:
    whole = MemoryUse(megabytes, 90.0)
    parts = {"broker": MemoryUse(40, 40), "shoe": MemoryUse(50, 20)}
    found = Samples(product_memory=[whole], floor_memory=[MemoryUse(75, 70)], parts=parts)
    figure = memory(found)
    assert (figure.p50, figure.met) == (megabytes, met)
    assert figure.detail == {"pss_p50": 90.0, "broker": 40, "shoe": 50}


def test_openings_are_measured_when_they_are_named(tmp_path: Path) -> None:
    short = ("--events", "2000", "--samples", "2", "--data", tmp_path)
    (line,) = lines_of("open", *short)
    assert set(line) == FIELDS
    assert (line["name"], line["unit"], line["samples"]) == ("open", "ms", 2)
    assert not list(tmp_path.iterdir()), "it leaves something behind"


def test_the_drivers_figures_come_as_lines_with_their_floors(tmp_path: Path) -> None:
    options = ("--samples", "2", "--events", "3000", "--data", tmp_path)
    arrival, used, idle = lines_of("driver", *options)
    assert (arrival["name"], arrival["unit"], arrival["samples"]) == ("driver", "ms", 2)
    beside_floors(arrival, used, idle)
    added = arrival["detail"]["added_p99"]
    assert added == round(added, 3)
    # The two that are no matter of the machine's mood.
    assert used["detail"]["frames"] == 3000
    assert (used["p99"] < 60, used["met"]) == (True, True)
    assert (idle["p50"] < 2, idle["met"]) == (True, True)
    assert not list(tmp_path.iterdir()), "it leaves something behind"


def test_the_screens_figures_come_as_lines_with_their_floors(tmp_path: Path) -> None:
    pixels, costs = lines_of("screens", "--samples", "2", "--data", tmp_path)
    assert (pixels["name"], pixels["unit"], pixels["samples"]) == ("screens", "ms", 2)
    assert pixels["detail"]["screens"] == 50
    beside_floors(pixels, costs)
    # Clocks of one machine, told to half of a question's way there and back.
    assert pixels["detail"]["clock_ms"] < 50
    # What is no matter of the machine's mood: a screen is kilobytes, and the core knows of none.
    assert (costs["p99"] < 1_000, costs["met"]) == (True, True)
    alone, watched = (costs["detail"][f"core_ms_a_coup_{how}"] for how in ("unwatched", "watched"))
    assert watched < 2 * alone + 20
    assert not list(tmp_path.iterdir()), "it leaves something behind"


def test_the_cages_figure_stands_beside_both_floors_and_cleans_up(postgres: Postgres) -> None:
    server, done = postgres.database(), list[int]()
    figures = ledger_figures(server, 200, 2, done.append)
    assert done == [1, 2]
    assert [figure.name for figure in figures] == ["cage_copy", "cage_insert"]
    for figure in figures:
        assert figure.samples == 2
        assert min(figure.p50, figure.p99, figure.floor_p50, figure.floor_p99) > 0
        assert figure.p99 <= figure.p50
        assert figure.met is (figure.p99 >= 1_000)
    with psycopg.connect(server) as connection:
        left = connection.execute("SELECT datname FROM pg_database WHERE datname LIKE 'baccarat%'")
        assert left.fetchall() == []


@pytest.fixture
def few_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short ones are enough for the form of the figures."""
    for name, number in (("_PASSES", 2), ("_PEER_PASSES", 1), ("_COUPS", 6)):
        monkeypatch.setattr(bench_replay, name, number)


@pytest.mark.usefixtures("few_passes")
def test_the_figure_comes_as_a_line_with_its_floor(tmp_path: Path) -> None:
    done = here("bench", "replay", "--events", "2000", "--data", tmp_path, "--json")
    line, peer = documents(done)
    assert (line["name"], line["unit"], line["detail"]["events"]) == ("replay", "us", 2000.0)
    assert 0 < line["p50"] <= line["p99"]
    assert line["ratio_p50"] == pytest.approx(line["p50"] / line["floor_p50"], rel=0.05)
    # An interpreter with the product in it, and not a log's worth more.
    assert 20 < line["detail"]["peak_mb"] < MEMORY_MOST_MB
    assert not list(tmp_path.iterdir()), "it leaves something behind"
    if find_spec("eventsourcing") is None:
        assert peer["void"].startswith("eventsourcing is not installed")
    else:
        assert (peer["void"], peer["detail"]["events"]) == (None, 2000.0)


@pytest.mark.parametrize(("seconds", "met"), [(30.0, True), (29.9, False)])
def test_the_goal_is_thirty_times_the_peer(seconds: float, met: bool) -> None:
    product = [Pass(seconds=10.0, events=10_000_000, peak_mb=50.0)] * 3
    found = peer_figure(product, [Pass(seconds=seconds, events=1_000_000, peak_mb=50.0)] * 3)
    assert (found.met, found.p50, found.floor_p50) == (met, 1.0, seconds)


def test_a_log_is_made_long_by_playing_its_shoe_again_under_other_names(tmp_path: Path) -> None:
    world = disputed_and_corrected()
    short, long = world.write(tmp_path / "short.sqlite"), tmp_path / "long.sqlite"
    stretch(short, long, 1_000)
    with reading(long) as log:
        made = list(replay(log))
    assert len(made) == 1_000
    shoes = [m.fact.event.shoe for m in made if m.fact.event.TYPE == "shoe_loaded"]  # type: ignore[attr-defined]  # by its type
    assert len(shoes) == len(set(shoes)) > 30
    # It would be a whole log, but for the requests, which nobody made.
    assert "request" in str(verify(long).reason)


def test_a_log_without_a_shoe_cannot_be_made_long(tmp_path: Path) -> None:
    path = tmp_path / "table.sqlite"
    EventLog.open(path, "sydney/t1").close()
    with pytest.raises(InputError, match="no shoe was loaded"):
        stretch(path, tmp_path / "long.sqlite", 10)


@pytest.mark.usefixtures("few_passes")
def test_floor_and_product_pass_over_the_same_events(tmp_path: Path) -> None:
    world = KeptWorld()
    world.ready()
    path = world.write(tmp_path / "table.sqlite")
    told: list[int] = []
    product, floor = passes(path, told.append)
    assert {each.events for each in (*product, *floor)} == {len(world.facts)}
    assert told[-1] == len(product) == len(floor)


@pytest.mark.parametrize(
    ("seconds", "peak", "met"),
    [(2.0, 99.0, True), (2.01, 99.0, False), (2.0, 100.0, False)],
    ids=["at its limits", "slower than twice the floor", "too much memory"],
)
def test_the_goal_is_twice_the_floor_in_little_memory(
    seconds: float, peak: float, met: bool
) -> None:
    product = [Pass(seconds=seconds, events=1_000_000, peak_mb=peak)] * 3
    floor = [Pass(seconds=1.0, events=1_000_000, peak_mb=40.0)] * 3
    found = bench_replay.figure(product, floor)
    assert (found.met, found.p50, found.floor_p50) == (met, seconds, 1.0)
