"""Disks that are full, fail at any append and place, or are not ours to write.

Nothing is acknowledged that is not stored, and nothing is stored by half. A child appends commits
of three events until its disk refuses, and says how far it had got: that much was acknowledged.
What stands in the log afterwards is that, or one whole commit more where the refusal came after the
bytes were written (nobody can know that, which is why the log then closes itself).
"""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from events.commands import LoadShoe
from events.errors import LogUnwritable
from events.log.store import EventLog
from events.log.verify import verify
from tests.support.brokers.brokers import Broker
from tests.support.log.logs import NAME, ORIGIN, contents, grow, killed, made
from tests.support.machine.commands import run as run_command
from tests.support.service.table_service import TOPICS, connected, service
from tests.support.table.coups import SHOE

TIMEOUT_S = 60
COMMIT = 3

PRELUDE = """
import errno, os, resource, sys
from pathlib import Path
from tests.support.machine.disk import answer_with, disk_full_at
from tests.support.log.logs import ORIGIN, grow
from events.errors import InputError, LogError, LogUnwritable
from events.log.store import EventLog

path = Path(sys.argv[1])

def append(log):
    grow(log, 3, f"anna/t-{log.position}")

def until_refused(log, most):
    for _ in range(most):
        try:
            append(log)
        except LogUnwritable as error:
            assert str(path) in str(error) and "\\n" not in str(error)
            return True
    return False

def end(*said):
    print(*said, sep="\\n", flush=True)
    os._exit(0)  # as a crash would: no orderly close
"""


def run(code: str, *arguments: object) -> list[str]:
    """The lines that a child printed which ran `code`."""
    child = subprocess.run(
        [sys.executable, "-c", PRELUDE + code, *map(str, arguments)],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        timeout=TIMEOUT_S,
        text=True,
    )
    assert child.returncode == 0, child.stderr
    return child.stdout.splitlines()


def assert_recovered(path: Path, acknowledged: int) -> None:
    """Everything that was acknowledged, at most one commit more, each whole; and it goes on."""
    verdict = verify(path)
    assert verdict.ok, verdict.reason
    assert verdict.events in {acknowledged, acknowledged + COMMIT}
    with EventLog.open(path, ORIGIN) as log:
        assert log.position == verdict.events
        again = log.recorded(f"anna/t-{acknowledged}")
        assert (again is not None) is (verdict.events > acknowledged)
        if again is None:  # asked again as its sender will, since nobody answered it
            grow(log, COMMIT, f"anna/t-{acknowledged}")
        assert log.position == acknowledged + COMMIT
    assert verify(path).events == acknowledged + COMMIT


FAILING = """
nth, error, calls = int(sys.argv[2]), getattr(errno, sys.argv[3]), sys.argv[4].split(",")
log = EventLog.open(path, ORIGIN)
for _ in range(nth):
    append(log)
stood = log.position
answer_with(error, calls)
assert until_refused(log, 1), "nothing was refused"
assert log.position == stood
first = log.closed
assert until_refused(log, 1), "an append that came later was taken"
end(stood, first)
"""


@pytest.mark.parametrize("nth", [0, 1, 2, 7, 40])
@pytest.mark.parametrize(
    ("error", "calls"),
    [
        ("EIO", "pwrite64"),
        ("EIO", "fsync,fdatasync"),
        ("EIO", "pwrite64,fsync,fdatasync"),
        ("EROFS", "pwrite64"),
        ("ENOSPC", "pwrite64"),
        ("EDQUOT", "pwrite64"),
        ("ENOSPC", "fsync,fdatasync"),
    ],
)
def test_an_error_at_the_nth_append_is_told_and_loses_nothing(
    tmp_path: Path, nth: int, error: str, calls: str
) -> None:
    path = tmp_path / NAME
    EventLog.open(path, ORIGIN).close()
    stood, closed = run(FAILING, path, nth, error, calls)
    assert int(stood) == nth * COMMIT
    # A full disk is as it was, and may have room again. After anything else nobody knows what the
    # disk holds, and the log must be opened anew.
    assert (closed == "False") is ((error, calls) == ("ENOSPC", "pwrite64"))
    assert_recovered(path, int(stood))


AT_EVERY_SIZE = """
import shutil
folder = path.parent
first, last, step = map(int, sys.argv[2:5])
for size in range(first, last, step):
    here = folder / str(size) / path.name
    here.parent.mkdir()
    shutil.copyfile(path, here)
    child = os.fork()
    if child == 0:
        path = here
        log = EventLog.open(here, ORIGIN)
        with disk_full_at(size):
            assert until_refused(log, 1000), size
            here.with_name("acknowledged").write_text(str(log.position))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, size
end("done")
"""


