"""The request client: repetitions, back-off, answers matched by user and transaction."""

import json

import pytest

from events.commands import Answer, CloseBetting
from events.mqtt.messages import Message
from events.mqtt.peer_keys import PeerKeys
from events.mqtt.process import LogLine, Publish, Steps
from events.mqtt.request_client import RequestClient, Retry
from events.mqtt.topics import Topics
from events.proof.message_mac import MessageKey, add_mac, split_mac
from tests.support.service.scripted import Scripted

TOPICS = Topics("site", "t1")
NEW, OLD, STRANGER = (
    MessageKey(origin="site/t1", owner="dealer", secret=byte * 32) for byte in (b"1", b"2", b"3")
)
CLOSE = CloseBetting(transaction="c-1")


class Desk:
    """A client that asks, and the answers it got."""

    def __init__(self, keys: PeerKeys | None = None) -> None:
        self.client = RequestClient(TOPICS, keys)
        self.shell = Scripted({})
        self.answers: list[Answer] = []

    def ask(self, user: str = "dealer", retry: Retry | None = None) -> Steps[None]:
        steps = self._ask(user, retry or Retry())
        self.shell.run(steps)
        return steps

    def _ask(self, user: str, retry: Retry) -> Steps[None]:
        self.answers.append((yield from self.client.ask(user, CLOSE, retry, step="ask")))

    def hear(self, payload: bytes, user: str = "dealer") -> None:
        message = Message(TOPICS.response(user), payload, retain=False)
        self.shell.run(self.client.on_answer(message))

    @property
    def sent_at(self) -> int:
        return len(self.shell.of(Publish))


def said(transaction: str = "c-1", code: str = "") -> bytes:
    refused = {"result": "refused", "code": code}
    return json.dumps(
        {"transaction": transaction, "result": "accepted"} | (refused if code else {})
    ).encode()


def test_a_request_is_sent_each_second_until_it_is_answered() -> None:
    desk = Desk()
    desk.ask()
    desk.shell.passes(3.5)
    assert desk.client.in_flight == 1
    sent = desk.shell.of(Publish)
    assert (
        sent
        == [Publish(TOPICS.request("dealer", "close_betting"), sent[0].payload, step="ask")] * 4
    )
    assert desk.client.resent == 3
    desk.hear(said())
    assert [answer.result for answer in desk.answers] == ["accepted"]
    desk.shell.passes(10)
    assert (desk.sent_at, desk.client.in_flight) == (4, 0)


@pytest.mark.parametrize(
    "answer", [said("c-2"), b"", b"\xff", b"[" * 50_000, b"{}", b'{"transaction":"c-1"}']
)
def test_what_is_no_answer_to_it_answers_nothing(answer: bytes) -> None:
    desk = Desk()
    desk.ask()
    desk.hear(answer)
    desk.hear(said(), user="supervisor")
    assert desk.answers == []
    assert len(desk.shell.of(LogLine)) == (answer != said("c-2"))


def test_with_a_key_each_sending_is_proved_anew_and_an_answer_must_be() -> None:
    desk = Desk(PeerKeys([NEW, OLD]))
    desk.ask()
    desk.shell.passes(1.5)
    messages = [split_mac(sent.payload) for sent in desk.shell.of(Publish)]
    topic, there = TOPICS.request("dealer", "close_betting"), TOPICS.response("dealer")
    assert all(each.key_among(topic, [NEW], 0) for each in messages)
    assert len({each.mac and each.mac.at_ms for each in messages}) == 2
    for forged in (said(), add_mac(NEW, topic, said(), 0), add_mac(STRANGER, there, said(), 0)):
        desk.hear(forged)
        assert desk.answers == []
    assert [line.event for line in desk.shell.of(LogLine)] == ["answer.forged"] * 3
    desk.hear(add_mac(OLD, there, said(), 0))  # of a table that has not learned the new key
    assert [answer.result for answer in desk.answers] == ["accepted"]


def test_without_a_broker_the_pause_doubles_to_its_most() -> None:
    desk = Desk()
    desk.shell.online = False
    desk.ask(retry=Retry(back_off_s=0.1, back_off_most_s=0.4))
    moments = []
    for _ in range(15):
        before = desk.sent_at
        desk.shell.passes(0.1)
        moments.append(desk.sent_at - before)
    assert moments == [1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1]


def test_a_refusal_that_passes_is_no_answer_and_any_other_is() -> None:
    desk = Desk()
    desk.ask()
    desk.hear(said(code="catching_up"))
    desk.shell.passes(0.06)
    assert (desk.sent_at, desk.answers) == (2, [])
    desk.hear(said(code="shoe_in_play"))
    assert [answer.code for answer in desk.answers] == ["shoe_in_play"]


def test_two_who_ask_the_same_at_once_both_get_the_answer() -> None:
    desk = Desk()
    desk.ask()
    desk.ask()
    assert desk.client.in_flight == 2
    desk.hear(said())
    assert len(desk.answers) == 2


def test_a_request_that_is_given_up_is_in_flight_no_more() -> None:
    desk = Desk()
    steps = desk.ask()
    assert desk.client.is_pending("dealer", CLOSE)
    steps.close()
    assert not desk.client.is_pending("dealer", CLOSE)
    desk.hear(said())
    assert desk.answers == []
