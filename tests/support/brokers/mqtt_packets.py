"""The packets of MQTT 3.1.1, as far as those in between must know them."""

import asyncio
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

CONNECT, PUBLISH, SUBSCRIBE = 0x10, 0x30, 0x80  # the first byte without its flags
ONE_BYTE: Final = 0x80  # a length goes on in the next byte where this bit is set


class Publish(NamedTuple):
    """A message.

    Args:
        topic: with its length before it.
        number: the packet's, two bytes; none at quality of service 0.
        payload: what it says.
    """

    topic: bytes
    number: bytes
    payload: bytes


def whole_packet(come: bytes) -> int:
    """The bytes of the first packet; 0 if it is not whole."""
    length = 0
    for place, byte in enumerate(come[1:5]):
        length |= (byte & 0x7F) << 7 * place
        if not byte & ONE_BYTE:
            whole = 2 + place + length
            return whole if len(come) >= whole else 0
    return 0


async def read_packet(source: asyncio.StreamReader) -> bytes:
    """One whole packet."""
    packet = await source.readexactly(2)
    while packet[-1] & ONE_BYTE:
        packet += await source.readexactly(1)
    length = sum((byte & 0x7F) << 7 * place for place, byte in enumerate(packet[1:]))
    return packet + await source.readexactly(length)


def publish_of(packet: bytes) -> Publish:
    """A PUBLISH packet's parts."""
    body = body_of(packet)
    end = 2 + struct.unpack_from("!H", body)[0]
    begin = end + (2 if packet[0] & 0b0110 else 0)
    return Publish(body[:end], body[end:begin], body[begin:])


def body_of(packet: bytes) -> bytes:
    """What follows a packet's length."""
    return packet[next(place for place in range(1, 5) if not packet[place] & ONE_BYTE) + 1 :]


def filters_of(subscribe: bytes) -> Iterator[str]:
    """The filters of a SUBSCRIBE packet."""
    rest = body_of(subscribe)[2:]
    while rest:
        end = 2 + struct.unpack_from("!H", rest)[0]
        yield rest[2:end].decode()
        rest = rest[end + 1 :]  # behind it stands the quality of service
