"""`baccarat bench replay`: a log made long, and its figure. Never how fast this machine is."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from baccarat.history.log_facts import replay
from benchmarks.table.replay import MEMORY_MOST_MB, Pass, figure, passes, peer_figure, stretch
from events.errors import InputError
from events.log.reader import reading
from events.log.store import EventLog
from events.log.verify import verify
from tests.integration.benchmarks.test_bench import lines_of
from tests.support.table.stories import KeptWorld, disputed_and_corrected


def test_the_figure_comes_as_a_line_with_its_floor(tmp_path: Path) -> None:
    line, peer = lines_of("replay", "--events", "2000", "--data", tmp_path)
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
    found = figure(product, floor)
    assert (found.met, found.p50, found.floor_p50) == (met, seconds, 1.0)
