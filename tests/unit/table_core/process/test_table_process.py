"""The order of the table's steps, on a log in memory and without a broker."""

from itertools import islice
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from events.commands import (
    Ack,
    Answer,
    CloseBetting,
    Command,
    LoadShoe,
    OpenBetting,
    PlaceWager,
    Query,
    Replay,
    ShowTable,
    WagerRequest,
)
from events.commands.registry import COMMAND_NAMES
from events.errors import LogUnwritable
from events.mqtt.messages import Message
from events.mqtt.presence import PresencePublisher
from events.mqtt.process import Publish, Steps, Wait
from events.mqtt.process_shell import perform_at_once
from events.mqtt.topics import Topics
from events.proof.message_mac import MessageKey
from events.types import (
    AnyReport,
    DeviceResult,
    ErrorCleared,
    ErrorRaised,
    IrregularityRecorded,
    LinkOpen,
    LinkUp,
    ShoeAck,
    ShoeEvent,
    ShoeLoaded,
    decode_data,
    decode_envelope,
)
from table_core.process.alarm_publisher import AlarmNotice
from table_core.process.history_client import AskHistory
from table_core.process.table_process import RESULT_OVERDUE_S, InspectLog, TableProcess
from table_core.process.table_writer import TableWriter
from table_core.projections.wager_pages import WAGERS_IN_STATE
from table_core.rulebooks.shipped import load_rulebook
from table_core.rules import settlement
from table_core.trust.access import Access, BusPolicy
from tests.support.service.memory_log import START_NS, MemoryLog
from tests.support.service.steps_by_hand import StepsByHand
from tests.support.shoe.link_words import link_up
from tests.support.table.coups import NATURAL_NINE, ORDER, SHOE, drawn, shoe_event

TOPICS = Topics("s", "t")
ROLES = {name: frozenset({name}) for name in ("dealer", "supervisor", "cage")}


class Bench:
    """A table's process, its log, and the messages that a test hands over."""

    def __init__(self, **process: Any) -> None:
        self.log = MemoryLog()
        self.writer = TableWriter(TOPICS, load_rulebook("au-commission"), roles=ROLES)
        presence = PresencePublisher(TOPICS.status("table"), 1, START_NS)
        self.process = TableProcess(self.writer, presence, **process)
        self.perform(self.writer.start())
        self.perform(self.process.start())
        names = [
            "settlement",
            "event",
            "state",
            "wagers",
            "acks",
            "beat",
            "watch",
            "ahead",
            "inspect",
        ]
        self.running = {
            name: StepsByHand(steps, self.log.performers)
            for name, steps in zip(names, self.process.running(), strict=True)
        }

    def perform(self, steps: Steps[Any]) -> None:
        perform_at_once(steps, self.log.performers)

    def hand_over(self, topic: str, payload: bytes, *, retain: bool = False) -> list[str]:
        """Handle a message; the effects in order."""
        name = topic if topic in self.process.subscriptions else TOPICS.requests
        steps = self.process.subscriptions[name](Message(topic, payload, retain))
        return StepsByHand(steps, self.log.performers).kinds()

    def say(self, event: ShoeEvent) -> list[str]:
        return self.hand_over(TOPICS.shoe_event, msgspec.json.encode(event))

    def ask(self, command: Command) -> Answer:
        topic = TOPICS.request("dealer", COMMAND_NAMES[type(command)])
        self.hand_over(topic, msgspec.json.encode(command))
        return msgspec.json.decode(self.log.posted[-1].payload, type=Answer)

    def links(self, head: int, *, retain: bool = False) -> None:
        """The driver is there, and its newest event is `head`."""
        status = link_up(head)
        self.hand_over(TOPICS.link_shoe, msgspec.json.encode(status), retain=retain)

    def due(self, name: str) -> bool:
        """Whether steps would go on now."""
        waiting = self.running[name].waiting
        assert isinstance(waiting, Wait)
        return waiting.signal is not None and waiting.signal.is_set

    def publishes(self, name: str) -> bytes:
        """What a publisher sends next; the broker accepts it."""
        steps = self.running[name]
        while not isinstance(steps.waiting, Publish):
            assert isinstance(steps.waiting, Wait)
            steps.answer(result=True)
        payload = steps.waiting.payload
        steps.answer(result=True)
        return payload

    def acknowledged(self) -> ShoeAck:
        return msgspec.json.decode(self.publishes("acks"), type=ShoeAck)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def reports(*others: AnyReport) -> list[ShoeEvent]:
    all_of_them = (LinkOpen(transport="pty:x"), LinkUp(), *others)
    return [shoe_event(number, report) for number, report in enumerate(all_of_them, start=1)]