@pytest.mark.timeout(120)
def test_a_file_that_fails_at_any_byte_of_an_append_keeps_what_was_acknowledged(
    tmp_path: Path,
) -> None:
    """Steps that are no multiple of a page or of a frame: a write is cut everywhere in turn."""
    path = tmp_path / NAME
    EventLog.open(path, ORIGIN).close()
    size = path.stat().st_size
    assert run(AT_EVERY_SIZE, path, size, size + 60_000, 997) == ["done"]
    reached = set()
    for cut in range(size, size + 60_000, 997):
        folder = tmp_path / str(cut)
        acknowledged = int((folder / "acknowledged").read_text())
        reached.add(acknowledged)
        assert_recovered(folder / NAME, acknowledged)
    assert len(reached) > 3  # from none at all to several commits


ON_A_FULL_DISK = """
import shutil
folder = path.parent
for pages in range(int(sys.argv[2])):
    ballast = folder / "ballast"
    free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
    room = pages * 4096
    log = None
    try:
        log = EventLog.open(path, ORIGIN)
        free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
        ballast.write_bytes(bytes(max(0, free - room)))
        stood = log.position
        refused = until_refused(log, 1000)
        assert refused, "a disk without end"
        assert len(list(log.read())) == log.position
        ballast.unlink()
        before = log.position
        append(log)  # there is room again, and nobody has to restart anything
        assert log.position == before + 3
    finally:
        if log is not None:
            log.close()
end(log.position)
"""


@pytest.mark.timeout(120)
def test_a_disk_with_any_number_of_pages_left_refuses_whole_appends_and_then_goes_on(
    small_disk: Path,
) -> None:
    path = small_disk / NAME
    EventLog.open(path, ORIGIN).close()
    (position,) = run(ON_A_FULL_DISK, path, 24)
    verdict = verify(path)
    assert (verdict.ok, verdict.events) == (True, int(position))


READ_ONLY = """
try:
    EventLog.open(path, ORIGIN)
except (InputError, LogError) as error:
    end(type(error).__name__, error)
end("opened")
"""


def test_a_read_only_file_system_is_one_line_at_the_start(small_disk: Path) -> None:
    path = made(small_disk)
    before = {each.name: each.read_bytes() for each in small_disk.iterdir()}
    remount = ["mount", "-o", "remount,ro", str(small_disk)]
    subprocess.run(remount, check=True)
    kind, *said = run(READ_ONLY, path)
    assert kind in {"InputError", "LogUnwritable"}
    assert str(path) in " ".join(said)
    assert "ead-only file system" in " ".join(said)
    assert {each.name: each.read_bytes() for each in small_disk.iterdir()} == before
    assert verify(path).events == 6
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    with EventLog.open(path, ORIGIN) as log:
        grow(log, 1)


def test_a_backup_to_a_full_disk_leaves_nothing_and_says_so(
    small_disk: Path, tmp_path: Path
) -> None:
    path = tmp_path / "data" / NAME
    with EventLog.open(path, ORIGIN) as log:
        for _ in range(30):
            grow(log, 100)
    assert path.stat().st_size > 1_000_000
    done = run_command("log", "backup", path, small_disk / "b")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("baccarat: no backup: ")
    assert "full" in done.err
    assert list(small_disk.iterdir()) == []


SERVICE = """
from functools import partial
from baccarat.cli import run
from baccarat.cli.main import main
from baccarat.services.registry import run_service

left = int(sys.argv[2])

def probe(step):
    global left
    left -= step == "append.before"
    if left < 0:
        answer_with(errno.EIO, ["pwrite64"])

run.run_service = partial(run_service, probe=probe)
sys.exit(main(["run", str(path), "--only", "table"]))
"""

CONFIG = """\
site = "site"
table = "t1"
rulebook = "au-commission"
[shoe]
url = "pty:{folder}/shoe"
[bus]
port = {port}
[users]
dealer = ["dealer"]
"""


async def test_a_table_whose_disk_fails_acknowledges_nothing_says_why_and_ends(
    mosquitto: Broker, tmp_path: Path
) -> None:
    """Fail closed: its supervisor starts it again, and it reads what there is."""
    config = tmp_path / "table.toml"
    config.write_text(CONFIG.format(folder=tmp_path, port=mosquitto.port))
    async with connected(mosquitto.port) as table:
        # The rulebook and two reports are stored, the shoe that is loaded next is not.
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", PRELUDE + SERVICE, str(config), "3"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        )
        await table.driver_comes()
        topic = TOPICS.request("dealer", "load_shoe")
        asked = LoadShoe(transaction="l", shoe=SHOE)
        assert await table.bus.publish(topic, msgspec.json.encode(asked))
        async with asyncio.timeout(TIMEOUT_S):
            printed, said = await child.communicate()
        assert table.answers == []
        assert printed == b""
        (line,) = [each for each in said.decode().splitlines() if not each.startswith("{")]
        assert line.startswith(f"baccarat: {tmp_path / NAME}: ")
        assert line.endswith("disk I/O error")
        assert child.returncode == 1, "a supervisor does not start again what ends with code 2"
        path = tmp_path / NAME
        assert verify(path).events == 3
        table.acks.clear()
        async with service(mosquitto.port, tmp_path):
            await table.core_comes()
            await table.must("dealer", asked)
        assert verify(path).events == 4


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may change its user or mount")


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
