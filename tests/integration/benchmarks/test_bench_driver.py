"""`baccarat bench driver`: the form of its figures, and what must hold on any machine."""

import json
import subprocess
import sys
from pathlib import Path


def test_the_drivers_figures_come_as_lines_with_their_floors(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "baccarat", "bench", "driver", "--json"]
    options = ["--samples", "3", "--events", "6000", "--data", str(tmp_path)]
    run = subprocess.run(
        [*command, *options], capture_output=True, text=True, timeout=100, check=False
    )
    assert run.returncode == 0, run.stderr
    arrival, memory, idle = (json.loads(line) for line in run.stdout.splitlines())
    assert (arrival["name"], arrival["unit"], arrival["samples"]) == ("driver", "ms", 3)
    for line in (arrival, memory, idle):
        assert 0 < line["p50"] <= line["p99"]
        assert 0 < line["floor_p50"] <= line["floor_p99"]
    added = arrival["detail"]["added_p99"]
    assert added == round(added, 3)
    # The two that are no matter of the machine's mood.
    assert memory["detail"]["frames"] == 6000
    assert (memory["p99"] < 60, memory["met"]) == (True, True)
    assert (idle["p50"] < 2, idle["met"]) == (True, True)
    assert not list(tmp_path.iterdir()), "it leaves something behind"