FIRST, SECOND = reports()


def test_every_timer_is_armed_and_the_log_is_inspected_from_the_start_on(bench: Bench) -> None:
    waits = {
        name: each.waiting.seconds if isinstance(each.waiting, Wait) else each.waiting
        for name, each in bench.running.items()
    }
    event = waits.pop("event")  # the adopted rulebook is to be published
    assert isinstance(event, Publish)
    assert waits == {
        "settlement": pytest.approx(5),  # to the store of the cursor, which has passed over it
        "state": 5,
        "wagers": 5,
        "acks": 5,
        "beat": 1,
        "watch": 1,
        "ahead": None,  # until a deal is complete
        "inspect": InspectLog(),
    }


def test_a_new_connection_hears_of_the_table_and_asks_the_driver_for_its_head(
    bench: Bench,
) -> None:
    bench.publishes("event")
    bench.perform(bench.process.on_connect())
    status, hello = bench.log.posted
    assert (status.topic, hello.topic) == (TOPICS.status("table"), TOPICS.shoe_ack)
    assert msgspec.json.decode(hello.payload, type=ShoeAck).hello
    assert all(map(bench.due, ("settlement", "event", "state")))


def test_an_event_is_appended_before_anything_is_sent_of_it(bench: Bench) -> None:
    bench.publishes("event")
    assert bench.say(FIRST) == ["CiteProfile", "Now", "Append"]
    assert bench.log.posted == []
    assert all(map(bench.due, ("event", "state", "acks")))
    assert not bench.due("settlement")  # nothing was settled
    assert bench.acknowledged().seq == 1


def test_a_refused_event_is_not_acknowledged_and_is_taken_when_it_comes_again(
    bench: Bench,
) -> None:
    bench.acknowledged()
    bench.log.refuses = True
    for _ in range(2):
        bench.say(FIRST)
        assert not bench.due("acks")
    assert bench.log.lines == ["log.unwritable"]
    assert b'"log_unwritable"' in bench.publishes("state")
    assert bench.acknowledged().seq == 0  # which is also sent from time to time
    bench.log.refuses = False
    bench.say(FIRST)
    assert bench.log.lines == ["log.unwritable", "log.writable"]
    assert bench.acknowledged().seq == 1


def test_a_full_disk_is_told_once_whatever_is_heard_again_meanwhile(bench: Bench) -> None:
    bench.say(FIRST)
    bench.log.refuses = True
    for _ in range(3):
        bench.say(shoe_event(2, LinkUp()))
        bench.say(FIRST)  # a duplicate: nothing has to be stored, so it says nothing of the disk
        assert bench.ask(LoadShoe(transaction="l", shoe=SHOE)).code == "log_unwritable"
        assert bench.ask(Replay(transaction="r", start=1)).result == "accepted"
        assert bench.ask(OpenBetting(transaction="o")).code == "catching_up"
        bench.running["watch"].answer(result=False)
    assert [each for each in bench.log.lines if each.startswith("log.")] == ["log.unwritable"]


def test_a_log_that_must_be_opened_again_ends_the_service(bench: Bench) -> None:
    bench.log.refuses = bench.log.closed = True
    with pytest.raises(LogUnwritable):
        bench.say(FIRST)
    bench.running["watch"].answer(result=False)  # nothing was due, so nothing was refused


