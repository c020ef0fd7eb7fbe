"""What a shoe does, coup after coup, as steps: pure, so that one seed gives the same bytes always.

A step is a report of the device and the pause before it. Card order, missing standby reports and
noise at power-up all follow from the seed and the shoe's id, never from time or from the reader.
"""

import random
from datetime import date, timedelta
from typing import Final

from msgspec import Struct

from events.cards import Card
from events.errors import InputError, OurBug
from simulators.dealer import Outcome, next_place, outcome
from simulators.deck import CUT_CARD_FROM_END, Burn, Deck, shuffled
from simulators.enq_bcc import COPIES, POWER_UP_NOISE, Copies, Disclosure, EnqBccDevice

__all__ = ["Coup", "DealingShoe", "Step", "next_shoe_id", "shoe_number"]

# Seconds at speed 1, as a calm dealer at a live table takes them.
_FIRST_CARD_S: Final = 4.0
_BURN_S: Final = 1.0
_CARD_S: Final = 2.0
_DISCLOSE_S: Final = 0.5
_RESULT_S: Final = 1.0
_STANDBY_S: Final = 1.0

_NOISE_CHANCE: Final = 0.5
_STANDBY_CHANCE: Final = 0.8  # "not always sent"
_LAST_OF_A_DAY: Final = 99


class Step(Struct, frozen=True, kw_only=True):
    """One thing the device says.

    Args:
        pause: seconds before it, at speed 1.
        copies: the report's frames.
        noise: bytes on the line before them that are no frame.
        deciding: this report lets the coup be settled.
    """

    pause: float
    copies: Copies
    noise: bytes = b""
    deciding: bool = False


class Coup(Struct, frozen=True, kw_only=True):
    """What physically happened in one coup.

    Args:
        shoe: the shoe's id.
        number: 1, 2, 3... within the shoe, as the dealer counts.
        cards: in dealing order.
        outcome: as the dealer calls it.
        last: the shoe is over after it.
    """

    shoe: str
    number: int
    cards: tuple[Card, ...]
    outcome: Outcome
    last: bool


def next_shoe_id(shoe: str) -> str:
    """The id after `shoe` (`YYYYMMDD-NN`); after the 99th of a day comes the first of the next.

    Raises:
        InputError: not a shoe id.
    """
    day, dash, number = shoe.partition("-")
    try:
        today, ordinal = date.fromisoformat(day), int(number)
    except ValueError as error:
        raise InputError(f"{shoe!r} is not a shoe id; write YYYYMMDD-NN") from error
    if not dash or len(day) != len("YYYYMMDD") or not 1 <= ordinal <= _LAST_OF_A_DAY:
        raise InputError(f"{shoe!r} is not a shoe id; write YYYYMMDD-NN")
    if ordinal == _LAST_OF_A_DAY:
        return f"{today + timedelta(days=1):%Y%m%d}-01"
    return f"{day}-{ordinal + 1:02d}"


def shoe_number(shoe: str) -> str:
    """The number within its day of a shoe's id: a seed gives the same game on every day."""
    return shoe.partition("-")[2]


class DealingShoe:
    """A device with a deck in it, and a dealer who deals by the printed rules.

    Args:
        seed: with a shoe's number in its day it fixes that shoe's cards and the device's whims.
        decks: 4, 6 or 8.
        disclosure: whether a card's face is sent as it is drawn, or all just before the result.
        copies: equal frames a report.
        cut_card: so many cards lie behind the cut card; a large number makes short shoes.
    """

    def __init__(
        self,
        *,
        seed: int,
        decks: int = 8,
        disclosure: Disclosure = "immediate",
        copies: int = COPIES,
        cut_card: int = CUT_CARD_FROM_END,
    ) -> None:
        self._seed = seed
        self._decks = decks
        self._cut_card = cut_card
        self._device = EnqBccDevice(copies=copies, disclosure=disclosure)
        self._whims = random.Random(seed)
        self._deck: Deck | None = None
        self._shoe = ""
        self._coups = 0
        self._over = True

    @property
    def deck(self) -> Deck:
        """The cards in the shoe.

        Raises:
            OurBug: no shoe was begun.
        """
        if self._deck is None:
            raise OurBug("a coup was asked of a shoe that was never begun")
        return self._deck

    @property
    def over(self) -> bool:
        """The last coup was dealt, or no shoe was begun."""
        return self._over

    def new_shoe(self, shoe: str) -> tuple[list[Step], Burn]:
        """Begin a shoe: power-up, the exposed first card, the burn with its countdown."""
        number = shoe_number(shoe)
        self._deck = Deck(shuffled(f"{self._seed}/{number}", self._decks), cut_card=self._cut_card)
        self._whims = random.Random(f"{self._seed}/{number}/whims")
        self._shoe, self._coups, self._over = shoe, 0, False
        noise = POWER_UP_NOISE if self._whims.random() < _NOISE_CHANCE else b""
        burn = self._deck.burn()
        device = self._device
        steps = [
            Step(pause=0.0, copies=device.power_up(), noise=noise),
            Step(pause=_FIRST_CARD_S, copies=device.first_card(burn.first)),
        ]
        for index, card in enumerate(burn.burned, start=1):
            copies = device.burn_card(card, len(burn.burned) - index)
            steps.append(Step(pause=_BURN_S, copies=copies))
        return steps, burn

    def coup(self) -> tuple[list[Step], Coup]:
        """Deal the next coup.

        Raises:
            OurBug: the shoe is over, or none was begun.
        """
        if self._over:
            raise OurBug("a coup was asked of a shoe that is over")
        # The cut card came during the coup before (this is the "one more"), or comes now in place
        # of the first card: this coup is the last either way (house rule 16).
        last = self.deck.cut_card_is_out
        cards, steps = self._deal()
        called = outcome(cards)
        steps += [Step(pause=_DISCLOSE_S, copies=each) for each in self._device.disclose()]
        result = self._device.result(called)
        steps.append(Step(pause=_RESULT_S, copies=result, deciding=True))
        if self._whims.random() < _STANDBY_CHANCE:
            steps.append(Step(pause=_STANDBY_S, copies=self._device.standby()))
        self._coups += 1
        self._over = last
        return steps, Coup(
            shoe=self._shoe, number=self._coups, cards=tuple(cards), outcome=called, last=last
        )

    def _deal(self) -> tuple[list[Card], list[Step]]:
        cards: list[Card] = []
        steps: list[Step] = []
        while (place := next_place(cards)) is not None:
            card = self.deck.draw()
            cards.append(card)
            steps.append(Step(pause=_CARD_S, copies=self._device.card_drawn(place, card)))
        return cards, steps
