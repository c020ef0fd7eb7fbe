"""A log whose writer is killed, or who packs its closed files, at any step."""

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import IO

import pytest

from events.log.packing import convert
from events.log.rotation import next_file_of
from events.log.segments import archive_folder, segments_in
from events.log.store import EventLog
from events.log.verify import verify
from events.proof.note import SigningKey
from events.types import decode_envelope
from table_core.service.snapshots import inspect_log
from tests.support.log.closed_books import SITE_T1, chain, events_of
from tests.support.log.logs import NAME, ORIGIN, grow
from tests.support.log.packed import forms
from tests.support.machine.seeds import seeded
from tests.support.table.money_game import BOOKS

KILLS = 16
TIMEOUT_S = 20

# Commits of many sizes, so that kills fall between pages, into checkpoints, and next to cursors.
WRITER = """
import os, sys
from pathlib import Path
from tests.support.log.logs import ORIGIN, grow
from events.log.store import EventLog
from events.proof.checkpoint import Checkpoint, signed_checkpoint
from events.proof.note import SigningKey

key = SigningKey(ORIGIN, bytes(32))
with EventLog.open(Path(sys.argv[1]), ORIGIN) as log:
    session = log.next_session()
    number = 0
    while True:
        grow(log, 1 + number % 7 + 60 * (number % 11 == 10), f"anna/{session}-{number}")
        if number % 25 == 0:
            made = Checkpoint(ORIGIN, log.position, log.root)
            log.store_checkpoint(signed_checkpoint(made, [key]))
        os.write(1, f"{session} {log.position}\\n".encode())
        log.move_cursor("cage", log.position)
        number += 1
"""
# Of 25 commits from one checkpoint to the next, and the one that was being made.
_MOST_UNSIGNED = 25 * 7 + 3 * 60
_PUBLIC = frozenset({SigningKey(ORIGIN, bytes(32)).verifier})


