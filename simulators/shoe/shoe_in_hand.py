"""What a dealer does with a shoe, on whatever line and in whatever time it is played."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable

from msgspec import Struct

from simulators.device.deck import Burn
from simulators.device.script import Call, Fallen
from simulators.shoe.dealing import Coup, DealingShoe, Happening, next_shoe_id

__all__ = ["NewShoe", "ShoeInHand", "nobody_comes"]


class NewShoe(Struct, frozen=True, kw_only=True):
    """A shoe was begun: its id, its burn, and how many reports the device made of it."""

    shoe: str
    burn: Burn
    reports: int


async def nobody_comes(_: Call) -> None:
    """The dealer calls, and deals on."""


class ShoeInHand(ABC):
    """A dealing shoe as its dealer has it; `next_shoe` is the id that the next shoe will have.

    Args:
        dealing: what the shoe does.
        first_shoe: id of the first shoe, `YYYYMMDD-NN`; the following ones count on.

    Attributes:
        lying: the cards of the coup in progress, as they lie on the table.
        excess_is_seen: a card too many of this coup is shown to the table.
    """

    def __init__(self, dealing: DealingShoe, first_shoe: str) -> None:
        self._dealing = dealing
        self.next_shoe = first_shoe
        self.lying: list[Fallen] = []
        self.excess_is_seen = False

    @property
    def over(self) -> bool:
        """A new shoe is needed before the next coup."""
        return self._dealing.over

    def can_have(self, fault: str) -> bool:
        """Whether this may go wrong with the next coup."""
        return self._dealing.can_have(fault)

    @property
    def cut_card_comes_first(self) -> bool:
        """The cut card will come in place of the next coup's first card."""
        return self._dealing.cut_card_comes_first

    @property
    def cut_card_is_out(self) -> bool:
        """The cut card has come."""
        return self._dealing.deck.cut_card_is_out

    def take_next_id(self) -> str:
        """The id of the shoe that comes now; the next one counts on."""
        shoe = self.next_shoe
        self.next_shoe = next_shoe_id(shoe)
        return shoe

    async def new_shoe(self) -> NewShoe:
        """Power up with a freshly shuffled shoe, expose its first card and burn."""
        shoe = self.take_next_id()
        steps, burn = self._dealing.new_shoe(shoe)
        await self._play(steps)
        # Noise is told too, as what was rejected.
        reports = len(steps) + sum(bool(step.noise) for step in steps)
        return NewShoe(shoe=shoe, burn=burn, reports=reports)

    async def stacked_errors(self) -> None:
        """Two errors come to stand, and one of them is cleared."""
        await self._play(self._dealing.stacked_errors())

    async def clear_errors(self) -> None:
        """The dealer clears at the device whatever stands."""
        await self._play(self._dealing.clear_errors())

    async def two_power_ups(self) -> None:
        """The device powers up twice in a row, between coups."""
        await self._play(self._dealing.two_power_ups())

    def _begin_coup(self, fault: str | None) -> tuple[Iterable[Happening], Coup]:
        """What the next coup is to be; nothing of it lies on the table yet."""
        happenings, coup = self._dealing.coup(fault, spare=self.next_shoe)
        self.lying = []
        self.excess_is_seen = coup.excess_seen
        return happenings, coup

    @abstractmethod
    async def _play(
        self,
        happenings: Iterable[Happening],
        call: Callable[[Call], Awaitable[None]] = nobody_comes,
    ) -> object:
        """Play what happens, a step at a time."""
