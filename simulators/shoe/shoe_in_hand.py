"""A dealer's work with a shoe, on any line and in real or simulated time."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable

from msgspec import Struct

from simulators.device.deck import BurnedCards
from simulators.device.script import DealerCall, FallenCard
from simulators.shoe.dealing import DealingShoe, Happening, PhysicalCoup, next_shoe_id

__all__ = ["NewShoe", "ShoeInHand", "no_answer"]


class NewShoe(Struct, frozen=True, kw_only=True):
    """A new shoe: its id, its burn, and the number of reports that the device made of it."""

    shoe: str
    burn: BurnedCards
    reports: int


async def no_answer(_: DealerCall) -> None:
    """Answer a dealer's call with nobody: the dealer deals on."""


class ShoeInHand(ABC):
    """A dealing shoe as its dealer has it; `next_shoe` is the id that the next shoe will have.

    Args:
        dealing: decides what the shoe does.
        first_shoe: id of the first shoe, `YYYYMMDD-NN`; the following ones count on.

    Attributes:
        lying: the cards of the coup in progress, as they lie on the table.
        excess_is_seen: a card too many of this coup is shown to the table.
    """

    def __init__(self, dealing: DealingShoe, first_shoe: str) -> None:
        self._dealing = dealing
        self.next_shoe = first_shoe
        self.lying: list[FallenCard] = []
        self.excess_is_seen = False

    @property
    def over(self) -> bool:
        """Whether the next coup needs a new shoe."""
        return self._dealing.over

    def can_have(self, fault: str) -> bool:
        """Return whether the next coup can have this fault."""
        return self._dealing.can_have(fault)

    @property
    def cut_card_comes_first(self) -> bool:
        """Whether the cut card will come in place of the next coup's first card."""
        return self._dealing.cut_card_comes_first

    @property
    def cut_card_is_out(self) -> bool:
        """Whether the cut card has come."""
        return self._dealing.deck.cut_card_is_out

    def take_next_id(self) -> str:
        """Return the id of the shoe that comes now, and count on for the next one."""
        shoe = self.next_shoe
        self.next_shoe = next_shoe_id(shoe)
        return shoe

    async def new_shoe(self) -> NewShoe:
        """Power up with a freshly shuffled shoe, expose its first card and burn."""
        shoe = self.take_next_id()
        steps, burn = self._dealing.new_shoe(shoe)
        await self._play(steps)
        # Noise is reported too, as a rejected frame.
        reports = len(steps) + sum(bool(step.noise) for step in steps)
        return NewShoe(shoe=shoe, burn=burn, reports=reports)

    async def stacked_errors(self) -> None:
        """Raise two errors, and clear one of them."""
        await self._play(self._dealing.stacked_errors())

    async def clear_errors(self) -> None:
        """Clear all active errors at the device, as the dealer does."""
        await self._play(self._dealing.clear_errors())

    async def two_power_ups(self) -> None:
        """Power the device up twice in a row, between coups."""
        await self._play(self._dealing.two_power_ups())

    def _begin_coup(self, fault: str | None) -> tuple[Iterable[Happening], PhysicalCoup]:
        """Return the next coup; none of its cards has fallen yet."""
        happenings, coup = self._dealing.coup(fault, spare=self.next_shoe)
        self.lying = []
        self.excess_is_seen = coup.excess_seen
        return happenings, coup

    @abstractmethod
    async def _play(
        self,
        happenings: Iterable[Happening],
        call: Callable[[DealerCall], Awaitable[None]] = no_answer,
    ) -> object:
        """Play the happenings, a step at a time."""
