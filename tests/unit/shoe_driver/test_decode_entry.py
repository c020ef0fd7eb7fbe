"""One pass or two: an event that is read whole is what its envelope and its data say apart."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.errors import UnreadableEvent
from events.log.reader import reading
from events.types import decode_data, decode_entry, decode_envelope
from tests.support.log.corpus import folders

FIELDS = ("event_id", "stream", "position", "v", "at", "actor", "cause", "correlation")
STORED = (
    b'{"event_id":"00","stream":"demo/t1","position":7,"type":"alarm_raised","v":1,"at":"now",'
    b'"actor":"core","cause":"c/1","correlation":"s/1",'
    b'"data":{"alarm":"a","text":"t","coup":"s/1"}}'
)


def read_apart(stored: bytes) -> tuple[Any, ...] | None:
    """By the envelope's reader and the reader of versions; None where they refuse it."""
    try:
        envelope = decode_envelope(stored)
        return (*(getattr(envelope, name) for name in FIELDS), decode_data(envelope))
    except UnreadableEvent:
        return None


def read_whole(stored: bytes) -> tuple[Any, ...] | None:
    try:
        entry = decode_entry(stored)
    except UnreadableEvent:
        return None
    return (*(getattr(entry, name) for name in FIELDS), entry.data)


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: folder.name)
def test_every_event_of_every_version_is_read_alike(folder: Path, tmp_path: Path) -> None:
    with reading(Path(shutil.copy(folder / "table.sqlite", tmp_path))) as log:
        whole = [(position, stored, digest) for position, stored, digest in log.bare()]
        assert whole == [(each.position, each.stored, each.hash) for each in log.read()]
    assert len(whole) > 100
    for _, stored, _ in whole:
        assert read_whole(stored) == read_apart(stored) is not None


@pytest.mark.parametrize(
    "changes",
    [
        {"type": "alarm_razed"},
        {"type": 1},
        {"v": 2},
        {"v": 0},
        {"v": "1"},
        {"position": "7"},
        {"hash": "00"},
        {"data": None},
        {"data": {"alarm": "a", "text": "t", "coup": "s/1", "more": 1}},
        {"data": {"alarm": "a"}},
        {"data": {"alarm": 1, "text": "t", "coup": "s/1"}},
    ],
    ids=str,
)
def test_what_one_reader_refuses_the_other_does(changes: dict[str, Any]) -> None:
    assert read_whole(STORED) == read_apart(STORED) is not None
    stored = json.dumps({**json.loads(STORED), **changes}).encode()
    assert read_apart(stored) is None
    assert read_whole(stored) is None
    for name in json.loads(STORED):
        less = {key: value for key, value in json.loads(STORED).items() if key != name}
        assert (
            read_whole(json.dumps(less).encode()) is read_apart(json.dumps(less).encode()) is None
        )


@given(st.integers(0, len(STORED) - 1), st.binary(max_size=3), st.integers(0, 3))
def test_damaged_bytes_are_read_alike(at: int, instead: bytes, gone: int) -> None:
    damaged = STORED[:at] + instead + STORED[at + gone :]
    assert read_whole(damaged) == read_apart(damaged)
