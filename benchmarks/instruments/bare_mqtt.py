"""The fastest MQTT client in Python, for floors: paho without threads, driven by poll(2).

It was compared in turns with asyncio around the same client and with aiomqtt. It is as fast as the
first and faster than the second, and a floor must be the fastest possible.
"""

import select
import socket
import time
from collections.abc import Callable
from typing import Any, Final

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

__all__ = ["QUALITY", "connect", "send", "serve"]

QUALITY: Final = 1
_HOST: Final = "127.0.0.1"
_PATIENCE_S: Final = 30.0
_KEEPALIVE_S: Final = 60
_CHORES_MS: Final = 1_000


def connect(
    port: int, name: str, *topics: str, received: Callable[[str, bytes], None] | None = None
) -> mqtt.Client:
    """Connect to the broker on this machine and subscribe.

    Args:
        port: the broker's.
        name: the client id.
        topics: to subscribe to.
        received: called with topic and payload of each message.

    Raises:
        TimeoutError: the broker does not answer.
    """
    client = mqtt.Client(
        CallbackAPIVersion.VERSION2,
        client_id=name,
        protocol=mqtt.MQTTv311,
        clean_session=True,
    )
    answered: list[str] = []

    def connected(*_: Any) -> None:
        answered.append("CONNACK")

    def subscribed(*_: Any) -> None:
        answered.append("SUBACK")

    def message(_: mqtt.Client, __: Any, message: mqtt.MQTTMessage) -> None:
        if received is not None:
            received(message.topic, bytes(message.payload))

    client.on_connect, client.on_subscribe, client.on_message = connected, subscribed, message
    client.connect(_HOST, port, _KEEPALIVE_S)
    # Without it every hop costs 40 ms: Nagle's algorithm against delayed acknowledgements.
    _socket_of(client).setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    _loop_until(client, lambda: "CONNACK" in answered)
    if topics:
        client.subscribe([(topic, QUALITY) for topic in topics])
        _loop_until(client, lambda: "SUBACK" in answered)
    return client


def send(client: mqtt.Client, topic: str, payload: bytes) -> None:
    """Publish, and write to the socket now."""
    client.publish(topic, payload, QUALITY)
    client.loop_write()


def serve(client: mqtt.Client, ready: tuple[int, Callable[[], None]] | None = None) -> None:
    """Handle messages until killed.

    Args:
        client: a connected client.
        ready: one more descriptor, and the callback for when it can be read.
    """
    line, poll = _socket_of(client).fileno(), select.poll()
    poll.register(line, select.POLLIN)
    if ready is not None:
        poll.register(ready[0], select.POLLIN)
    while True:
        for descriptor, _ in poll.poll(_CHORES_MS):
            if descriptor == line:
                client.loop_read()
            elif ready is not None:
                ready[1]()
        if client.want_write():
            client.loop_write()
        if client.loop_misc() != mqtt.MQTT_ERR_SUCCESS:
            return


def _socket_of(client: mqtt.Client) -> socket.socket:
    found = client.socket()
    if not isinstance(found, socket.socket):
        raise TimeoutError("the broker has hung up")
    return found


def _loop_until(client: mqtt.Client, done: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE_S
    while not done():
        if time.monotonic() > end:
            raise TimeoutError(f"no answer from the broker within {_PATIENCE_S:g} s")
        client.loop(0.1)
