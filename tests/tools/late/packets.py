"""What a broker may hand over in another order than it came: messages of two subscriptions.

MQTT promises order for each topic. Mosquitto keeps it for all that a client receives; nats-server
has a queue for each subscription of a client, and one may be ahead of another.
"""

from collections.abc import Callable, Iterator
from typing import Final

from tests.support.brokers.mqtt_packets import (
    CONNECT,
    PUBLISH,
    SUBSCRIBE,
    filters_of,
    publish_of,
    whole_packet,
)

_OTHER: Final = "all that is not a message"


class Subscriptions:
    """Those of one client, as its connection goes by. What TLS hides stays as it is.

    Args:
        fits: whether a filter is for a topic: paho's, which is not to be imported before its patch.
    """

    def __init__(self, fits: Callable[[str, str], bool]) -> None:
        self._fits = fits
        self._filters: list[str] = []
        self._readable: bool | None = None
        self._came = {"up": b"", "down": b""}

    def up(self, came: bytes) -> Iterator[tuple[object, bytes]]:
        """The packets of a client, all of one kind: what it says stays in order."""
        if self._readable is None:
            self._readable = came[0] == CONNECT  # a handshake of TLS begins with 0x16
        for packet in self._packets("up", came):
            if packet[0] & 0xF0 == SUBSCRIBE and self._readable:
                self._filters += filters_of(packet)
            yield _OTHER, packet

    def down(self, came: bytes) -> Iterator[tuple[object, bytes]]:
        """The packets of a broker, each with the subscription it came by."""
        for packet in self._packets("down", came):
            is_message = packet[0] & 0xF0 == PUBLISH and self._readable
            yield self._subscription(packet) if is_message else _OTHER, packet

    def _packets(self, way: str, came: bytes) -> Iterator[bytes]:
        if not self._readable:
            yield came
            return
        rest = self._came[way] + came
        while length := whole_packet(rest):
            packet, rest = rest[:length], rest[length:]
            yield packet
        self._came[way] = rest

    def _subscription(self, packet: bytes) -> object:
        topic = publish_of(packet).topic[2:].decode()
        for number, wanted in enumerate(self._filters):
            if self._fits(wanted, topic):
                return number
        return _OTHER
