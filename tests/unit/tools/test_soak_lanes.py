"""The soak's two lanes: nothing is left out, and a step that fails is told."""

import sys
from pathlib import Path

import pytest

from tests.tools.soak import Step, lanes, run_lane

SAYS = "import sys; print('seen'); sys.exit(int(sys.argv[1]))"


def test_each_long_test_is_in_one_lane() -> None:
    words = [word for lane in lanes(20) for step in lane for word in step.command]
    chosen = {word for word in words if "soak" in word}
    assert chosen == {"soak and not soak(computes=True)", "soak(computes=True)"}


@pytest.mark.process
def test_a_lane_goes_on_behind_a_step_that_fails(tmp_path: Path) -> None:
    steps = [Step(str(code), [sys.executable, "-c", SAYS, str(code)], 1) for code in (3, 0)]
    assert [(step, code) for step, code, _ in run_lane(steps, tmp_path)] == [
        (steps[0], 3),
        (steps[1], 0),
    ]
    assert (tmp_path / "3.txt").read_text() == "seen\n"


@pytest.mark.parametrize("minutes", [1, 20])
def test_mutants_take_as_long_as_they_may(minutes: int) -> None:
    last = lanes(minutes)[-1][-1]
    assert last.command[-2:] == ["--minutes", str(minutes)]
