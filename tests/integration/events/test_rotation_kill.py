"""SIGKILL at each step of a new file's beginning: the next start has one log, whole."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from events.log.rotation import next_file_of
from events.log.segments import archive_folder, segments_in
from events.log.store import EventLog
from events.log.verify import verify
from table_core.service.snapshots import inspect_log
from tests.support.log.closed_books import ORIGIN, chain, events_of
from tests.support.table.money_game import BOOKS

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
    files = segments_in(archive_folder(made.path), ORIGIN)
    assert len(files) == before + done
    assert all(each.path.stat().st_mode & 0o777 == 0o444 for each in files)
    assert not next_file_of(made.path).exists()
    assert inspect_log(made.path) is None
    with EventLog.open(made.path, ORIGIN) as log:
        assert log.cursor("cage") == 5
        assert (log.new_file() is None) is done
        assert [(each.position, each.stored, each.hash) for each in log.read()] == list(made.rows)
    assert verify(made.path).root == root
    assert made.path.stat().st_nlink == 1
