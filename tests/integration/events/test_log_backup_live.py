"""Backups beside a table that writes, and such as are killed: a proved copy, or no file at all."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from events.errors import LogRefused
from events.log.store import EventLog
from events.log.verify import verify
from table_core.service.snapshots import inspect_log
from tests.support.log.logs import NAME, ORIGIN, keep_alarms
from tests.support.machine.seeds import seeded

TIMEOUT_S = 60
KILLS = 12

WRITER = """
import os, sys, time
from pathlib import Path
from events.log.store import EventLog
from tests.support.log.logs import ORIGIN, keep_alarms

with EventLog.open(Path(sys.argv[1]), ORIGIN) as log:
    keep_alarms(log, 20)
    os.write(1, b"it writes\\n")  # and says no more: nobody reads on
    while True:
        keep_alarms(log, 20)
        time.sleep(0.01)  # so that a slow machine does not get an ever larger log to copy
"""


def spawn(*command: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )


@pytest.fixture
def writing(tmp_path: Path) -> Iterator[Path]:
    """A log to which somebody appends all the time."""
    path = tmp_path / "data" / NAME
    with spawn("-c", WRITER, str(path)) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline()
            yield path
            assert child.poll() is None, "the writer was disturbed"
        finally:
            child.kill()


def backup(path: Path, file: Path) -> "subprocess.Popen[bytes]":
    return spawn("-m", "baccarat", "log", "backup", str(path), str(file))


def test_a_backup_beside_a_writer_is_the_log_as_of_one_moment(
    writing: Path, tmp_path: Path
) -> None:
    events = []
    for number in range(3):
        file = tmp_path / f"b{number}.sqlite"
        with backup(writing, file) as child:
            _, said = child.communicate(timeout=TIMEOUT_S)
        assert child.returncode == 0, said
        verdict = verify(file)
        assert verdict.ok, verdict.reason
        assert inspect_log(file) is None
        assert verdict.events % 20 == 0  # whole commits
        events.append(verdict.events)
    assert events == sorted(events)  # equal where the writer was not let on meanwhile
    with EventLog.open(tmp_path / "b2.sqlite", ORIGIN) as log:
        assert log.position == events[-1]


@pytest.mark.timeout(120)
def test_a_backup_that_is_killed_leaves_no_file_of_that_name_or_a_whole_one(
    writing: Path, tmp_path: Path
) -> None:
    rng = seeded()
    file = tmp_path / "b.sqlite"
    for _ in range(KILLS):
        with backup(writing, file) as child:
            part = file.with_name(f".{file.name}.part")
            while child.poll() is None and not part.exists():
                pass
            time.sleep(rng.random() * 0.1)  # the moment of the kill, not a wait for anything
            child.kill()
        if file.exists():
            verdict = verify(file)
            assert verdict.ok, verdict.reason
            file.unlink()
    with backup(writing, file) as child:  # which also clears away what they left
        _, said = child.communicate(timeout=TIMEOUT_S)
    assert child.returncode == 0, said
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "b.sqlite",
        "data",
        "profiles",
        "rulebooks",
    ]


@pytest.mark.timeout(120)
def test_a_restore_that_is_killed_leaves_the_old_log_or_the_new_one_and_never_an_empty_one(
    tmp_path: Path,
) -> None:
    rng = seeded()
    file, path = tmp_path / "backup.sqlite", tmp_path / NAME
    for place, events in ((file, 4_000), (path, 40)):
        with EventLog.open(place, ORIGIN) as log:
            keep_alarms(log, events)
    for _ in range(KILLS):
        with spawn("-m", "baccarat", "log", "restore", "--replace", str(file), str(path)) as child:
            part = path.with_name(f"{path.name}.restoring")
            while child.poll() is None and not part.exists():
                pass
            time.sleep(rng.random() * 0.2)  # the moment of the kill, not a wait for anything
            child.kill()
        if not path.exists():  # the old one is out of the way, the new one not yet there
            with pytest.raises(LogRefused, match="restore it once more"):
                EventLog.open(path, ORIGIN)
            continue
        verdict = verify(path)
        assert verdict.ok, verdict.reason
        assert verdict.events in {40, 4_000}
        with EventLog.open(path, ORIGIN) as log:
            assert log.position == verdict.events
