"""The shoe on its line: the steps of `simulators.dealing`, written out at a chosen speed."""

import asyncio
from collections.abc import Iterable

from msgspec import Struct

from events.cards import Card
from simulators.dealer import Outcome
from simulators.dealing import DealingShoe, Step, next_shoe_id
from simulators.deck import Burn
from simulators.pty_port import PtyPort

__all__ = ["DealtCoup", "NewShoe", "ShoeSimulator"]


class NewShoe(Struct, frozen=True, kw_only=True):
    """A shoe was begun: its id, its burn, and how many reports the device made of it."""

    shoe: str
    burn: Burn
    reports: int


class DealtCoup(Struct, frozen=True, kw_only=True):
    """A coup that lies on the table, and when the device had said so.

    Args:
        shoe: the shoe's id.
        number: 1, 2, 3... within the shoe, as the dealer counts.
        cards: in dealing order.
        outcome: as the dealer calls it.
        last: the shoe is over after it.
        decided_ns: `time.monotonic_ns()` as the last byte of the deciding report's first copy
            was handed to the line; the settlement's latency counts from here.
    """

    shoe: str
    number: int
    cards: tuple[Card, ...]
    outcome: Outcome
    last: bool
    decided_ns: int


class ShoeSimulator:
    """A dealing shoe and its port. `next_shoe` is the id that the next shoe will have.

    Args:
        port: where the bytes go.
        dealing: what the shoe does.
        first_shoe: id of the first shoe, `YYYYMMDD-NN`; the following ones count on. With the
            seed it fixes the cards.
        speed: 1 is a live table's pace, 2 twice as fast, 0 as fast as the line takes it.
    """

    def __init__(
        self, port: PtyPort, dealing: DealingShoe, *, first_shoe: str, speed: float = 1.0
    ) -> None:
        self.port = port
        self._dealing = dealing
        self.next_shoe = first_shoe
        self._speed = speed

    @property
    def over(self) -> bool:
        """A new shoe is needed before the next coup."""
        return self._dealing.over

    @property
    def cut_card_is_next(self) -> bool:
        """The cut card will come in place of the next coup's first card."""
        return self._dealing.deck.cut_card_is_next

    @property
    def cut_card_is_out(self) -> bool:
        """The cut card has come."""
        return self._dealing.deck.cut_card_is_out

    async def new_shoe(self) -> NewShoe:
        """Power up with a freshly shuffled shoe, expose its first card and burn."""
        shoe = self.next_shoe
        self.next_shoe = next_shoe_id(shoe)
        steps, burn = self._dealing.new_shoe(shoe)
        await self._play(steps)
        return NewShoe(shoe=shoe, burn=burn, reports=len(steps))

    async def deal_coup(self) -> DealtCoup:
        """Deal one coup to its result.

        Raises:
            OurBug: the shoe is over.
        """
        steps, coup = self._dealing.coup()
        decided_ns = await self._play(steps)
        return DealtCoup(
            shoe=coup.shoe,
            number=coup.number,
            cards=coup.cards,
            outcome=coup.outcome,
            last=coup.last,
            decided_ns=decided_ns,
        )

    async def _play(self, steps: Iterable[Step]) -> int:
        decided_ns = 0
        for step in steps:
            if self._speed and step.pause:
                await asyncio.sleep(step.pause / self._speed)
            if step.noise:
                await self.port.write(step.noise)
            for index, copy in enumerate(step.copies):
                handed_over = await self.port.write(copy)
                if step.deciding and index == 0:
                    decided_ns = handed_over
        return decided_ns
