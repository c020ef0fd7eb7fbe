"""`baccarat bench screens`: the form of its figures, and what must hold on any machine."""

import json
import subprocess
import sys
from pathlib import Path


def test_the_screens_figures_come_as_lines_with_their_floors(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "baccarat", "bench", "screens", "--json", "--samples", "3"]
    run = subprocess.run(
        [*command, "--data", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    pixels, costs = (json.loads(line) for line in run.stdout.splitlines())
    assert (pixels["name"], pixels["unit"], pixels["samples"]) == ("screens", "ms", 3)
    assert pixels["detail"]["screens"] == 50
    for line in (pixels, costs):
        assert 0 < line["p50"] <= line["p99"]
        assert 0 < line["floor_p50"] <= line["floor_p99"]
    # Clocks of one machine, told to half of a question's way there and back.
    assert pixels["detail"]["clock_ms"] < 50
    # What is no matter of the machine's mood: a screen is kilobytes, and the core knows of none.
    assert (costs["p99"] < 1_000, costs["met"]) == (True, True)
    alone, watched = (costs["detail"][f"core_ms_a_coup_{how}"] for how in ("unwatched", "watched"))
    assert watched < 2 * alone + 20
    assert not list(tmp_path.iterdir()), "it leaves something behind"
