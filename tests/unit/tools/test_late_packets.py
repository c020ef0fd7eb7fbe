"""What may overtake what, in the relay of `make late`."""

import pytest
from paho.mqtt.client import topic_matches_sub

from tests.tools.late.packets import Subscriptions

CONNECT = b"\x10\x02ab"
CONNACK = b"\x20\x02\x00\x00"
SUBSCRIBE = b"\x82\x0d\x00\x01" + b"\x00\x03a/+\x01" + b"\x00\x02bb\x01"


def publish(topic: str, payload: bytes) -> bytes:
    """At quality of service 0; below 2 MB."""
    body = len(topic).to_bytes(2) + topic.encode() + payload
    low, middle, high = len(body) & 0x7F, len(body) >> 7 & 0x7F, len(body) >> 14
    return bytes([0x30, low | 0x80, middle | 0x80, high]) + body


@pytest.mark.parametrize("step", [1, 2, 7, 1_000_000])
def test_each_message_is_of_the_subscription_it_came_by(step: int) -> None:
    asked = Subscriptions(topic_matches_sub)
    assert [piece for _, piece in asked.up(CONNECT + SUBSCRIBE)] == [CONNECT, SUBSCRIBE]
    packets = [
        CONNACK,
        publish("a/x", b"1"),
        publish("bb", b"2" * 70_000),
        publish("a/y", b"3"),
        publish("a/y/z", b"for nobody"),
    ]
    stream = b"".join(packets)
    cut = [stream[at : at + step] for at in range(0, len(stream), step)]
    sorted_ = [pair for came in cut for pair in asked.down(came)]
    assert [piece for _, piece in sorted_] == packets
    other, a, b, again, nobody = (kind for kind, _ in sorted_)
    assert a == again
    assert other == nobody
    assert len({other, a, b}) == 3


@pytest.mark.parametrize("hello", [b"\x16\x03\x01\x00\x02ab", b"GET /mqtt HTTP/1.1\r\n\r\n"])
def test_what_cannot_be_read_is_passed_on_as_it_is_and_in_order(hello: bytes) -> None:
    asked = Subscriptions(topic_matches_sub)
    assert [piece for _, piece in asked.up(hello)] == [hello]
    looks_like_one = publish("a/x", b"1")
    answers = [*asked.down(looks_like_one[:3]), *asked.down(looks_like_one[3:])]
    assert [piece for _, piece in answers] == [looks_like_one[:3], looks_like_one[3:]]
    assert len({kind for kind, _ in answers}) == 1
