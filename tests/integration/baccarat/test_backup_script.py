"""What a backup unit runs: a proved copy of the log, and the editions beside it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from events.log.editions import PROFILES, RULEBOOKS, read_editions, write_editions
from shoe_driver.profiles.catalogue import shipped_texts
from table_core.rulebooks.shipped import shipped_sources

_PROGRAM = """\
#!/bin/sh
exec {python} -m baccarat "$@"
"""


def test_the_logs_copy_and_the_editions_beside_it(tmp_path: Path) -> None:
    log, copies = tmp_path / "log", tmp_path / "copies"
    log.mkdir()
    copies.mkdir()
    shutil.copy("tests/corpus/0.1.0/table.sqlite", log / "table.sqlite")
    write_editions(log / RULEBOOKS, [b"id = 'harbour'\n"])
    write_editions(log / PROFILES, [b"id = 'our-shoe'\n"])
    write_editions(copies / RULEBOOKS, [b"id = 'older'\n"])  # of the backup before
    old = [f"{table}-20200101T000000Z.sqlite" for table in ("b7", "b7-vip")]
    for name in old:
        (copies / name).touch()
        os.utime(copies / name, (0, 0))
    program = tmp_path / "baccarat"
    program.write_text(_PROGRAM.format(python=sys.executable))
    program.chmod(0o755)
    command = ["sh", "deploy/libexec/backup", str(log / "table.sqlite"), str(copies), "b7"]
    env = {**os.environ, "BACCARAT": str(program), "PYTHONPATH": str(Path.cwd())}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=env)
    assert done.returncode == 0, done.stderr
    names = {each.name for each in copies.iterdir() if each.suffix != ".sqlite"}
    assert names == {RULEBOOKS, PROFILES, "b7.newest"}
    assert len(list(copies.glob("b7-2*.sqlite"))) == 1  # the old copy is gone
    assert (copies / old[1]).exists()  # it is another table's
    books, profiles = (
        set(read_editions(copies / kind).sources.values()) for kind in (RULEBOOKS, PROFILES)
    )
    # What ships is there too: no table of this build may ever have opened the log.
    assert books == {b"id = 'harbour'\n", b"id = 'older'\n", *shipped_sources()}
    assert profiles == {b"id = 'our-shoe'\n", *shipped_texts()}
    # A copy that is not what was kept is said, and what can be copied is.
    [harbour] = (log / RULEBOOKS).iterdir()
    harbour.write_bytes(b"id = 'edited'\n")
    done = subprocess.run(
        [str(program), "log", "backup", str(log / "table.sqlite"), str(copies / "again.sqlite")],
        capture_output=True, text=True, timeout=60, check=False, env=env,
    )  # fmt: skip
    assert done.returncode == 1
    assert f"left out: {harbour}" in done.stderr
    assert (copies / "again.sqlite").exists()
    assert set(read_editions(copies / RULEBOOKS).sources.values()) == books
