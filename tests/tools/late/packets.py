"""What a broker may hand over in another order than it came: messages of two subscriptions.

MQTT promises order for each topic. Mosquitto keeps it for all that a client receives; nats-server
has a queue for each subscription of a client, and one may be ahead of another.
"""

import struct
from collections.abc import Callable, Iterator
from typing import Final

_CONNECT: Final = 0x10  # and a handshake of TLS begins with 0x16
_PUBLISH: Final = 3
_SUBSCRIBE: Final = 8
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
            self._readable = came[0] == _CONNECT
        for packet in self._packets("up", came):
            if packet[0] >> 4 == _SUBSCRIBE and self._readable:
                self._filters += _filters(packet)
            yield _OTHER, packet

    def down(self, came: bytes) -> Iterator[tuple[object, bytes]]:
        """The packets of a broker, each with the subscription it came by."""
        for packet in self._packets("down", came):
            is_message = packet[0] >> 4 == _PUBLISH and self._readable
            yield self._subscription(packet) if is_message else _OTHER, packet

    def _packets(self, way: str, came: bytes) -> Iterator[bytes]:
        if not self._readable:
            yield came
            return
        rest = self._came[way] + came
        while length := _length(rest):
            packet, rest = rest[:length], rest[length:]
            yield packet
        self._came[way] = rest

    def _subscription(self, packet: bytes) -> object:
        topic = _text(packet, _begin(packet))[0]
        for number, wanted in enumerate(self._filters):
            if self._fits(wanted, topic):
                return number
        return _OTHER


def _begin(packet: bytes) -> int:
    """Where a packet's head ends."""
    return next(place for place in range(1, 5) if not packet[place] & 0x80) + 1


def _length(come: bytes) -> int:
    """Bytes of the first packet; 0 if it is not whole."""
    length = 0
    for place, byte in enumerate(come[1:5]):
        length |= (byte & 0x7F) << 7 * place
        if not byte & 0x80:
            whole = 2 + place + length
            return whole if len(come) >= whole else 0
    return 0


def _text(packet: bytes, begin: int) -> tuple[str, int]:
    """A text with its length before it, and where it ends."""
    (length,) = struct.unpack_from("!H", packet, begin)
    end = begin + 2 + length
    return packet[begin + 2 : end].decode(), end


def _filters(subscribe: bytes) -> Iterator[str]:
    place = _begin(subscribe) + 2
    while place < len(subscribe):
        wanted, place = _text(subscribe, place)
        place += 1  # the quality of service
        yield wanted
