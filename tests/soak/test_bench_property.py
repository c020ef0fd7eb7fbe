"""The bench's row of a whole property, small: it comes to its figures and leaves nothing there."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import environment


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_the_row_of_a_property_comes_to_its_figures(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "baccarat", "bench", "property", "--events", "4000"]
    command += ["--samples", "30", "--data", str(tmp_path), "--json"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment())
    assert done.returncode == 0, done.stderr
    found = {told["name"]: told for told in map(json.loads, done.stdout.splitlines())}
    assert list(found) == ["property_rate", "property_page", "property_catchup"]
    assert [name for name, told in found.items() if told["void"]] == []
    assert found["property_rate"]["detail"]["log_bytes"] > 0
    assert list(tmp_path.iterdir()) == []
