"""Mutation testing of the pure rooms, for as long as a soak has for it.

Another sample each time: the seed is printed, and `make mutants ARGS="--seed ..."` takes it.
"""

import subprocess
import sys

import pytest

MINUTES = 45


@pytest.mark.soak
@pytest.mark.timeout(2 * MINUTES * 60)
def test_small_changes_of_the_pure_rooms_are_noticed() -> None:
    command = ("-m", "tests.tools.mutants", "--jobs", "2", "--minutes", str(MINUTES))
    run = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    sys.stdout.write(run.stdout)
    assert run.returncode == 0, run.stdout[-10_000:] + run.stderr[-2_000:]