def test_a_duplicate_is_acknowledged_again_and_a_gap_is_not_appended(bench: Bench) -> None:
    bench.say(FIRST)
    assert bench.acknowledged().seq == 1
    assert "Append" not in bench.say(FIRST)
    assert bench.acknowledged().seq == 1
    third = shoe_event(3, LinkUp())
    assert bench.say(third) == ["LogLine"]
    assert bench.log.lines == ["shoe_event.gap"]
    assert bench.acknowledged().seq == 1
    bench.say(SECOND)
    bench.say(third)
    assert bench.acknowledged().seq == 3


@pytest.mark.parametrize(
    ("topic", "payload", "line"),
    [
        (topic, body, line)
        for body in (b"\xff", b"[" * 50_000, b"null", b'{"transaction": "t"')
        for topic, line in (
            (TOPICS.shoe_event, "shoe_event.unreadable"),
            (TOPICS.link_shoe, "link.unreadable"),
            (TOPICS.request("dealer", "load_shoe"), "command.refused"),
        )
    ]
    + [(TOPICS.shoe_event, b" " * 70_000, "shoe_event.too_large")],
)
def test_what_cannot_be_read_is_logged_and_changes_nothing(
    bench: Bench, topic: str, payload: bytes, line: str
) -> None:
    before = len(bench.log.stored)
    bench.hand_over(topic, payload)
    bench.hand_over(TOPICS.status("shoe"), payload)
    assert (bench.log.lines, len(bench.log.stored)) == ([line], before)
    assert [msgspec.json.decode(post.payload)["code"] for post in bench.log.posted] == [
        "invalid_request"
    ] * (line == "command.refused")


def test_the_service_ends_with_its_cursors_stored_and_offline_as_its_last_word(
    bench: Bench,
) -> None:
    bench.publishes("event")
    steps = StepsByHand(bench.process.ending(), bench.log.performers)
    assert isinstance(steps.waiting, Publish)
    assert b'"offline"' in steps.waiting.payload
    assert bench.log.cursors == {"settlement": 1, "event": 1}
    assert steps.answer(result=True) is None
    bench.log.posted.clear()
    bench.running["beat"].answer(result=False)
    assert bench.log.posted == []


def test_a_fault_of_the_inspected_log_stops_betting(bench: Bench) -> None:
    bench.running["inspect"].answer("position 1: it was changed")
    assert bench.log.lines == ["log.unsound"]
    assert b'"log_unsound"' in bench.publishes("state")


def in_play(bench: Bench) -> None:
    for command in (LoadShoe(transaction="l", shoe=SHOE), OpenBetting(transaction="o")):
        assert bench.ask(command).result == "accepted"


def test_wagers_have_pages_to_send_beyond_what_the_state_carries(bench: Bench) -> None:
    for event in reports():
        bench.say(event)
    bench.links(2)
    in_play(bench)
    for number in range(1, WAGERS_IN_STATE + 2):
        wager = WagerRequest(seat=number % 99 + 1, bet="tie", stake=100, patron=f"p{number}")
        placed = bench.ask(PlaceWager(transaction=f"w-{number}", wagers=(wager,)))
        assert placed.result == "accepted"
        assert bench.due("wagers") is (number > WAGERS_IN_STATE)
    assert b'"p1"' in bench.publishes("wagers")


def test_nobody_bets_before_the_table_has_the_drivers_newest_event(bench: Bench) -> None:
    bench.ask(LoadShoe(transaction="l", shoe=SHOE))
    bench.say(FIRST)
    bench.links(1, retain=True)  # which is history
    assert bench.ask(OpenBetting(transaction="o0")).code == "catching_up"
    bench.links(2)
    assert bench.ask(OpenBetting(transaction="o1")).code == "catching_up"
    bench.say(SECOND)
    bench.links(3)  # the driver has a card that has not come yet
    assert bench.ask(OpenBetting(transaction="o2")).code == "catching_up"
    bench.say(shoe_event(3, LinkUp()))
    bench.log.connected = False  # and the rest of the inbox is still handled
    bench.hand_over(
        TOPICS.request("dealer", "open_betting"),
        msgspec.json.encode(OpenBetting(transaction="o5")),
    )
    assert bench.writer.state.coup is None
    bench.log.connected = True
    driver = PresencePublisher(TOPICS.status("shoe"), 1, START_NS)
    bench.hand_over(driver.topic, driver.will.payload)
    assert bench.ask(OpenBetting(transaction="o3")).code == "catching_up"
    assert b'"catching_up":true' in bench.publishes("state")
    bench.log.posted.clear()
    bench.perform(driver.announce())
    bench.hand_over(driver.topic, bench.log.posted[-1].payload)
    bench.links(3)
    assert bench.ask(OpenBetting(transaction="o4")).result == "accepted"


