"""The shoes and the people of many tables, in one process, each table at its own moment.

Every table begins a coup as often as a live one does. The tables are spread evenly over that time,
because a casino has no common clock. A table that is late with a coup begins the next one at once,
and does not make up for the missed time.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Self

from msgspec import Struct

from events.mqtt.bus import BusSettings
from events.mqtt.topics import Topics
from simulators.device.pty_port import Pace, PtyPort
from simulators.people.dealer_and_patrons import Croupier, PlayedCoup
from simulators.shoe.dealing import DealingShoe
from simulators.shoe.player import ShoeSimulator

__all__ = ["Casino", "TableAddress"]

# A frame at a time, after a line of 4800 baud has carried its last bit, as an adapter delivers it.
_LINE: Final = Pace(seconds_per_byte=10 / 4800)
# At each table's first coup a shoe is loaded and burned.
_FIRST_SHOE: Final = "20261127-01"


class TableAddress(Struct, frozen=True, kw_only=True):
    """One table's addresses.

    Args:
        settings: the broker, and a login that may send requests as dealer, wagers and supervisor.
        topics: the table's.
        link: the path where its driver finds the shoe's port.
    """

    settings: BusSettings
    topics: Topics
    link: Path


class _Table:
    """One table's shoe and people."""

    def __init__(
        self, place: TableAddress, seed: int, speed: float, on_coup: Callable[[PlayedCoup], None]
    ) -> None:
        self.port = PtyPort(place.link, pace=_LINE)
        shoe = ShoeSimulator(self.port, DealingShoe(seed=seed), first_shoe=_FIRST_SHOE, speed=speed)
        self.shoe = shoe
        self.croupier = Croupier(
            place.settings, place.topics, shoe, seed=seed, speed=speed, on_coup=on_coup
        )


class Casino:
    """Many tables' shoes and people; as a context manager their shoes are plugged in.

    Args:
        places: the tables.
        seed: of cards and wagers; each table has its own from it.
        period_s: from the beginning of a coup to that of the next, seconds; 0 leaves no time.
        speed: of the people and the shoe, 1 is a live table's; 0 as fast as possible.
        on_coup: called with every coup that is over and the table's place; must not wait.

    Attributes:
        begun: how many tables have played a coup: their shoes are loaded.
    """

    def __init__(
        self,
        places: Sequence[TableAddress],
        *,
        seed: int,
        period_s: float,
        speed: float,
        on_coup: Callable[[TableAddress, PlayedCoup], None],
    ) -> None:
        self._period_s = period_s
        self.begun = 0
        self._on_coup = on_coup
        self._tables = [
            _Table(place, seed + number, speed, self._teller(place))
            for number, place in enumerate(places)
        ]

    def __enter__(self) -> Self:
        for table in self._tables:
            table.port.plug_in()
        return self

    def __exit__(self, *_: object) -> None:
        for table in self._tables:
            table.port.unplug()

    async def run(self) -> None:
        """Play at every table until cancelled.

        Raises:
            ExceptionGroup: a table refuses its dealer's work.
        """
        async with asyncio.TaskGroup() as group:
            for number, table in enumerate(self._tables):
                group.create_task(table.shoe.run())
                group.create_task(table.croupier.run())
                group.create_task(self._play(table, self._period_s * number / len(self._tables)))

    async def _play(self, table: _Table, after_s: float) -> None:
        loop, croupier = asyncio.get_running_loop(), table.croupier
        due = loop.time() + after_s
        while True:
            await asyncio.sleep(max(0.0, due - loop.time()))
            await croupier.play(croupier.tally.coups + 1)
            if croupier.tally.coups == 1:
                self.begun += 1
            due = max(due + self._period_s, loop.time())

    def _teller(self, place: TableAddress) -> Callable[[PlayedCoup], None]:
        return lambda coup: self._on_coup(place, coup)
