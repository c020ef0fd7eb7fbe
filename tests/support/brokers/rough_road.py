"""A road to the broker on which messages are lost, come twice or late, and lines are cut.

It is a relay that reads MQTT 3.1.1 packet by packet. Both ends see a sound connection: what is
lost was acknowledged to its sender, as a broker or a client does that dies with it. A second copy
goes out with quality of service 0, so that no acknowledgement of it confuses anybody.
"""

import asyncio
import random
from collections import Counter
from typing import Final

from tests.support.brokers.mqtt_packets import ONE_BYTE, PUBLISH, publish_of, read_packet
from tests.support.brokers.relay import Relay

_ONCE: Final = 0b0010  # quality of service 1, in the flags of a PUBLISH
_SERVICE: Final = 0b0110
_RETAIN: Final = 0b0001
# A line with few messages on it needs more bad luck than one with many.
_LOST: Final = {"down": 0.005, "up": 0.08}
_TWICE, _LATE = 0.08, 0.08
_LATE_MOST: Final = 40  # packets that overtake a late one
# When nothing more comes to overtake it, a late packet goes on after so many seconds.
_QUIET_S: Final = 0.05


class RoughRoad(Relay):
    """See the module.

    Args:
        rng: of what goes wrong.
        broker: its port.
    """

    def __init__(self, rng: random.Random, broker: int) -> None:
        super().__init__(broker)
        self.smooth = False
        self.counts: Counter[str] = Counter()
        self._rng = rng

    def cut(self) -> None:
        self.counts["cut"] += len(self._lines)
        super().cut()

    async def one_way(
        self,
        way: str,
        source: asyncio.StreamReader,
        target: asyncio.StreamWriter,
        sender: asyncio.StreamWriter,
    ) -> None:
        late: list[tuple[int, bytes]] = []
        passed = 0
        reading = asyncio.ensure_future(read_packet(source))
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
                    reading = asyncio.ensure_future(read_packet(source))
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
        if self.smooth or packet[0] & 0xF0 != PUBLISH or packet[0] & _SERVICE != _ONCE:
            return [(0, packet)]
        chance, lost = self._rng.random(), _LOST[way]
        after = self._rng.randint(1, _LATE_MOST)
        if chance < lost:
            self.counts[f"{way}: lost"] += 1
            sender.write(b"\x40\x02" + publish_of(packet).number)
            return []
        if chance < lost + _TWICE:
            self.counts[f"{way}: twice"] += 1
            return [(0, packet), (self._rng.choice((0, after)), _copy(packet))]
        if chance < lost + _TWICE + _LATE:
            self.counts[f"{way}: late"] += 1
            return [(after, packet)]
        return [(0, packet)]


def _copy(packet: bytes) -> bytes:
    """The same message with quality of service 0."""
    topic, _, payload = publish_of(packet)
    size, length = len(topic) + len(payload), b""
    while size or not length:
        size, low = divmod(size, ONE_BYTE)
        length += bytes([low | (ONE_BYTE if size else 0)])
    return bytes([PUBLISH | packet[0] & _RETAIN]) + length + topic + payload