def test_a_repeated_request_is_answered_as_before_and_appends_nothing(bench: Bench) -> None:
    first = bench.ask(LoadShoe(transaction="l", shoe=SHOE))
    again = bench.ask(LoadShoe(transaction="l", shoe=SHOE))
    assert (first.result, again.result) == ("accepted", "exists")
    assert again.position == first.position == len(bench.log.stored)


def test_the_answer_follows_the_append(bench: Bench) -> None:
    topic = TOPICS.request("dealer", "load_shoe")
    made = bench.hand_over(topic, msgspec.json.encode(LoadShoe(transaction="l", shoe=SHOE)))
    assert made[-2:] == ["Append", "Post"]
    bench.log.refuses = True
    assert bench.ask(OpenBetting(transaction="o")).result == "refused"


def complete_deal(bench: Bench) -> None:
    """A deal is complete, and its result has not come."""
    for event in reports():
        bench.say(event)
    bench.links(2)
    in_play(bench)
    bench.ask(CloseBetting(transaction="c"))
    cards = [drawn(*place, face) for place, face in zip(ORDER, NATURAL_NINE, strict=True)]
    for event in islice(reports(*cards), 2, None):
        bench.say(event)


def test_what_was_settled_ahead_is_not_settled_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    complete_deal(bench)
    settled = len(bench.log.stored)
    assert bench.due("ahead")
    bench.running["ahead"].answer(result=True)
    assert (len(bench.log.stored), bench.due("ahead")) == (settled, False)  # nothing came of it
    monkeypatch.setattr(settlement, "settle_with_caps", None)
    bench.say(shoe_event(7, DeviceResult(winner="player")))
    assert "coup_settled" in {stored.type for stored in bench.log.stored[settled:]}


def test_a_result_that_does_not_come_is_reported_when_it_is_overdue(bench: Bench) -> None:
    complete_deal(bench)
    for _ in range(RESULT_OVERDUE_S):
        bench.running["watch"].answer(result=False)
        bench.log.now_us += 1_000_000
        assert bench.log.stored[-1].type != "alarm_raised"
    bench.running["watch"].answer(result=False)
    assert bench.log.stored[-1].type == "alarm_raised"


def test_a_coup_does_not_wait_for_its_result_since_the_coup_before_it(bench: Bench) -> None:
    complete_deal(bench)
    bench.running["watch"].answer(result=False)
    bench.log.now_us += RESULT_OVERDUE_S * 1_000_000
    bench.say(shoe_event(7, DeviceResult(winner="player")))
    bench.ask(OpenBetting(transaction="o-2"))
    bench.ask(CloseBetting(transaction="c-2"))
    for seq, (place, face) in enumerate(zip(ORDER, NATURAL_NINE, strict=True), start=8):
        bench.say(shoe_event(seq, drawn(*place, face)))
    assert bench.log.stored[-1].type == "deal_completed"
    bench.running["watch"].answer(result=False)
    assert bench.log.stored[-1].type == "deal_completed"


def test_a_question_about_the_past_waits_for_the_reader_and_nobody_else_does() -> None:
    bench = Bench(has_reader=True)
    query: Query = ShowTable(transaction="q", position=1)
    topic = TOPICS.request("supervisor", COMMAND_NAMES[type(query)])
    for _ in range(2):  # the second of them is the same question, sent again
        bench.hand_over(topic, msgspec.json.encode(query))
    first, second = (StepsByHand(each.steps, bench.log.performers) for each in bench.log.begun)
    assert isinstance(first.waiting, AskHistory)
    assert second.waiting is None
    assert bench.ask(LoadShoe(transaction="l", shoe=SHOE)).result == "accepted"
    first.answer(b"{}")
    answer = msgspec.json.decode(bench.log.posted[-1].payload, type=Answer)
    assert (answer.transaction, answer.result) == ("q", "accepted")


