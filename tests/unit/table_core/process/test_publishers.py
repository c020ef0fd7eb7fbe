"""Publishers behind cursors: in order, at least once, never past what the broker took."""

import random
import re
from collections.abc import Iterator

import pytest

from events.cards import Card, Hand
from events.mqtt.process import Effect, Publish, PublishAll, Steps, Wait
from events.mqtt.process_shell import perform_at_once
from events.mqtt.topics import Topics
from events.types import (
    AlarmCleared,
    CardCarriedOver,
    Envelope,
    LinkUp,
    ShoeReported,
    Stored,
    decode_entry,
    decode_envelope,
)
from table_core.process.event_replays import MAX_REPLAYS, Replays
from table_core.process.publishers import (
    AGAIN_S,
    SEALED,
    CursorPublisher,
    LatestPublisher,
    public_bytes,
)
from table_core.process.table_writer import TableWriter
from table_core.rulebooks.shipped import load_rulebook
from table_core.trust.bus_guard import BusGuard
from tests.support.service.memory_log import MemoryLog
from tests.support.service.steps_by_hand import StepsByHand
from tests.support.table.coups import shoe_event

A, B = AlarmCleared(alarm="a"), AlarmCleared(alarm="b")
SECRET = ShoeReported(
    source=shoe_event(1, CardCarriedOver(hand=Hand.PLAYER, number=1, face=Card.D4))
)

TOPICS = Topics("s", "t")
LINK = ShoeReported(source=shoe_event(1, LinkUp()))


def envelope_of(public: bytes) -> Envelope:
    return decode_envelope(public[: public.rindex(b',"hash"')] + b"}")


def position_of(effect: Effect[bool] | None) -> int:
    assert isinstance(effect, Publish)
    return envelope_of(effect.payload).position


def published(steps: StepsByHand, accepts: Iterator[bool] | None = None) -> list[int]:
    """Positions that the broker accepted until the publisher had nothing to do."""
    taken = []
    while isinstance(steps.waiting, Publish):
        position = position_of(steps.waiting)
        if accepts is None or next(accepts):
            taken.append(position)
            steps.answer(result=True)
        else:
            wait = steps.answer(result=False)
            assert isinstance(wait, Wait)
            assert wait.seconds is not None
            steps.answer(result=False)
    return taken


def publisher_on(log: MemoryLog, *types: str) -> tuple[CursorPublisher, StepsByHand]:
    made = CursorPublisher("event", "t/event", types=types or None)
    perform_at_once(made.start(), log.performers)
    return made, StepsByHand(made.run(), log.performers)


def heard_by(salt_key: bytes) -> list[Stored]:
    """What a table stores that starts, and hears of a card that nobody has seen."""
    log = MemoryLog()
    writer = TableWriter(TOPICS, load_rulebook("ez"), roles={}, salt_key=salt_key)
    perform_at_once(writer.start(), log.performers)
    perform_at_once(writer.hear(SECRET.source), log.performers)
    return log.stored


def test_a_sealed_event_has_a_salt_that_the_bus_never_shows() -> None:
    one, other, none = map(heard_by, (b"one", b"other", b""))
    salts = set()
    for here, there, plain in zip(one, other, none, strict=True):
        salt = decode_envelope(here.stored).salt
        if here.type not in SEALED:
            assert (salt, here.stored) == ("", plain.stored)
            continue
        assert re.fullmatch("[0-9a-f]{20}", salt)
        assert here.hash != there.hash  # whoever guesses all the rest lacks 80 bits
        assert salt.encode() not in public_bytes(here)
        assert envelope_of(public_bytes(here)) == envelope_of(public_bytes(plain))
        assert decode_entry(here.stored).data == decode_entry(plain.stored).data
        salts |= {salt, decode_envelope(there.stored).salt}
    assert len(salts) == 2


def test_a_sealed_event_travels_without_its_contents_and_with_its_hash() -> None:
    sealed, plain = MemoryLog(SECRET, A).stored
    assert b"4D" in sealed.stored
    assert b"4D" not in public_bytes(sealed)
    assert public_bytes(sealed).endswith(f'"data":null,"hash":"{sealed.hash.hex()}"}}'.encode())
    assert envelope_of(public_bytes(sealed)).position == 1
    assert public_bytes(plain) == plain.stored[:-1] + f',"hash":"{plain.hash.hex()}"}}'.encode()


def test_everything_is_published_once_and_in_order() -> None:
    log = MemoryLog(*[A] * 600)
    publisher, steps = publisher_on(log)
    assert published(steps) == list(range(1, 601))
    assert log.cursors == {"event": 512}  # in a long backlog it is stored now and then
    log.keep(B)
    publisher.kick()
    steps.answer(result=True)
    assert published(steps) == [601]


