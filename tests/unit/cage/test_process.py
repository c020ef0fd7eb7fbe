"""What the cage does, step by step: read again, book, then acknowledge."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from cage.process import Book, CageProcess, CloseLedger, OpenLedger
from events.errors import BusError, LedgerError, LedgerUnavailable
from events.mqtt.messages import Message
from events.mqtt.process import Effect, LogLine, Publish
from events.mqtt.topics import Topics
from events.types import (
    BettingClosed,
    BettingOpened,
    CoupSettled,
    TableEvent,
    encode_envelope,
    with_hash,
)
from tests.support.service.scripted import Scripted
from tests.support.table.settlements import settlement

TOPICS = Topics("site", "t1")
OPENED = BettingOpened(coup="20261127-01/1", rulebook="r", rulebook_hash="h")
CLOSED = BettingClosed(coup="20261127-01/1", by="dealer")
SETTLED = CoupSettled(coup="20261127-01/1", settlement=settlement(1))


def published(position: int, event: TableEvent) -> bytes:
    stored = encode_envelope(
        event,
        index=0,
        stream="site/t1",
        position=position,
        at="2026-11-27T00:00:00.000000000Z",
        actor="shoe",
        cause=f"j1/{position}",
        correlation="",
    )
    return with_hash(stored, hashlib.sha256(stored).digest())


class Cage:
    """A cage whose ledger takes everything, and a table that answers when it is told to."""

    def __init__(self, position: int = 0) -> None:
        self.process = CageProcess(TOPICS, position=position, utc_ns=0, session=7)
        self.position = position
        self.away: list[Exception] = []  # of the next attempts to reach the database
        self.shell = Scripted({Book: self._book, OpenLedger: self._open, CloseLedger: self._close})
        self.shell.run(*self.process.running())
        self.shell.run(self.process.on_connect())

    def _book(self, effect: Book) -> int:
        self._open(effect)
        self.position = max(self.position, effect.events[-1].position)
        return self.position

    def _open(self, _: Effect[int]) -> int:
        if self.away:
            raise self.away.pop(0)
        return self.position

    def _close(self, _: CloseLedger) -> None:
        """Nothing is left open."""

    def hears(self, topic: str, payload: bytes) -> None:
        message = Message(topic, payload, retain=False)
        self.shell.run(self.process.subscriptions[topic](message))

    def event(self, position: int, event: TableEvent = SETTLED, *, replayed: bool = False) -> None:
        topic = TOPICS.replayed("cage") if replayed else TOPICS.event
        self.hears(topic, published(position, event))

    @property
    def asked(self) -> list[tuple[str, dict[str, Any]]]:
        """The requests that were sent, repetitions included."""
        return [
            (each.topic.rpartition("/")[2], json.loads(each.payload))
            for each in self.shell.of(Publish)
        ]

    def answer(self, **fields: Any) -> None:
        """Answer the newest request."""
        said = {"transaction": self.asked[-1][1]["transaction"], "result": "accepted", **fields}
        self.hears(TOPICS.response("cage"), json.dumps(said).encode())

    def steps(self) -> list[str]:
        """What was done, without heartbeats, as words."""
        return [
            each.topic.rpartition("/")[2] if isinstance(each, Publish) else type(each).__name__
            for each in self.shell.done
            if isinstance(each, Publish | Book | OpenLedger | CloseLedger)
        ]


@pytest.fixture
def cage() -> Cage:
    """A cage that has read everything of an empty log."""
    made = Cage()
    made.answer(position=0)
    return made


def test_a_connection_reads_again_after_what_is_booked() -> None:
    assert Cage(40).asked == [("replay", {"transaction": "replay-7-1", "from": 40})]


def test_what_is_received_is_booked_and_then_acknowledged(cage: Cage) -> None:
    cage.event(1)
    assert cage.steps() == ["replay", "Book", "ack"]
    wanted = {"transaction": "ack-7-1", "consumer": "cage", "position": 1}
    assert cage.asked[-1] == ("ack", wanted)
    assert cage.process.acknowledged == 0
    cage.answer()
    assert cage.process.acknowledged == 1


def test_what_the_ledger_does_not_post_waits_a_second_for_what_it_does(cage: Cage) -> None:
    cage.event(1, CLOSED)
    cage.shell.passes(0.9)
    assert cage.steps()[1:] == []
    cage.shell.passes(0.2)
    assert cage.steps()[1:] == ["Book", "ack"]


def test_what_the_ledger_posts_takes_with_it_what_waits_at_once(cage: Cage) -> None:
    cage.event(1, CLOSED)
    assert cage.steps()[1:] == []
    cage.event(2)
    assert cage.steps()[1:] == ["Book", "ack"]
    assert (cage.position, cage.asked[-1][1]["position"]) == (2, 2)


def test_an_opening_is_booked_at_once_and_acknowledged_with_the_settlement(cage: Cage) -> None:
    cage.event(1, OPENED)
    assert cage.steps()[1:] == ["Book"]
    cage.shell.passes(5)
    assert cage.steps()[1:] == ["Book"]
    cage.event(2)
    assert cage.steps()[1:] == ["Book", "Book", "ack"]
    assert cage.asked[-1][1]["position"] == 2


def test_a_request_is_repeated_each_second_as_it_was(cage: Cage) -> None:
    cage.event(1)
    cage.shell.online = False
    cage.shell.passes(2.5)
    cage.shell.online = True
    cage.shell.passes(1)
    acks = [body for name, body in cage.asked if name == "ack"]
    assert len(acks) == 4
    assert acks == [acks[0]] * 4
    cage.answer(transaction="ack-7-0")
    assert cage.process.acknowledged == 0


def test_a_gap_is_read_again_and_booked_in_order(cage: Cage) -> None:
    cage.event(3)
    assert cage.asked[-1] == ("replay", {"transaction": "replay-7-2", "from": 1})
    assert cage.steps() == ["replay", "replay"]
    cage.answer(position=3)
    for position in (1, 2):
        cage.event(position, replayed=True)
    booked = [fact.position for each in cage.shell.of(Book) for fact in each.events]
    assert booked == [1, 2, 3]


def test_a_silent_replay_is_requested_again_after_two_seconds() -> None:
    cage = Cage()
    cage.answer(position=9)
    cage.shell.passes(1.9)
    assert len(cage.asked) == 1
    cage.shell.passes(0.2)
    assert [body["from"] for _, body in cage.asked] == [1, 1]


def test_an_event_that_only_the_state_reveals_is_requested(cage: Cage) -> None:
    cage.hears(TOPICS.state, b'{"position":1}')
    cage.shell.passes(4.1)
    assert cage.asked[-1] == ("replay", {"transaction": "replay-7-2", "from": 1})


def test_a_cage_that_lacks_nothing_is_woken_by_its_heartbeat_alone(cage: Cage) -> None:
    cage.event(1)
    cage.answer()
    cage.hears(TOPICS.state, b'{"position":1}')
    cage.shell.passes(5)
    assert cage.shell.passes(60) == 60


def test_a_state_that_promises_too_much_is_asked_about_once(cage: Cage) -> None:
    cage.hears(TOPICS.state, b'{"position":1000000}')
    cage.shell.passes(2.1)
    cage.answer(position=0)
    cage.shell.passes(20)
    assert [name for name, _ in cage.asked] == ["replay", "replay"]
    assert not cage.process.inflow.behind


def test_what_a_replay_has_lost_is_requested_a_moment_after_its_end() -> None:
    cage = Cage()
    cage.answer(position=3)
    for position in (1, 3):
        cage.event(position, replayed=True)
    cage.shell.passes(0.2)
    assert [body["from"] for name, body in cage.asked if name == "replay"] == [1, 1]


def test_live_events_do_not_hide_that_a_replay_brings_nothing() -> None:
    cage = Cage()
    cage.answer(position=2)
    for position in range(3, 8):
        cage.event(position)
        cage.shell.passes(0.45)
    assert [body["from"] for _, body in cage.asked] == [1, 1]


def test_a_database_that_is_away_is_waited_for_and_nothing_acknowledged_meanwhile(
    cage: Cage,
) -> None:
    cage.away = [LedgerUnavailable("gone")] * 3
    cage.event(1)
    cage.shell.passes(1.4)
    assert cage.steps()[1:] == ["Book", "CloseLedger", "OpenLedger", "OpenLedger"]
    cage.shell.passes(0.2)
    assert cage.steps()[5:] == ["OpenLedger", "Book", "ack"]
    first, second = cage.shell.of(Book)
    assert first.events == second.events
    assert [line.event for line in cage.shell.of(LogLine)] == ["ledger.away", "ledger.back"]
    assert cage.process.counts.outages == 1


@pytest.mark.parametrize("code", ["too_many_replays", "log_unwritable", "catching_up"])
def test_a_refusal_that_passes_is_asked_again_after_two_seconds(cage: Cage, code: str) -> None:
    cage.event(1)
    cage.answer(result="refused", code=code)
    cage.shell.passes(1.9)
    assert [name for name, _ in cage.asked] == ["replay", "ack"]
    cage.shell.passes(0.2)
    assert [name for name, _ in cage.asked] == ["replay", "ack", "ack"]


def _refused(cage: Cage) -> None:
    cage.event(1)
    cage.answer(result="refused", code="not_allowed", text="no")


def _cut(_: Cage) -> None:
    Cage(60).answer(position=50)


def _cut_and_refused(_: Cage) -> None:
    Cage(60).answer(result="refused", code="unknown_position", position=50)


def _contradicted(cage: Cage) -> None:
    cage.away = [LedgerError("event 1 does not follow what is booked")]
    cage.event(1)


@pytest.mark.parametrize(
    ("ended", "error", "said"),
    [
        (_refused, BusError, "the acknowledgement of 1: not_allowed"),
        (_cut, LedgerError, "has read 60 events and the table's log ends at 50"),
        (_cut_and_refused, LedgerError, "has read 60 events and the table's log ends at 50"),
        (_contradicted, LedgerError, "does not follow"),
    ],
)
def test_what_no_repetition_mends_ends_the_cage(
    cage: Cage, ended: Callable[[Cage], None], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        ended(cage)


def test_junk_is_counted_and_noted(cage: Cage) -> None:
    for topic in (TOPICS.event, TOPICS.state, TOPICS.response("cage")):
        cage.hears(topic, b"\xff")
    assert cage.process.counts.junk == 2
    lines = [line.event for line in cage.shell.of(LogLine)]
    assert lines == ["event.unreadable", "answer.unreadable"]