@contextmanager
def writer(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def acknowledged(stream: IO[bytes]) -> list[tuple[int, int]]:
    """Session and position of every whole line the writer got out."""
    lines = stream.read().split(b"\n")[:-1]
    return [(int(session), int(position)) for session, position in map(bytes.split, lines)]


def assert_whole(path: Path, at_least: int) -> int:
    """The log's position, after checking that everything in it belongs together."""
    verdict = verify(path, keys=_PUBLIC)
    assert verdict.ok, verdict.reason
    assert verdict.events >= at_least
    assert at_least - _MOST_UNSIGNED <= verdict.signed_to <= verdict.events
    with EventLog.open(path, ORIGIN) as log:
        assert log.position == verdict.events
        assert log.cursor("cage") <= log.position
        ends: dict[str, int] = {}
        for event in log.read():
            ends[decode_envelope(event.stored).cause] = event.position
        for cause, end in ends.items():
            recorded = log.recorded(cause)
            assert recorded is not None, cause
            assert recorded.position == end
        return log.position


@pytest.mark.timeout(90)
def test_after_any_kill_the_log_is_whole_and_holds_what_was_acknowledged(tmp_path: Path) -> None:
    rng = seeded()
    path = tmp_path / NAME
    position = 0
    for kill in range(KILLS):
        with writer(path) as child:
            assert child.stdout is not None
            before = [child.stdout.readline() for _ in range(1 + rng.randrange(150))]
            child.kill()
            after = acknowledged(child.stdout)
        session, last = after[-1] if after else map(int, before[-1].split())
        assert session == kill + 1
        position = assert_whole(path, at_least=max(position, last))
    assert position > KILLS


def test_a_kill_before_the_first_commit_leaves_no_log_or_a_whole_one(tmp_path: Path) -> None:
    rng = random.Random(6)
    for number in count():
        path = tmp_path / str(number) / NAME
        with writer(path) as child:
            # As soon as anything of it is there: in the middle of making the file, often enough.
            while not (path.parent.exists() and any(path.parent.iterdir())):
                assert child.poll() is None
            for _ in range(rng.randrange(3000)):
                pass
        with EventLog.open(path, ORIGIN) as log:
            grow(log, 1)
        assert verify(path).ok
        if number == 8:
            return


def test_a_second_writer_is_refused_until_the_first_is_dead(tmp_path: Path) -> None:
    path = tmp_path / NAME
    with writer(path) as first:
        assert first.stdout is not None
        assert first.stdout.readline()
        second = subprocess.run(
            [sys.executable, "-c", WRITER, str(path)],
            capture_output=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
            timeout=TIMEOUT_S,
        )
        assert b"another writer" in second.stderr
        assert f"(process {first.pid})".encode() in second.stderr
        assert first.poll() is None
        assert verify(path, keys=_PUBLIC).ok  # beside a writer that never stops
    with EventLog.open(path, ORIGIN) as log:
        assert log.position > 0


STEPS = (
    "turn.begun",
    "turn.made",
    "turn.indexed",
    "turn.wal_gone",
    "turn.linked",
    "turn.renamed",
    "turn.done",
)
_DIE = """
import os, signal, sys
from pathlib import Path
from events.log.store import EventLog
def probe(step):
    if step == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)
with EventLog.open(Path(sys.argv[1]), "site/t1") as log:
    log.move_cursor("cage", 5)
    log.new_file(probe)
"""


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("shoes", [1, 2])
def test_a_kill_at_any_step_leaves_one_whole_log(tmp_path: Path, step: str, shoes: int) -> None:
    made = chain(tmp_path, BOOKS["au-commission"](), 40 + shoes, shoes=shoes)
    before, root = len(made.files), verify(made.path).root
    died = subprocess.run([sys.executable, "-c", _DIE, made.path, step], check=False, timeout=30)
    assert died.returncode == -signal.SIGKILL
    done = step in {"turn.renamed", "turn.done"}
    assert verify(made.path).root == root  # as the kill has left it
    assert events_of(made.path) == made.rows
    files = segments_in(archive_folder(made.path), SITE_T1)
    assert len(files) == before + done
    assert all(each.path.stat().st_mode & 0o777 == 0o400 for each in files)
    assert not next_file_of(made.path).exists()
    assert inspect_log(made.path) is None
    with EventLog.open(made.path, SITE_T1) as log:
        assert log.cursor("cage") == 5
        assert (log.new_file() is None) is done
        assert [(each.position, each.stored, each.hash) for each in log.read()] == list(made.rows)
    assert verify(made.path).root == root
    assert made.path.stat().st_nlink == 1


# Dies at the nth step that changes the log's folder: what the file system or SQLite is asked to do.
_DIE_CONVERTING = """
import os, signal, sqlite3, sys
from pathlib import Path
from events.log.packing import convert

path, form, steps = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
connect, fsync = sqlite3.connect, os.fsync

def step():
    global steps
    steps -= 1
    if steps == 0:
        os.kill(os.getpid(), signal.SIGKILL)

def forced(descriptor):
    step()
    fsync(descriptor)

def connected(file, **named):
    db = connect(file, **named)
    if str(file).startswith(str(path.parent)):
        db.set_trace_callback(executes)
    return db

def executes(statement):
    if statement.startswith(("BEGIN", "COMMIT")):
        step()

def happens(event, given):
    writes = event == "open" and given[2] & (os.O_CREAT | os.O_WRONLY | os.O_RDWR)
    if writes or event in {"os.chmod", "os.remove", "os.rename"}:
        if str(given[0]).startswith(str(path.parent)):
            step()

os.fsync, sqlite3.connect = forced, connected
sys.addaudithook(happens)
list(convert(path, pack=form == ".packed"))
"""
_FORMS = (".sqlite", ".packed")


@pytest.mark.parametrize("form", _FORMS)
def test_a_conversion_killed_at_any_step_loses_nothing(tmp_path: Path, form: str) -> None:
    made = chain(tmp_path / "made", BOOKS["au-commission"](), 34)
    list(convert(made.path, pack=form == ".sqlite"))
    whole = verify(made.path)
    for step in count(1):
        log = tmp_path / str(step) / NAME
        shutil.copytree(made.path.parent, log.parent)
        child = [sys.executable, "-c", _DIE_CONVERTING, str(log), form, str(step)]
        died = subprocess.run(child, check=False)
        assert verify(log) == whole, step  # as the kill has left it
        assert events_of(log) == made.rows, step
        if died.returncode == 0:
            break
        assert died.returncode == -signal.SIGKILL
        list(convert(log, pack=form == ".packed"))
        assert forms(log) == {form}
        assert events_of(log) == made.rows
        assert not list(archive_folder(log).glob(".*.part*"))
    assert forms(log) == {form}
    assert step > 10 * len(made.files)
