"""What a backup unit runs: a proved copy of the log, and the rulebooks beside it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_PROGRAM = """\
#!/bin/sh
exec {python} -m baccarat "$@"
"""


@pytest.mark.parametrize("own", [True, False])
def test_the_logs_copy_and_the_rulebooks_beside_it(own: bool, tmp_path: Path) -> None:
    log, copies = tmp_path / "log", tmp_path / "copies"
    log.mkdir()
    copies.mkdir()
    shutil.copy("tests/corpus/0.1.0/table.sqlite", log / "table.sqlite")
    if own:
        (log / "rulebooks").mkdir()
        (log / "rulebooks" / "a1.toml").write_text("id = 'harbour'\n")
        (copies / "b7-rulebooks").mkdir()  # of the backup before
        (copies / "b7-rulebooks" / "0f.toml").write_text("id = 'older'\n")
    program = tmp_path / "baccarat"
    program.write_text(_PROGRAM.format(python=sys.executable))
    program.chmod(0o755)
    command = ["sh", "deploy/libexec/backup", str(log / "table.sqlite"), str(copies), "b7"]
    env = {**os.environ, "BACCARAT": str(program), "PYTHONPATH": str(Path.cwd())}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=env)
    assert done.returncode == 0, done.stderr
    names = {each.name for each in copies.iterdir() if each.suffix != ".sqlite"}
    assert names == ({"b7-rulebooks"} if own else set())
    assert list(copies.glob("b7-*.sqlite"))
    if own:
        kept = {each.name: each.read_text() for each in (copies / "b7-rulebooks").iterdir()}
        assert kept == {"0f.toml": "id = 'older'\n", "a1.toml": "id = 'harbour'\n"}
