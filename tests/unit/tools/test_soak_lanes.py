"""The soak's two lanes: nothing is left out, and a step that fails stops no other."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.process
def test_each_long_test_is_in_one_lane_and_mutants_take_as_long_as_they_may() -> None:
    run = make("--dry-run", "soak-processes", "soak-computing", "MUTANT_MINUTES=7").stdout
    chosen = re.findall(r'-m "(.*?)"', run)
    assert chosen == ["soak and not soak(computes=True)", "soak(computes=True)"]
    assert "--minutes 7" in run


@pytest.mark.process
def test_a_lane_goes_on_after_a_step_that_fails(tmp_path: Path) -> None:
    (tmp_path / "pytest").write_text("#!/bin/sh\necho seen\nexit 3\n")
    (tmp_path / "pytest").chmod(0o755)
    ran = make("soak-computing", f"SOAK={tmp_path}/pytest", f"BIN={tmp_path}", f"SAYS={tmp_path}")
    assert ran.returncode != 0
    said = [line.rsplit(" after", 1)[0] for line in ran.stdout.splitlines() if line[:2] == "=="]
    assert said == ["== computing: exit 3", "== mutants: exit 127"]
    assert (tmp_path / "computing.txt").read_text() == "seen\n"
