"""What a batch of the hub is to the archive, against a reader that takes one event at a time."""

import json
from collections.abc import Callable, Sequence
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.free_text import escape_nul
from events.proof.chain import next_hash, origin_hash
from events.types import AlarmCleared, encode_envelope
from property.archive.batch import BatchPlan, FeedFault, plan_batch
from property.archive.partition_consumer import fair_share
from property.archive.rows import visible_json, written_json
from property.hub.replicated_event import Head, ReplicatedEvent
from property.hub.subjects import PARTITIONS

_ORIGINS: Final = ("harbour/b1", "harbour/b2", "river/b1")
_AT: Final = "2026-11-27T23:39:06.000000000Z"
_ARABIC: Final = _AT.replace("2026", "٢٠٢٦")
_LONG: Final = 12


def _stored(origin: str, position: int, at: str = _AT, alarm: str = "x") -> bytes:
    return encode_envelope(
        AlarmCleared(alarm=alarm),
        index=0,
        stream=origin,
        position=position,
        at=at,
        actor="core",
        cause=f"tick/{position}",
        correlation="",
    )


def _chain(origin: str, stored: Sequence[bytes]) -> list[ReplicatedEvent]:
    head, made = origin_hash(origin), []
    for position, each in enumerate(stored, 1):
        head = next_hash(head, each)
        made.append(ReplicatedEvent(origin, position, each, head))
    return made


_LOGS: Final = {
    origin: _chain(origin, [_stored(origin, n) for n in range(1, _LONG + 1)]) for origin in _ORIGINS
}


def _ended(intake: BatchPlan) -> dict[str, int]:
    return {origin: move.now.position for origin, move in intake.moves.items()}


@given(st.lists(st.tuples(st.sampled_from(_ORIGINS), st.integers(0, _LONG - 1)), max_size=60))
def test_a_batch_in_any_order_with_anything_missing_or_twice(asked: list[tuple[str, int]]) -> None:
    intake = plan_batch({}, [_LOGS[origin][index] for origin, index in asked])
    reached, repeated, furthest = dict.fromkeys(_ORIGINS, 0), {}, dict.fromkeys(_ORIGINS, 0)
    taken = []
    for origin, index in asked:
        furthest[origin] = max(furthest[origin], index + 1)
        if index == reached[origin]:
            reached[origin] += 1
            taken.append((origin, index + 1))
        elif index < reached[origin]:
            repeated[origin] = index + 1
    assert [(row.origin, row.position) for row in intake.rows] == taken
    assert _ended(intake) == {origin: last for origin, last in reached.items() if last}
    assert {origin: each.position for origin, each in intake.repeated.items()} == repeated
    missing = {(o, "gap", furthest[o]) for o in _ORIGINS if furthest[o] > reached[o]}
    assert {(fault.origin, fault.kind, fault.position) for fault in intake.faults} == missing
    for origin, move in intake.moves.items():
        assert move.was == Head.beginning(origin)
        assert move.now == _LOGS[origin][move.now.position - 1].head


def test_a_batch_goes_on_from_the_heads() -> None:
    log = _LOGS["harbour/b1"]
    intake = plan_batch({"harbour/b1": log[4].head}, log)
    assert [row.position for row in intake.rows] == list(range(6, _LONG + 1))
    assert intake.moves["harbour/b1"].was == log[4].head
    assert intake.repeated == {"harbour/b1": log[4]}
    row = intake.rows[0]
    assert (row.origin, row.position, row.type) == ("harbour/b1", 6, "alarm_cleared")
    assert (row.at, row.stored, row.hash) == (_AT, log[5].stored, log[5].hash)


@pytest.mark.parametrize(
    ("kind", "false"),
    [
        ("forged", lambda log: log[3]._replace(stored=log[3].stored + b" ")),
        ("forged", lambda log: log[3]._replace(hash=bytes(32))),
        ("fork", lambda log: log[2]._replace(hash=bytes(32))),
        ("unreadable", lambda log: _after(log[2], b"{}")),
        ("unreadable", lambda log: _after(log[2], _stored("harbour/b1", 4, at="yesterday"))),
        ("unreadable", lambda log: _after(log[2], _stored("harbour/b1", 4, at=_ARABIC))),
        ("foreign", lambda log: _after(log[2], _stored("harbour/b2", 4))),
        ("foreign", lambda log: _after(log[2], _stored("harbour/b1", 5))),
    ],
)
def test_what_is_false_stops_its_table_and_no_other(
    kind: str, false: Callable[[list[ReplicatedEvent]], ReplicatedEvent]
) -> None:
    log, other = _LOGS["harbour/b1"], _LOGS["harbour/b2"]
    intake = plan_batch({}, [*log[:3], false(log), *log[3:], *other])
    assert _ended(intake) == {"harbour/b1": 3, "harbour/b2": _LONG}
    (fault,) = intake.faults
    assert (fault.origin, fault.kind, fault.stops) == ("harbour/b1", kind, True)
    assert "\n" not in fault.reason


def _after(last: ReplicatedEvent, stored: bytes) -> ReplicatedEvent:
    digest = next_hash(last.hash, stored)
    return ReplicatedEvent(last.origin, last.position + 1, stored, digest)


def test_of_a_stopped_table_nothing_is_taken() -> None:
    both = [*_LOGS["harbour/b1"], *_LOGS["harbour/b2"]]
    assert _ended(plan_batch({}, both, ["harbour/b1"])) == {"harbour/b2": _LONG}


@pytest.mark.parametrize(
    "alarm",
    [
        "a\0b",
        r"a\u0000b",
        "\\\0",
        r"\\u0000",
        r"\u005c",
        '"\0"\n\u5e84\u95f2',
        r"C:\users",
        "plain",
    ],
)
def test_a_row_has_the_visible_form_of_a_nul(alarm: str) -> None:
    written = json.dumps({"alarm": alarm}, ensure_ascii=False)
    visible = visible_json(written)
    assert json.loads(visible) == {"alarm": escape_nul(alarm)}
    assert r"\u0000" not in visible.replace(r"\\", "")
    assert json.loads(written_json(visible)) == {"alarm": alarm}


def test_a_gap_and_nonsense_stop_nothing() -> None:
    stops = {kind: FeedFault("a/b", kind, 0, "").stops for kind in ("gap", "nonsense", "fork")}
    assert stops == {"gap": False, "nonsense": False, "fork": True}


@pytest.mark.parametrize("workers", range(1, 40))
def test_shares_are_fair_and_come_to_all(workers: int) -> None:
    share = fair_share(workers)
    assert share * workers >= PARTITIONS
    assert (share - 1) * workers < PARTITIONS


def test_alone_before_it_is_counted_a_worker_takes_all() -> None:
    assert fair_share(0) == PARTITIONS