def test_a_retained_request_is_refused_and_cleared(bench: Bench) -> None:
    body = msgspec.json.encode(Replay(transaction="old", start=1))
    topic = TOPICS.request("cage", "replay")
    assert bench.hand_over(topic, body, retain=True) == ["Post", "LogLine", "Post"]
    cleared, answer = bench.log.posted
    assert (cleared.topic, cleared.payload, cleared.retain) == (topic, b"", True)
    assert b'"retained_request"' in answer.payload


def test_a_consumers_acknowledgement_is_kept_and_checked(bench: Bench) -> None:
    for user, position, result in (
        ("cage", 1, "accepted"),
        ("cage", 10**6, "unknown_position"),
        ("dealer", 1, "not_allowed"),
    ):
        ack = Ack(transaction="a", consumer="main", position=position)
        bench.hand_over(TOPICS.request(user, "ack"), msgspec.json.encode(ack))
        answer = msgspec.json.decode(bench.log.posted[-1].payload, type=Answer)
        assert (answer.code or answer.result) == result
    assert bench.log.cursors == {"consumer/cage/main": 1}


@pytest.mark.parametrize(("beyond", "code"), [(1, None), (2, "unknown_position")])
def test_a_replay_begins_at_the_next_event_at_the_latest(
    bench: Bench, beyond: int, code: str | None
) -> None:
    head = bench.log.stored[-1].position
    body = msgspec.json.encode(Replay(transaction="r", start=head + beyond))
    bench.hand_over(TOPICS.request("cage", "replay"), body)
    answer = msgspec.json.decode(bench.log.posted[-1].payload, type=Answer)
    assert (answer.code, answer.position) == (code, head)


def test_an_alarm_is_told_when_it_is_raised_and_when_it_is_cleared(bench: Bench) -> None:
    raised = ErrorRaised(code="cannot_read", latched=False)
    said: list[AnyReport] = [LinkUp(), raised, ErrorCleared(code="cannot_read")]
    rung: list[AlarmNotice] = []
    for number, report in enumerate(said, start=1):
        bench.say(shoe_event(number, report))
        bench.publishes("state")
        posted = [post.payload for post in bench.log.posted if post.topic == TOPICS.alarm]
        rung += [msgspec.json.decode(payload, type=AlarmNotice) for payload in posted]
        bench.log.posted.clear()
    states = [(each.alarm, each.state) for each in rung if each.alarm.startswith("shoe_error")]
    assert states == [("shoe_error_cannot_read", "raised"), ("shoe_error_cannot_read", "cleared")]


def test_a_change_of_the_access_is_on_record_before_anything_is_done_by_it() -> None:
    bench = Bench(guarded=True)
    key = MessageKey(origin="s/t", owner="dealer", secret=b"1" * 32)
    strict = BusPolicy(mode="required", keys={"dealer": (key,)})
    bench.log.access = required = Access(roles=ROLES, bus=strict)
    bench.running["watch"].answer(result=False)  # what it was at the start
    begun = len(bench.log.stored)
    assert bench.ask(LoadShoe(transaction="forged", shoe=SHOE)).code == "not_authenticated"
    assert len(bench.log.stored) == begun
    bench.log.access = Access(roles=ROLES, bus=replace(strict, mode="trust-broker"))
    bench.log.refuses = True
    assert bench.ask(LoadShoe(transaction="forged", shoe=SHOE)).code == "log_unwritable"
    bench.log.refuses = False
    assert bench.ask(LoadShoe(transaction="forged", shoe=SHOE)).result == "accepted"
    bench.log.access = required
    bench.running["watch"].answer(result=False)
    bench.running["watch"].answer(result=False)
    events = [decode_data(decode_envelope(each.stored)) for each in bench.log.stored[begun:]]
    away, loaded, back = events
    assert isinstance(loaded, ShoeLoaded)
    assert (away, back) == (
        IrregularityRecorded(kind="access_changed", reason="mode: required became trust-broker"),
        IrregularityRecorded(kind="access_changed", reason="mode: trust-broker became required"),
    )