@pytest.mark.parametrize("seed", range(5))
def test_what_the_broker_does_not_take_is_offered_again_and_nothing_overtakes_it(
    seed: int,
) -> None:
    moods = random.Random(seed)
    _, steps = publisher_on(MemoryLog(*[A] * 20))
    accepts = iter(lambda: moods.random() < 0.7, None)
    assert published(steps, accepts) == list(range(1, 21))


def test_the_cursor_moves_only_when_the_broker_has_accepted() -> None:
    log = MemoryLog(A, A)
    publisher, steps = publisher_on(log)
    assert (position_of(steps.waiting), publisher.position) == (1, 0)
    assert position_of(steps.answer(result=True)) == 2
    assert publisher.position == 1
    perform_at_once(publisher.note(), log.performers)  # as at the service's end
    _, again = publisher_on(log)
    assert published(again) == [2]


def test_the_cursor_is_stored_while_idle_and_a_full_disk_costs_a_repetition() -> None:
    log = MemoryLog(A)
    publisher, steps = publisher_on(log)
    assert published(steps) == [1]
    log.keep(A)
    log.now_us += 3_000_000
    publisher.kick()
    steps.answer(result=True)
    assert published(steps) == [2]
    assert isinstance(steps.waiting, Wait)
    assert steps.waiting.seconds == pytest.approx(2)  # of the five since the first
    log.refuses = True
    idle = steps.answer(result=False)
    assert (log.cursors, isinstance(idle, Wait)) == ({}, True)
    log.refuses = False
    assert published(publisher_on(log)[1]) == [1, 2]


def test_only_the_wanted_types_are_published_and_the_cursor_passes_over_the_rest() -> None:
    publisher, steps = publisher_on(MemoryLog(LINK, A, LINK, B), A.TYPE)
    assert published(steps) == [2, 4]
    assert publisher.position == 4


def test_the_latest_is_rendered_when_it_is_sent_and_sent_again_though_nothing_changed() -> None:
    value = [b""]

    def render() -> Steps[bytes]:
        yield from ()
        return value[0]

    steps = StepsByHand(LatestPublisher("t/state", render, retain=True).run(), {})
    sent = []
    for value[0], accepted in ((b"1", True), (b"2", False), (b"3", True)):
        assert isinstance(steps.waiting, Wait)
        assert steps.waiting.seconds == AGAIN_S
        publish = steps.answer(result=False)
        assert isinstance(publish, Publish)
        sent.append(publish.payload)
        after = steps.answer(accepted)
        if not accepted:
            assert isinstance(after, Wait)
            assert after.signal is None
            steps.answer(result=False)
            assert isinstance(steps.waiting, Wait)
            assert steps.waiting.signal
            assert steps.waiting.signal.is_set  # it is still to be sent
    assert sent == [b"1", b"2", b"3"]


def test_a_newer_replay_of_a_user_ends_the_older_and_their_number_is_bounded() -> None:
    log = MemoryLog(*[A] * 40)
    replays = Replays(TOPICS, BusGuard(TOPICS, lambda _: None, watched=False))

    def begun(user: str, first: int, last: int) -> bool:
        return perform_at_once(replays.start(user, first, last), log.performers)

    assert begun("cage", 1, 40)
    older = StepsByHand(log.begun[0].steps, log.performers)
    assert begun("cage", 30, 40)
    assert older.answer(result=True) is None
    newer = StepsByHand(log.begun[1].steps, log.performers)
    assert isinstance(newer.waiting, PublishAll)
    assert [envelope_of(each).position for each in newer.waiting.payloads] == [*range(30, 41)]
    for number in range(MAX_REPLAYS - 1):
        assert begun(f"display-{number}", 1, 40)
    assert not begun("one-more", 1, 40)
    assert newer.answer(result=True) is None
    assert begun("one-more", 1, 40)


def test_a_replay_sends_all_of_a_long_log_and_ends_with_the_broker() -> None:
    log = MemoryLog(*[A] * 600)
    replays = Replays(TOPICS, BusGuard(TOPICS, lambda _: None, watched=False))
    for accepted, last in ((True, 600), (False, 16)):
        log.begun.clear()
        perform_at_once(replays.start("cage", 1, 600), log.performers)
        steps, sent = StepsByHand(log.begun[0].steps, log.performers), []
        while isinstance(steps.waiting, PublishAll):
            sent += [envelope_of(each).position for each in steps.waiting.payloads]
            steps.answer(accepted)
        assert sent == [*range(1, last + 1)]
