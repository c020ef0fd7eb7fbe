"""Logs of every released version, read by this build: every event, the verdict, the state."""

import shutil
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from events.log.store import EventLog
from events.log.verify import verify
from events.types import AnyReport, Report, decode_data, decode_envelope
from table_core.fold.dispatch import FOLD_VERSION, fold
from table_core.fold.snapshot import decode_state, encode_state
from table_core.state.table import TableState
from tests.support.log import corpus
from tests.support.log.corpus import (
    CorpusError,
    expected_of,
    folders,
    missing_types,
    present_version,
    read_log,
    record,
    refresh,
    shape_faults,
)
from tests.support.log.corpus_game import ORIGIN

each_version = pytest.mark.parametrize("folder", folders(), ids=lambda folder: folder.name)


@each_version
def test_a_log_comes_to_what_is_recorded(folder: Path) -> None:
    found, expected = read_log(folder).found, expected_of(folder)
    assert (found.events, found.chain) == (expected.events, expected.chain)
    if found.state != expected.state:
        assert found.fold > expected.fold, "another state by the same fold: raise FOLD_VERSION"
    # Raised, and not recorded: `make corpus`.
    assert (found.fold, found.state) == (expected.fold, expected.state)


@each_version
def test_a_log_is_verified(folder: Path, tmp_path: Path) -> None:
    verdict = verify(Path(shutil.copy(folder / "table.sqlite", tmp_path)))
    assert verdict.ok, verdict
    assert verdict.events == expected_of(folder).events


@each_version
def test_a_state_that_was_stored_at_any_cut_goes_on_to_the_same_end(
    folder: Path, tmp_path: Path
) -> None:
    with EventLog.open(Path(shutil.copy(folder / "table.sqlite", tmp_path)), ORIGIN) as log:
        events = [decode_data(decode_envelope(stored.stored)) for stored in log.read()]
    state = TableState()
    for event in events:
        stored = decode_state(encode_state(state))
        assert stored == state
        state = fold(state, event)
        assert fold(stored, event) == state  # and so, cut by cut, to the end
    assert state.position == expected_of(folder).events


@each_version
def test_no_type_has_changed_under_its_version(folder: Path) -> None:
    assert shape_faults(folder) == []


def test_every_type_that_there_is_stands_in_a_log() -> None:
    versions = set[tuple[str, int]]().union(*(read_log(folder).versions for folder in folders()))
    assert missing_types(versions) == [], "add a scene to tests/support/log/corpus_game.py"
    assert missing_types(versions - {("coup_settled", 1)}) == ["coup_settled version 1"]


def test_everything_that_a_shoe_can_say_stands_in_a_log() -> None:
    said = set[type[Report]]().union(*(read_log(folder).reports for folder in folders()))
    assert {kind.__name__ for kind in set(get_args(AnyReport)) - said} == set()


def test_the_present_version_has_a_folder() -> None:
    assert present_version() in {folder.name for folder in folders()}


# ---- the tool: what it refuses to record ----


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(folders()[-1], tmp_path / "9.9.9"))


def _edit(path: Path, key: str, value: object) -> None:
    document = msgspec.json.decode(path.read_bytes())
    document[key] = value
    path.write_bytes(msgspec.json.encode(document))


def test_one_build_records_the_same_every_time(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    assert record(first) == record(second) == read_log(first).versions
    for name in ("expected.json", "types.json"):
        assert (first / name).read_bytes() == (second / name).read_bytes()
    assert record(first) == record(second)  # over what is there, too


def test_another_state_by_the_same_fold_is_not_recorded(folder: Path) -> None:
    state = expected_of(folder).state
    _edit(folder / "expected.json", "state", state | {"position": 1})
    before = (folder / "expected.json").read_bytes()
    for change in (refresh, record):
        with pytest.raises(CorpusError, match="raise FOLD_VERSION"):
            change(folder)
    assert (folder / "expected.json").read_bytes() == before


def test_another_state_by_a_newer_fold_is_recorded(folder: Path) -> None:
    expected = expected_of(folder)
    _edit(folder / "expected.json", "state", expected.state | {"position": 1})
    _edit(folder / "expected.json", "fold", FOLD_VERSION - 1)
    refresh(folder)
    assert expected_of(folder) == expected


def test_a_type_that_changed_under_its_version_is_told_and_nothing_is_recorded(
    folder: Path,
) -> None:
    _edit(folder / "types.json", "shoe_ended/1", {"type": "object"})
    _edit(folder / "types.json", "never_there/1", {"type": "object"})
    before = (folder / "types.json").read_bytes()
    with pytest.raises(CorpusError, match="never_there/1: is gone; shoe_ended/1: has another"):
        record(folder)
    assert (folder / "types.json").read_bytes() == before


def test_a_shape_is_what_is_stored_and_not_how_our_classes_are_called() -> None:
    text = (folders()[-1] / "types.json").read_text("utf-8")
    assert '"source"' in text
    assert not [word for word in ("$ref", "$defs", "TableEvent", "description") if word in text]
    assert corpus.shapes_of(folders()[-1])["dealer_assigned/1"]["additionalProperties"] is False
