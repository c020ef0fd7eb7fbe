"""Rows of `baccarat bench` on a small scale: what they give, and that they measure what they say.

Never how fast this machine is.
"""

import json
import math
import os
import signal
import time
from pathlib import Path

import pytest

from benchmarks.command import figures_of
from benchmarks.instruments.bare_services import BareServices
from benchmarks.instruments.figures import Figure
from benchmarks.instruments.processes import processor_s, wake_ups
from benchmarks.rows import ROWS, BenchOptions, Unmeasurable
from benchmarks.table import core, settling, starting
from benchmarks.table import odds as chances
from events.types.registry import TABLE_EVENTS
from table_core.decide.decision import DecisionContext
from table_core.rulebooks.shipped import load_rulebook, shipped_ids
from tests.integration.benchmarks.test_bench import bench
from tests.support.machine.commands import complaint, here

pytestmark = pytest.mark.cold_start


def is_whole(figure: Figure) -> bool:
    """Product and floor were measured, and the ratio is theirs."""
    product, floor = figure.p50, figure.floor_p50
    ratio = math.isclose(figure.ratio_p50, product / floor, rel_tol=0.05)
    return figure.void is None and 0 < product <= figure.p99 and floor > 0 and ratio


def test_the_core_plays_whole_coups() -> None:
    (figure,) = core.measure(BenchOptions(samples=2, events=30))
    assert (figure.name, figure.unit, figure.samples) == ("core", "us", 2)
    assert is_whole(figure)
    context = DecisionContext(table="t1", rulebook=load_rulebook("au-commission"), user="dealer")
    events = core.play(list(core.inputs_of(30)), context)
    assert figure.detail["events_a_coup"] == round(len(events) / 30, 1)
    settled = [each for each in events if each.TYPE == "coup_settled"]
    # A third of the coups has a pair wager each side, which is settled after four cards.
    assert len({each.settlement.coup for each in settled}) == 30  # type: ignore[attr-defined]  # by its type
    assert {(each.TYPE, each.VERSION) for each in events} <= set(TABLE_EVENTS)
    assert not [each for each in events if each.TYPE in {"coup_misaligned", "result_disputed"}]


def test_one_coup_of_many_wagers_is_settled_durably(tmp_path: Path) -> None:
    # Nine coups: a ninth copy of a face is in no shoe, and the bench takes the next one.
    (figure,) = settling.measure(BenchOptions(samples=9, events=600, data=tmp_path))
    assert (figure.name, figure.unit, figure.detail["wagers"]) == ("settle", "ms", 600.0)
    assert is_whole(figure)
    assert not list(tmp_path.iterdir()), "it leaves something behind"


def test_the_odds_have_no_floor() -> None:
    (figure,) = chances.measure(BenchOptions(samples=1, events=1))
    assert (figure.name, figure.unit, figure.samples) == ("odds", "s", 1)
    assert 0 < figure.p50 == figure.p99
    assert math.isnan(figure.floor_p50)
    assert set(figure.detail) == {shipped_ids()[0], "load"}


def test_a_start_is_measured_on_an_empty_log_and_on_a_long_one(tmp_path: Path) -> None:
    empty, long = starting.measure(BenchOptions(samples=1, events=500, data=tmp_path))
    assert [each.name for each in (empty, long)] == ["start_empty", "start_long"]
    assert (empty.detail["events"], long.detail["events"]) == (0.0, 500.0)
    assert is_whole(empty)
    assert is_whole(long)
    assert empty.floor_p50 == long.floor_p50
    assert not list(tmp_path.iterdir()), "it leaves something behind"


async def test_the_bare_services_are_woken_and_leave_nothing(tmp_path: Path) -> None:
    begun = time.process_time()
    assert begun <= processor_s(os.getpid()) <= time.process_time()
    with BareServices(tmp_path) as bare:
        slept = [wake_ups(pid) for pid in bare.pids]
        assert await bare.processor(1) > 0
        for before, pid in zip(slept, bare.pids, strict=True):
            assert wake_ups(pid) > before
    for pid in bare.pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_bare_service_that_does_not_start_has_no_figure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "argon2.py").write_text("raise ImportError", "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(Unmeasurable, match="did not start"), BareServices(tmp_path):
        pass


async def test_a_bare_service_that_ends_has_no_figure(tmp_path: Path) -> None:
    with BareServices(tmp_path) as bare:
        os.kill(bare.pids[0], signal.SIGKILL)
        with pytest.raises(Unmeasurable, match="has ended"):
            await bare.processor(0.2)


JUDGE = next(row for row in ROWS if row.name == "judge")


def test_the_judge_stands_beside_its_peer_or_says_why_not(tmp_path: Path) -> None:
    """The peer is fetched: a machine without a network says so. With it both agree who won."""
    (figure,) = figures_of(JUDGE, BenchOptions(samples=2, events=300, data=tmp_path))
    assert figure.name == "judge"
    if figure.void is None:
        assert is_whole(figure)
        assert figure.detail["coups"] == 300.0
    else:
        assert figure.void.startswith(("npm ci: ", "there is no program", "the peer's packages"))
        assert not figure.met


def test_without_node_the_judge_is_void(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (figure,) = figures_of(JUDGE, BenchOptions(samples=1, events=10, data=tmp_path))
    assert figure.void == "there is no program node: install Node.js and npm"


def test_runs_are_drawn_one_beside_the_other(tmp_path: Path) -> None:
    options = ("core", "--samples", "1", "--events", "5")
    first = bench(*options, "--json")
    assert first.code == 0, first.err
    earlier, drawn = tmp_path / "trend.jsonl", tmp_path / "chart.svg"
    earlier.write_text(first.out)
    second = bench(*options, "--json", "--chart", str(drawn), "--earlier", str(earlier))
    assert second.code == 0, second.err
    picture = drawn.read_text()
    assert picture.count("core, us") == 1
    assert picture.count("<polyline") == 2  # product and floor
    assert picture.count("<circle") == 4  # two runs of each
    assert f"{json.loads(second.out)['p50']:,.4g}" in picture


def test_a_picture_that_could_not_be_written_is_said_before_the_work(tmp_path: Path) -> None:
    done = here("bench", "core", "--chart", tmp_path / "nowhere/c.svg")
    assert "nowhere is no folder" in complaint(done)


@pytest.mark.parametrize("text", ["{}", "nothing"], ids=["another", "junk"])
def test_lines_that_are_none_are_said(tmp_path: Path, text: str) -> None:
    wrong = tmp_path / "lines"
    wrong.write_text(text)
    done = here("bench", "core", "--chart", tmp_path / "c.svg", "--earlier", wrong)
    assert "not what" in complaint(done)
