"""The bench's row of a whole property, small: it comes to its figures and leaves nothing there."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.support.machine.processes import environment


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """One that PostgreSQL's own user may come into, whom the suite's temporary folders keep out."""
    with TemporaryDirectory(prefix="baccarat-bench-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_the_row_of_a_property_comes_to_its_figures(open_folder: Path) -> None:
    command = [sys.executable, "-m", "baccarat", "bench", "property", "--events", "4000"]
    command += ["--samples", "30", "--data", str(open_folder), "--json"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment())
    assert done.returncode == 0, done.stderr
    found = {told["name"]: told for told in map(json.loads, done.stdout.splitlines())}
    names = ("rate", "hub", "page", "catchup", "status")
    assert list(found) == [f"property_{each}" for each in names]
    assert {name: told["void"] for name, told in found.items() if told["void"]} == {}
    assert found["property_rate"]["detail"]["log_bytes"] > 0
    assert list(open_folder.iterdir()) == []
