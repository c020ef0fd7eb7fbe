"""Disks that are full, failing or not ours to write: nothing is acknowledged, nothing by half."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from events.errors import LogUnwritable
from events.log.store import EventLog
from events.log.verify import verify
from tests.support.log.logs import NAME, ORIGIN, contents, grow, killed, made

TIMEOUT_S = 20
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may change its user or mount")

PRELUDE = """
import os, resource, sys
from pathlib import Path
from tests.support.log.logs import ORIGIN, grow
from events.errors import InputError, LogError
from events.log.store import EventLog

path = Path(sys.argv[1])
"""


def run(code: str, path: Path) -> list[str]:
    """What a child printed that ran `code` on the log at `path`."""
    child = subprocess.run(
        [sys.executable, "-c", PRELUDE + code, str(path)],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        timeout=TIMEOUT_S,
        text=True,
    )
    assert child.returncode == 0, child.stderr
    return child.stdout.splitlines()


def test_an_append_that_finds_the_database_full_stores_nothing_and_the_log_goes_on(
    tmp_path: Path,
) -> None:
    path = made(tmp_path)
    with EventLog.open(path, ORIGIN) as log:
        db = log._files._db  # where SQLite itself can be told that the disk ends here
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count={pages}")
        with pytest.raises(LogUnwritable, match="full"):
            grow(log, 200, "anna/t-full")
        assert (log.position, len(list(log.read()))) == (6, 6)
        assert log.recorded("anna/t-full") is None
        db.execute(f"PRAGMA max_page_count={pages + 1000}")
        grow(log, 200, "anna/t-full")
        assert log.position == 206
    assert verify(path).events == 206


FULL = """
log = EventLog.open(path, ORIGIN)
stored = log.position
try:
    while True:
        grow(log, 3, f"anna/t-{stored}")
        stored = log.position
except LogError as error:
    print(type(error).__name__)
assert log.position == stored
print(stored)
try:
    grow(log, 3, "anna/t-again")
except LogError as error:
    print(type(error).__name__)
else:
    print("stored again")
sys.stdout.flush()
os._exit(0)  # as a crash would: no orderly close
"""


def test_a_file_that_may_not_grow_is_a_write_error_and_closes_the_log(tmp_path: Path) -> None:
    path = made(tmp_path)
    limit = "resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))\n"
    error, stored, again = run(limit + FULL, path)
    assert (error, again) == ("LogUnwritable", "LogUnwritable")
    assert int(stored) > 6
    verdict = verify(path)
    assert (verdict.ok, verdict.events) == (True, int(stored))
    with EventLog.open(path, ORIGIN) as log:
        grow(log, 1)


@needs_root
def test_a_full_disk_keeps_every_acknowledged_append_and_goes_on_when_there_is_room(
    small_disk: Path,
) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(600_000))
    path = small_disk / NAME
    error, stored, _ = run(FULL, path)
    assert error == "LogUnwritable"
    verdict = verify(path)
    assert (verdict.ok, verdict.events) == (True, int(stored))
    before = contents(small_disk)
    with pytest.raises(LogUnwritable, match="cannot open"):
        EventLog.open(path, ORIGIN)
    assert contents(small_disk) == before
    ballast.unlink()
    with EventLog.open(path, ORIGIN) as log:
        assert log.position == int(stored)
        grow(log, 1)


AS_NOBODY = """
os.setuid(65534)
try:
    log = EventLog.open(path, ORIGIN)
except (InputError, LogError) as error:
    print(type(error).__name__, error)
else:
    print("opened at", log.position)
    grow(log, 1)
    log.close()
"""


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A folder that another user may pass through: every pytest that starts closes its own."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


@needs_root
def test_a_folder_that_is_not_ours_to_write_is_one_line_and_stays_as_it_is(
    open_path: Path,
) -> None:
    path = open_path / "data" / NAME
    path.parent.mkdir(mode=0o755)
    (said,) = run(AS_NOBODY, path)
    assert said.startswith("InputError")
    assert str(path) in said
    assert contents(path.parent) == {}
    made(path.parent)
    before = contents(path.parent)
    (said,) = run(AS_NOBODY, path)
    assert said.startswith("InputError")
    assert contents(path.parent) == before


@needs_root
@pytest.mark.parametrize("make", [made, killed])
def test_a_log_that_is_read_only_is_one_line_and_stays_as_it_is(
    open_path: Path, make: Callable[[Path], Path]
) -> None:
    folder = open_path / "data"
    folder.mkdir()
    path = make(folder)
    path.parent.chmod(0o777)
    for file in path.parent.iterdir():
        file.chmod(0o666)
    path.chmod(0o444)
    before = contents(path.parent)
    (said,) = run(AS_NOBODY, path)
    assert said.startswith("InputError")
    assert "read-only" in said
    assert str(path) in said
    assert contents(path.parent) == before
    path.chmod(0o666)
    assert run(AS_NOBODY, path) == ["opened at 6"]
