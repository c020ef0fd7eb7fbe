"""What a witness takes, refuses and forgets, with roots computed by the recursive definition."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.proof.chain import next_hash, origin_hash
from events.proof.checkpoint import Checkpoint, parse_checkpoint, signed_checkpoint
from events.proof.note import SigningKey
from events.types import AlarmRaised, CheckpointKeyChanged, TableEvent, encode_envelope
from property.hub.replicated_event import ReplicatedEvent
from property.witness import observed_log as watched
from property.witness.observed_log import (
    AcceptedCheckpoint,
    ObservedLog,
    ObservedLogState,
    WitnessRefusal,
)
from tests.support.table.evidence import mth

ORIGIN = "harbour/b7"
KEY = SigningKey(ORIGIN, bytes(32))
NEW = SigningKey(ORIGIN, b"n" * 32)
OTHER = SigningKey("harbour/b8", b"o" * 32)


def bytes_of(position: int, event: TableEvent | None = None, text: str = "") -> bytes:
    return encode_envelope(
        event or AlarmRaised(alarm="x", text=text or f"number {position}"),
        index=0,
        stream=ORIGIN,
        position=position,
        at="2026-11-27T21:40:07.123456789Z",
        actor="core",
        cause=f"core/{position}",
        correlation="",
    )


def note_of(leaves: Sequence[bytes], *keys: SigningKey, origin: str = ORIGIN) -> bytes:
    return signed_checkpoint(Checkpoint(origin, len(leaves), mth(leaves)), keys or [KEY])


class Feed:
    """A log that is sent to a witness event by event."""

    def __init__(self, seen: ObservedLog) -> None:
        self.seen = seen
        self.log: list[bytes] = []
        self.head = origin_hash(ORIGIN)

    def send(self, stored: bytes) -> bytes | WitnessRefusal | None:
        self.log.append(stored)
        self.head = next_hash(self.head, stored)
        return self.seen.hear(ReplicatedEvent(ORIGIN, len(self.log), stored, self.head))

    def grow(self, count: int) -> None:
        for _ in range(count):
            assert isinstance(self.send(bytes_of(len(self.log) + 1)), bytes)


def feed_of(count: int, *given: SigningKey) -> Feed:
    feed = Feed(ObservedLog(ORIGIN, [key.verifier for key in given or [KEY]]))
    feed.grow(count)
    return feed


def fit(found: AcceptedCheckpoint | WitnessRefusal | None) -> AcceptedCheckpoint:
    assert isinstance(found, AcceptedCheckpoint), found
    return found


def code(found: object) -> str:
    assert isinstance(found, WitnessRefusal), found
    return found.code


def remembered(seen: ObservedLog, leaves: Sequence[bytes]) -> ObservedLog:
    """The same witness after it was started anew."""
    memory = ObservedLogState(
        seen.head, seen.tree, tuple(leaves), tuple(seen.announced), seen.newest, KEY.verifier
    )
    return ObservedLog(ORIGIN, [KEY.verifier], memory)


def test_every_size_that_was_passed_can_be_cosigned_in_order() -> None:
    feed = feed_of(40)
    for size in (1, 2, 3, 7, 8, 31, 32, 40):
        found = fit(feed.seen.judge(note_of(feed.log[:size])))
        feed.seen.keep(found)
        assert feed.seen.newest == Checkpoint(ORIGIN, size, mth(feed.log[:size]))
    assert feed.seen.tree.size == 40
    assert feed.seen.position == 40


def test_the_empty_log_is_a_checkpoint_too() -> None:
    feed = feed_of(0)
    feed.seen.keep(fit(feed.seen.judge(note_of([]))))
    feed.grow(3)
    assert fit(feed.seen.judge(note_of(feed.log))).checkpoint.size == 3


def test_a_checkpoint_ahead_of_its_events_waits_for_them() -> None:
    feed = feed_of(3)
    rest = [*feed.log, bytes_of(4), bytes_of(5)]
    assert feed.seen.judge(note_of(rest)) is None
    feed.send(rest[3])
    assert feed.seen.judge(note_of(rest)) is None
    feed.send(rest[4])
    assert fit(feed.seen.judge(note_of(rest))).checkpoint.size == 5


def test_the_newest_again_is_nothing_new_and_an_older_one_is_refused() -> None:
    feed = feed_of(9)
    feed.seen.keep(fit(feed.seen.judge(note_of(feed.log))))
    assert feed.seen.judge(note_of(feed.log)) is None
    assert code(feed.seen.judge(note_of(feed.log[:8]))) == "older"


def test_a_log_rewritten_and_signed_by_its_own_key_is_refused() -> None:
    feed = feed_of(9)
    feed.seen.keep(fit(feed.seen.judge(note_of(feed.log[:6]))))
    rewritten = [*feed.log[:2], bytes_of(3, text="another card"), *feed.log[3:]]
    assert code(feed.seen.judge(note_of(rewritten[:6]))) == "conflicting"
    assert code(feed.seen.judge(note_of(rewritten))) == "rewritten"
    assert fit(feed.seen.judge(note_of(feed.log))).checkpoint.size == 9


def test_a_log_rewritten_behind_the_newest_checkpoint_is_refused() -> None:
    feed = feed_of(9)
    feed.seen.keep(fit(feed.seen.judge(note_of(feed.log[:6]))))
    rewritten = [*feed.log[:8], bytes_of(9, text="another card")]
    assert code(feed.seen.judge(note_of(rewritten))) == "rewritten"


def test_a_cut_log_that_grew_again_otherwise_is_refused() -> None:
    feed = feed_of(9)
    feed.seen.keep(fit(feed.seen.judge(note_of(feed.log))))
    other = [*feed.log[:5], *(bytes_of(n, text="another evening") for n in range(6, 13))]
    head = origin_hash(ORIGIN)
    for position, stored in enumerate(other, start=1):
        head = next_hash(head, stored)
        found = feed.seen.hear(ReplicatedEvent(ORIGIN, position, stored, head))
        assert found is None or code(found) in {"fork", "forged", "gap"}
    assert feed.seen.position == 9
    assert feed.seen.judge(note_of(other)) is None  # events of it are never taken: it waits


def test_an_event_whose_bytes_are_others_than_before_is_a_fork() -> None:
    feed = feed_of(4)
    assert feed.seen.hear(ReplicatedEvent(ORIGIN, 3, feed.log[2], b"\0" * 32)) is None
    assert (
        code(feed.seen.hear(ReplicatedEvent(ORIGIN, 3, bytes_of(3, text="another"), b"\0" * 32)))
        == "fork"
    )


def test_a_forged_event_is_named_and_the_real_one_goes_on() -> None:
    feed = feed_of(4)
    forged, real = bytes_of(5, text="another"), bytes_of(5)
    assert (
        code(feed.seen.hear(ReplicatedEvent(ORIGIN, 5, forged, next_hash(feed.head, real))))
        == "forged"
    )
    assert feed.seen.position == 4
    assert isinstance(feed.send(real), bytes)


def test_a_gap_is_named_and_what_is_missing_goes_on() -> None:
    feed = feed_of(4)
    late = bytes_of(6)
    found = feed.seen.hear(ReplicatedEvent(ORIGIN, 6, late, b"\0" * 32))
    assert found == WitnessRefusal("gap", "after 4 comes 6", 5)
    feed.grow(2)
    assert feed.seen.position == 6


@pytest.mark.parametrize(
    ("note", "name"),
    [
        (b"nothing", "no_checkpoint"),
        (signed_checkpoint(Checkpoint("harbour/b8", 1, bytes(32)), [KEY]), "foreign_origin"),
        (signed_checkpoint(Checkpoint(ORIGIN, 1, bytes(32)), [OTHER]), "unknown_key"),
        (signed_checkpoint(Checkpoint(ORIGIN, 1, bytes(32)), [KEY]), "rewritten"),
        (
            signed_checkpoint(Checkpoint(ORIGIN, 1, bytes(32)), [KEY]).replace(b"\n1\n", b"\n2\n"),
            "bad_signature",
        ),
    ],
)
def test_what_is_no_checkpoint_of_this_log_is_refused_by_name(note: bytes, name: str) -> None:
    assert code(feed_of(2).seen.judge(note)) == name


def announce(feed: Feed, key: SigningKey) -> None:
    changed = CheckpointKeyChanged(key=str(key.verifier))
    assert isinstance(feed.send(bytes_of(len(feed.log) + 1, changed)), bytes)


def test_a_rotation_signed_by_both_is_followed_and_the_old_key_ends() -> None:
    feed = feed_of(0)
    announce(feed, KEY)
    feed.seen.keep(fit(feed.seen.judge(note_of(feed.log))))
    announce(feed, NEW)
    assert code(feed.seen.judge(note_of(feed.log, NEW))) == "unknown_key"
    assert code(feed.seen.judge(note_of(feed.log, KEY))) == "retired_key"
    feed.seen.keep(fit(feed.seen.judge(note_of(feed.log, KEY, NEW))))
    feed.grow(2)
    assert fit(feed.seen.judge(note_of(feed.log, NEW))).signer == NEW.verifier
    assert code(feed.seen.judge(note_of(feed.log, KEY))) == "retired_key"


def test_a_key_announced_by_the_log_alone_is_nobodys() -> None:
    feed = feed_of(2, OTHER)
    announce(feed, KEY)
    assert code(feed.seen.judge(note_of(feed.log, KEY))) == "unknown_key"
    assert fit(feed.seen.judge(note_of(feed.log, KEY, OTHER))).signer == KEY.verifier


def test_a_given_key_is_enough_where_the_rotation_was_not_seen() -> None:
    feed = feed_of(1, KEY, NEW)
    announce(feed, KEY)
    announce(feed, NEW)
    assert fit(feed.seen.judge(note_of(feed.log, NEW))).signer == NEW.verifier


def test_too_many_leaves_are_shed_and_older_checkpoints_with_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watched, "LEAVES_MOST", 16)
    feed = feed_of(16)
    assert not feed.seen.merge_oldest_leaves()
    feed.grow(1)
    assert feed.seen.merge_oldest_leaves()
    assert feed.seen.tree.size == 8
    assert code(feed.seen.judge(note_of(feed.log[:7]))) == "older"
    assert fit(feed.seen.judge(note_of(feed.log[:8]))).checkpoint.size == 8
    assert fit(feed.seen.judge(note_of(feed.log))).checkpoint.size == 17


@settings(deadline=None)  # a busy machine is no finding
@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.data())
def test_whatever_was_kept_when_the_answer_is_the_same_as_without_a_stop(
    steps: list[int], data: st.DataObject
) -> None:
    feed = feed_of(0)
    hashes: list[bytes] = []
    for step in steps:
        for _ in range(step):
            leaf = feed.send(bytes_of(len(feed.log) + 1))
            assert isinstance(leaf, bytes)
            hashes.append(leaf)
        low = feed.seen.newest.size if feed.seen.newest else 0
        size = data.draw(st.integers(low, len(feed.log)))
        found = feed.seen.judge(note_of(feed.log[:size]))
        if isinstance(found, AcceptedCheckpoint):
            feed.seen.keep(found)
        assert feed.seen.newest is not None
        assert feed.seen.newest.size == size
        if data.draw(st.booleans()):
            feed.seen = remembered(feed.seen, hashes[feed.seen.tree.size :])
        assert parse_checkpoint(note_of(feed.log))[0].root == mth(feed.log)
