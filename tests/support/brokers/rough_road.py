"""A road to the broker on which messages are lost, come twice or late, and lines are cut.

It is a TCP proxy that reads MQTT 3.1.1 packet by packet. Both ends see a sound connection: what is
lost was acknowledged to its sender, as a broker or a client does that dies with it. A second copy
goes out with quality of service 0, so that no acknowledgement of it confuses anybody.
"""

import asyncio
import random
import struct
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from baccarat.local_brokers.nats import LOOPBACK
from tests.support.brokers.listeners import stop_listening

__all__ = ["RoughRoad", "rough_road"]

_PUBLISH: Final = 3
_ONCE: Final = 0b0010  # quality of service 1, in the flags of a PUBLISH
_SERVICE: Final = 0b0110
_RETAIN: Final = 0b0001
# A line with few messages on it needs more bad luck than one with many.
_LOST: Final = {"down": 0.005, "up": 0.08}
_TWICE, _LATE = 0.08, 0.08
_LATE_MOST: Final = 40  # packets that overtake a late one
# When nothing more comes to overtake it, a late packet goes on after so many seconds.
_QUIET_S: Final = 0.05


class RoughRoad:
    """See the module.

    Args:
        rng: of what goes wrong.
        broker: its port.
    """

    def __init__(self, rng: random.Random, broker: int) -> None:
        self.port = 0
        self.smooth = False
        self.counts: Counter[str] = Counter()
        self._rng, self._broker = rng, broker
        self._lines: set[asyncio.Task[None]] = set()

    def cut(self) -> None:
        """Cut every line that stands."""
        self.counts["cut"] += len(self._lines)
        for line in tuple(self._lines):
            line.cancel()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client's line, until either end hangs up."""
        line = asyncio.current_task()
        assert line is not None
        self._lines.add(line)
        onward: asyncio.StreamWriter | None = None
        try:
            back, onward = await asyncio.open_connection(LOOPBACK, self._broker)
            async with asyncio.TaskGroup() as both:
                both.create_task(self._one_way("up", reader, onward, writer))
                both.create_task(self._one_way("down", back, writer, onward))
        except (ExceptionGroup, OSError, asyncio.CancelledError):
            pass  # an end has hung up, the broker is away, or the line was cut
        finally:
            self._lines.discard(line)
            for end in (writer, onward):
                if end is not None:
                    end.transport.abort()

    async def _one_way(
        self,
        way: str,
        source: asyncio.StreamReader,
        target: asyncio.StreamWriter,
        sender: asyncio.StreamWriter,
    ) -> None:
        late: list[tuple[int, bytes]] = []
        passed = 0
        reading = asyncio.ensure_future(_packet(source))
        try:
            while True:
                done, _ = await asyncio.wait({reading}, timeout=_QUIET_S if late else None)
                due = [each for each in late if not done or each[0] <= passed]
                late = [each for each in late if each not in due]
                for _, packet in due:
                    target.write(packet)
                if done:
                    passed += 1
                    packet = reading.result()
                    reading = asyncio.ensure_future(_packet(source))
                    for after, copy in self._what_becomes_of(way, packet, sender):
                        if after:
                            late.append((passed + after, copy))
                        else:
                            target.write(copy)
                await target.drain()
        finally:
            reading.cancel()

    def _what_becomes_of(
        self, way: str, packet: bytes, sender: asyncio.StreamWriter
    ) -> list[tuple[int, bytes]]:
        """The packets that go on instead, each with how many others go before it."""
        if self.smooth or packet[0] >> 4 != _PUBLISH or packet[0] & _SERVICE != _ONCE:
            return [(0, packet)]
        chance, lost = self._rng.random(), _LOST[way]
        after = self._rng.randint(1, _LATE_MOST)
        if chance < lost:
            self.counts[f"{way}: lost"] += 1
            sender.write(b"\x40\x02" + _parts(packet)[1])
            return []
        if chance < lost + _TWICE:
            self.counts[f"{way}: twice"] += 1
            return [(0, packet), (self._rng.choice((0, after)), _copy(packet))]
        if chance < lost + _TWICE + _LATE:
            self.counts[f"{way}: late"] += 1
            return [(after, packet)]
        return [(0, packet)]


async def _packet(source: asyncio.StreamReader) -> bytes:
    """One whole MQTT packet."""
    head = await source.readexactly(2)
    while head[-1] & 0x80:
        head += await source.readexactly(1)
    length = sum((byte & 0x7F) << 7 * place for place, byte in enumerate(head[1:]))
    return head + await source.readexactly(length)


def _parts(publish: bytes) -> tuple[bytes, bytes, bytes]:
    """Topic with its length, packet id, payload."""
    begin = next(place for place in range(1, 5) if not publish[place] & 0x80) + 1
    (length,) = struct.unpack_from("!H", publish, begin)
    end = begin + 2 + length
    return publish[begin:end], publish[end : end + 2], publish[end + 2 :]


def _copy(publish: bytes) -> bytes:
    """The same with quality of service 0."""
    topic, _, payload = _parts(publish)
    size, length = len(topic) + len(payload), b""
    while True:
        size, low = divmod(size, 0x80)
        length += bytes([low | (0x80 if size else 0)])
        if not size:
            break
    return bytes([_PUBLISH << 4 | publish[0] & _RETAIN]) + length + topic + payload


@asynccontextmanager
async def rough_road(rng: random.Random, broker: int) -> AsyncIterator[RoughRoad]:
    """A road that stands when the block begins."""
    road = RoughRoad(rng, broker)
    server = await asyncio.start_server(road.carry, LOOPBACK, 0)
    road.port = server.sockets[0].getsockname()[1]
    try:
        yield road
    finally:
        await stop_listening(server)
        lines = tuple(road._lines)
        road.cut()
        if lines:
            await asyncio.wait(lines)
        with suppress(TimeoutError):
            async with asyncio.timeout(1):
                await server.wait_closed()
