"""The integrator's consumer in C, compiled."""

import subprocess
from pathlib import Path

import pytest

from tests.house.sources import ROOT

SOURCE = ROOT / "examples/cage_book.c"


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiled as its first lines say, with every warning an error."""
    made = tmp_path_factory.mktemp("c") / "cage_book"
    strict = ["-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    command: list[str | Path] = ["cc", *strict, "-o", made, SOURCE, "-lpaho-mqtt3cs", "-lsqlite3"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, f"apt-get install gcc libpaho-mqtt-dev libsqlite3-dev: {done}"
    return made
