"""Where an uplink goes on, what it sends, and what it makes of an answer."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.errors import InputError, LogRefused
from events.log.reader import reading
from events.proof.chain import next_hash, origin_hash
from property.hub.replicated_event import (
    Head,
    HeadRelation,
    ReplicatedEvent,
    parse_replicated_event,
    relation_to_head,
    replication_headers,
)
from property.hub.subjects import (
    PARTITIONS,
    event_subject,
    origin_of,
    partition_of,
    split_origin,
    stored_subject,
)
from property.uplink.replication import (
    BATCH_BYTES,
    BATCH_EVENTS,
    FeedStopped,
    HeldEvent,
    HubPosition,
    PublishAccepted,
    PublishRefused,
    batch_messages,
    parse_held_event,
    parse_publish_answer,
    resume_position,
    take_batch,
)
from table_core.rulebooks.shipped import load_rulebook
from tests.support.log.closed_books import chain
from tests.support.log.logs import made, pending

ORIGIN = "harbour/b7"


def _chain(count: int, origin: str = ORIGIN) -> list[ReplicatedEvent]:
    head, found = origin_hash(origin), []
    for position in range(1, count + 1):
        stored = pending(position, index=position, stream=origin).stored
        head = next_hash(head, stored)
        found.append(ReplicatedEvent(origin, position, stored, head))
    return found


EVENTS = _chain(6)


# As nats-server 2.15.1 has put them, asked with `partition(16,1,2)`.
@pytest.mark.parametrize(("origin", "partition"), [("harbour/b7", 11), ("harbour/b8", 2)])
def test_a_tables_share_is_the_servers(origin: str, partition: int) -> None:
    assert partition_of(*split_origin(origin)) == partition


def test_the_tables_of_a_property_are_spread_over_all_shares() -> None:
    shares = [partition_of("harbour", f"b{number}") for number in range(200)]
    assert set(shares) == set(range(PARTITIONS))


@pytest.mark.parametrize("subject", [event_subject("a", "b"), stored_subject("a", "b")])
def test_a_subject_says_whose_it_is(subject: str) -> None:
    assert origin_of(subject) == "a/b"


@pytest.mark.parametrize(
    "subject",
    ["", "property.v1.a.b", "property.v1.a.b.event.x", "property.v1.A.b.event", "bac.v1.a.b.event"],
)
def test_what_is_no_subject_of_a_table_is_refused(subject: str) -> None:
    with pytest.raises(InputError, match="none of a table's"):
        origin_of(subject)


@pytest.mark.parametrize("origin", ["", "a", "a/", "/b", "a/b/c", "A/b", "a.b/c"])
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(InputError, match="write <site>/<table>"):
        split_origin(origin)


def test_an_event_comes_through_as_it_was() -> None:
    for each in EVENTS:
        assert (
            parse_replicated_event(
                event_subject("harbour", "b7"), replication_headers(each), each.stored
            )
            == each
        )


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"Bac-Position": "0"}, "no position"),
        ({"Bac-Position": "1e3"}, "no position"),
        ({"Bac-Position": ""}, "no position"),
        ({"Bac-Position": "9" * 17}, "no position"),
        ({"Bac-Hash": "00"}, "no hash"),
        ({"Bac-Hash": "AB" * 32}, "no hash"),
        ({"Bac-Hash": ""}, "no hash"),
    ],
)
def test_a_message_without_a_place_in_the_chain_is_refused(
    change: dict[str, str], complaint: str
) -> None:
    headers = replication_headers(EVENTS[0]) | change
    with pytest.raises(InputError, match=complaint):
        parse_replicated_event(event_subject("harbour", "b7"), headers, EVENTS[0].stored)
    with pytest.raises(InputError, match="no position"):
        parse_replicated_event(event_subject("harbour", "b7"), None, EVENTS[0].stored)


def test_two_tables_events_of_the_same_cause_have_two_message_ids() -> None:
    ids = {
        replication_headers(each)["Nats-Msg-Id"] for each in (EVENTS[2], _chain(3, "harbour/b8")[2])
    }
    assert len(ids) == 2
    assert {each.rpartition("/")[2] for each in ids} == {
        json.loads(EVENTS[2].stored)["event_id"],
    }


HEAD = EVENTS[2].head
RELATIONS = [
    (HEAD, EVENTS[3], HeadRelation.NEXT),
    (Head.beginning(ORIGIN), EVENTS[0], HeadRelation.NEXT),
    (Head.beginning("harbour/b8"), EVENTS[0], HeadRelation.FORGED),
    (HEAD, EVENTS[2], HeadRelation.DUPLICATE),
    (HEAD, EVENTS[0], HeadRelation.DUPLICATE),
    (HEAD, EVENTS[4], HeadRelation.GAP),
    (HEAD, EVENTS[2]._replace(hash=bytes(32)), HeadRelation.FORK),
    (HEAD, EVENTS[3]._replace(hash=bytes(32)), HeadRelation.FORGED),
    (HEAD, EVENTS[3]._replace(stored=b"{}"), HeadRelation.FORGED),
    (HEAD, EVENTS[4]._replace(position=4), HeadRelation.FORGED),
]


@pytest.mark.parametrize(("head", "event", "relation"), RELATIONS)
def test_each_verdict(head: Head, event: ReplicatedEvent, relation: HeadRelation) -> None:
    assert relation_to_head(head, event) is relation


@given(st.lists(st.sampled_from(EVENTS), max_size=40))
def test_whatever_order_they_come_in_only_the_chain_is_taken(stream: list[ReplicatedEvent]) -> None:
    head, took = Head.beginning(ORIGIN), []
    for each in stream:
        if relation_to_head(head, each) is HeadRelation.NEXT:
            head = each.head
            took.append(each)
    assert took == EVENTS[: len(took)]


def test_it_goes_on_behind_what_both_have() -> None:
    held = HeldEvent(EVENTS[3], 17)
    own = (EVENTS[3].stored, EVENTS[3].hash)
    assert resume_position(held, own) == HubPosition(EVENTS[3].head, 17)


@pytest.mark.parametrize(
    "own",
    [
        None,
        (EVENTS[3].stored, bytes(32)),
        (b"{}", EVENTS[3].hash),
        (EVENTS[2].stored, EVENTS[2].hash),
    ],
)
def test_a_hub_that_holds_what_the_log_has_not_stops_the_feed(
    own: tuple[bytes, bytes] | None,
) -> None:
    verdict = resume_position(HeldEvent(EVENTS[3], 17), own)
    assert isinstance(verdict, FeedStopped)
    assert (verdict.code, verdict.position) == ("fork", 4)


def test_the_hubs_answer_says_what_it_holds() -> None:
    place = {"Nats-Subject": stored_subject("harbour", "b7"), "Nats-Sequence": "90"}
    headers = replication_headers(EVENTS[1]) | place
    assert parse_held_event(ORIGIN, headers, EVENTS[1].stored) == HeldEvent(EVENTS[1], 90)
    with pytest.raises(InputError, match="answers with harbour/b7"):
        parse_held_event("harbour/b8", headers, EVENTS[1].stored)
    for sequence in ("-1", "٩", "9" * 5000):
        with pytest.raises(InputError, match="no sequence"):
            parse_held_event(ORIGIN, headers | {"Nats-Sequence": sequence}, EVENTS[1].stored)


def test_one_event_goes_by_itself_and_several_as_a_batch() -> None:
    (one,) = batch_messages(EVENTS[:1], 40, "b")
    assert one.body == EVENTS[0].stored
    assert one.headers["Nats-Expected-Last-Subject-Sequence"] == "40"
    assert not [name for name in one.headers if name.startswith("Nats-Batch")]
    three = list(batch_messages(EVENTS[1:4], 41, "b"))
    assert [each.headers["Nats-Batch-Sequence"] for each in three] == ["1", "2", "3"]
    assert {each.headers["Nats-Batch-Id"] for each in three} == {"b"}
    assert [each.headers.get("Nats-Batch-Commit") for each in three] == [None, None, "1"]
    expected = [each.headers.get("Nats-Expected-Last-Subject-Sequence") for each in three]
    assert expected == ["41", None, None]
    plain = batch_messages(EVENTS[:2], 0, "b", ids=False)
    assert not [each for each in plain if "Nats-Msg-Id" in each.headers]


def _rows(sizes: list[int]) -> Iterator[tuple[int, bytes, bytes]]:
    for position, size in enumerate(sizes, start=1):
        yield position, bytes(size), bytes(32)


@given(st.lists(st.integers(1, 3 * BATCH_BYTES // 2), max_size=6))
def test_a_batch_has_its_bounds_and_loses_nothing(sizes: list[int]) -> None:
    batch = take_batch(_rows(sizes), ORIGIN)
    assert [each.position for each in batch] == list(range(1, len(batch) + 1))
    assert bool(batch) == bool(sizes)
    assert len(batch) == 1 or sum(len(each.stored) for each in batch) <= BATCH_BYTES
    rest = sizes[len(batch) :]
    assert not rest or sum(len(each.stored) for each in batch) + rest[0] > BATCH_BYTES


def test_a_batch_has_so_many_events_at_most() -> None:
    assert len(take_batch(_rows([1] * (BATCH_EVENTS + 1)), ORIGIN)) == BATCH_EVENTS


# As nats-server 2.15.1 says it.
@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ('{"stream":"EVENTS","seq":3,"batch":"7a","count":3}', PublishAccepted(3)),
        ('{"stream":"EVENTS","seq":1}', PublishAccepted(1)),
        (
            '{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 3"}}',
            PublishRefused(10071, "wrong last sequence: 3"),
        ),
        (
            '{"error":{"code":400,"err_code":10164,"description":"wrong last sequence"},"seq":0}',
            PublishRefused(10164, "wrong last sequence"),
        ),
        (
            '{"stream":"EVENTS","seq":9,"duplicate": true}',
            PublishRefused(10201, "a message with this id was there"),
        ),
    ],
)
def test_an_answer_is_read(said: str, answer: PublishAccepted | PublishRefused) -> None:
    assert parse_publish_answer(said.encode()) == answer


@pytest.mark.parametrize("said", [b"", b"\xff", b"[]", b'{"seq":"1"}', b"[" * 100_000])
def test_what_is_no_answer_is_refused(said: bytes) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        parse_publish_answer(said)


def test_a_log_tells_each_of_its_events_in_whatever_file_it_is(tmp_path: Path) -> None:
    files = chain(tmp_path, load_rulebook("au-commission"), seed=5)
    assert len(files.files) > 1
    with reading(files.path) as log:
        for position, stored, digest in files.rows:
            assert log.at(position) == (stored, digest)
        assert log.at(len(files.rows) + 1) is None
        every = list(log.checkpoints())
        assert every == sorted(every)
        for (size, _), after in pairwise(every):
            assert next(log.checkpoints(size)) == after


def test_an_event_that_is_not_in_bytes_is_refused(tmp_path: Path) -> None:
    path = made(tmp_path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TRIGGER event_never_changes")
        db.execute("UPDATE event SET bytes = 'text' WHERE position = 2")
        db.commit()
    with reading(path) as log:
        assert log.at(1) is not None
        with pytest.raises(LogRefused, match="position 2: the stored bytes are no bytes"):
            log.at(2)
