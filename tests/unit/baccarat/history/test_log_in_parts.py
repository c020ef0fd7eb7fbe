"""A log that several processes verify and judge comes to what one process says of it."""

from pathlib import Path
from random import Random

import pytest

from baccarat.history.log_judging import verify_and_judge
from events.log.idempotency_index import RequestIndex, index_of
from events.log.reader import reading
from events.log.segments import archive_folder
from events.log.verify import verify
from events.log.verify_in_parts import verify_in_parts
from tests.support.log.divided import (
    DIVIDED,
    UNDIVIDED,
    damaged,
    divided_story,
    faults_at_boundaries,
    in_parts,
)

pytestmark = pytest.mark.process

SAMPLE = 6


@pytest.mark.parametrize("story", DIVIDED + UNDIVIDED)
def test_any_number_of_processes_says_the_same(
    story: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = divided_story(story, tmp_path / "log")
    alone = verify_and_judge(log, None, jobs=1, held=(), keys=())
    assert alone[0].ok
    for jobs in (2, 3):
        told = in_parts(log, jobs, monkeypatch)
        assert told.verdict == alone
        assert told.divided is (story in DIVIDED)


def test_a_fault_at_a_boundary_is_named_by_any_number_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = Random("parts").sample(list(faults_at_boundaries()), SAMPLE)
    for number, fault in enumerate(faults):
        log = damaged(fault, tmp_path / str(number))
        alone = verify_and_judge(log, None, jobs=1, held=(), keys=())
        assert not alone[0].ok, fault
        assert in_parts(log, 3, monkeypatch).verdict == alone, fault


def test_closed_files_are_parts(tmp_path: Path) -> None:
    log = divided_story("0.1.0/kept/closed-files", tmp_path / "log")
    assert verify_in_parts(log, 2) == verify(log)
    next((tmp_path / "log" / "archive").glob("*-000000000096.sqlite")).unlink()
    assert verify_in_parts(log, 2) is None


def test_an_index_without_closed_files_is_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill leaves one before the first file is closed; the table makes it again."""
    log = divided_story(DIVIDED[0], tmp_path / "log")
    archive_folder(log).mkdir()
    with reading(log) as reader:
        RequestIndex.open(index_of(archive_folder(log), reader.origin), (), 1, b"").close()
    assert in_parts(log, 2, monkeypatch).divided


def test_progress_reaches_the_last_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = divided_story(DIVIDED[0], tmp_path / "log")
    told = in_parts(log, 2, monkeypatch).progress
    assert told == sorted(told)
    assert told[-1] == (338, 338)
