"""A table of processes whose cage acknowledges, and then does so no more: what that costs."""

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import msgspec

from events.commands.consumers import Ack
from events.mqtt.bus import BusSettings, Message
from events.mqtt.topics import Topics
from events.types.envelope import decode_data
from events.types.table import CoupSettled
from simulators.people.console import Console
from simulators.people.dealer_and_patrons import PlayedCoup
from table_core.service.alarm_publisher import AlarmNotice
from tests.support.brokers.brokers import Broker
from tests.support.machine.processes import peak_kilobytes
from tests.support.machine.waiting import until
from tests.support.service.live_table import LiveTable
from tests.support.service.table_service import Published

__all__ = ["SilentCage", "play_beside_a_silent_cage"]

_ALARM = "settlement_unacknowledged"


@dataclass
class SilentCage:
    """What was measured, first beside a cage that acknowledges, then beside one that does not.

    Args:
        median_ms: from the deciding frame to the settlement on the bus, milliseconds.
        grown_kb: by how much the table's peak memory grew.
        rung: what was told of the alarm.
    """

    median_ms: list[float] = field(default_factory=list)
    grown_kb: list[int] = field(default_factory=list)
    rung: list[str] = field(default_factory=list)


class _Cage:
    """Hears the settlements, and acknowledges them while it speaks."""

    def __init__(self, settings: BusSettings, topics: Topics) -> None:
        self.speaks = True
        self.position = 0
        self.heard: dict[str, int] = {}
        self.rung: list[str] = []
        self._asked = 0
        self.console = Console(
            settings,
            topics,
            ("cage",),
            subscriptions={topics.settlement: self._settled, topics.alarm: self._alarmed},
        )
        self.owing = asyncio.Event()

    async def _settled(self, message: Message) -> None:
        said = msgspec.json.decode(message.payload, type=Published)
        event = decode_data(said)
        assert isinstance(event, CoupSettled)
        self.heard.setdefault(event.coup, time.monotonic_ns())
        self.position = said.position
        self.owing.set()

    async def _alarmed(self, message: Message) -> None:
        notice = msgspec.json.decode(message.payload, type=AlarmNotice)
        if notice.alarm == _ALARM:
            self.rung.append(notice.state)

    async def run(self) -> None:
        while True:
            await self.owing.wait()
            self.owing.clear()
            if self.speaks:
                self._asked += 1
                ack = Ack(transaction=f"a-{self._asked}", consumer="cage", position=self.position)
                await self.console.must("cage", ack)


async def play_beside_a_silent_cage(
    folder: Path, broker: Broker, *, coups: int, alarm: bool
) -> SilentCage:
    """Play so many coups beside each.

    Args:
        folder: an empty one.
        broker: a running one.
        coups: beside each of the two, after as many that are not measured.
        alarm: wait for the alarm, let the cage acknowledge, and wait until it is cleared.
    """
    live, found = LiveTable(folder, broker.port, seed=2), SilentCage()
    played = live.played
    cage = _Cage(live.config.bus_settings("cage"), live.config.topics)
    beside = cage.console.run(), cage.run()
    async with live.at_play("shoe", "table", beside=beside) as croupier:
        table = live.children["table"].pid
        await croupier.play(coups)
        for speaks in (True, False):
            cage.speaks = speaks
            begun, before = len(played), peak_kilobytes(table)
            await croupier.play(begun + coups)
            await until(lambda: played[-1].coup in cage.heard, "the settlement was not heard")
            found.grown_kb.append(peak_kilobytes(table) - before)
            found.median_ms.append(_median_ms(played[begun:], cage.heard))
        if alarm:
            await until(lambda: cage.rung, "the alarm", 90, every=0.1)  # a minute of patience
            cage.speaks = True
            cage.owing.set()
            await until(lambda: len(cage.rung) > 1, "it is not cleared")
        found.rung = cage.rung
    return found


def _median_ms(coups: list[PlayedCoup], heard: dict[str, int]) -> float:
    took = [
        (heard[each.coup] - each.dealt.decided_ns) / 1e6
        for each in coups
        if each.phase == "settled" and each.coup in heard
    ]
    return round(median(took), 3)
