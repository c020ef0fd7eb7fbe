"""SIGKILL at any instant: what was acknowledged is there, and nothing is there by half."""

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import IO

import pytest

from events.log.store import EventLog
from events.log.verify import verify
from events.types.envelope import decode_envelope
from tests.support.log.logs import NAME, ORIGIN, grow

KILLS = 16
TIMEOUT_S = 20

# Commits of many sizes, so that kills fall between pages, into checkpoints, and next to cursors.
WRITER = """
import os, sys
from pathlib import Path
from tests.support.log.logs import ORIGIN, grow
from events.log.store import EventLog

with EventLog.open(Path(sys.argv[1]), ORIGIN) as log:
    session = log.next_session()
    os.write(1, f"{session} {log.position}\\n".encode())
    number = 0
    while True:
        number += 1
        grow(log, 1 + number % 7 + 60 * (number % 11 == 0), f"anna/{session}-{number}")
        os.write(1, f"{session} {log.position}\\n".encode())
        log.move_cursor("cage", log.position)
"""


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
    verdict = verify(path)
    assert verdict.ok, verdict.reason
    assert verdict.events >= at_least
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
    seed = int.from_bytes(os.urandom(4))
    sys.stdout.write(f"seed {seed}\n")
    rng = random.Random(seed)
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
        assert verify(path).ok  # beside a writer that never stops
    with EventLog.open(path, ORIGIN) as log:
        assert log.position > 0
