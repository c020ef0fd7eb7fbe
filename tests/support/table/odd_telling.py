"""How a card that left the shoe is told of when something is odd, and how it is put right."""

import random
from typing import Any

from events.cards import Card
from events.commands.base import Command
from events.commands.cards import CorrectCard, EnterCard, Realign
from events.commands.coup import VoidCoup
from events.types.shoe_reports import (
    AnyReport,
    CardDrawn,
    CardRevealed,
    CardUnreadable,
    ReportLost,
    ShoeBooted,
)
from simulators.device.printed_rules import PrintedPlace
from table_core.state.shoe import times_seen
from tests.support.table.coups import World, shoe_of

__all__ = ["OddTelling"]


class OddTelling:
    """Tells a table of cards, in a way: `open`, `squeeze`, `unread`, `misread`, `lost`...

    Args:
        world: the table.
        rng: chance.
    """

    def __init__(self, world: World, rng: random.Random) -> None:
        self.world = world
        self.rng = rng

    def tell(self, place: PrintedPlace, card: Card, way: str, *, odd: bool) -> None:
        """The card has left the shoe; it is the one of its coup with which something is `odd`."""
        hand, number = place.hand, place.number
        told: AnyReport = CardDrawn(hand=hand, number=number, face=card)
        if way == "squeeze":
            told = CardDrawn(hand=hand, number=number)
        elif odd and way == "unread":
            told = CardUnreadable(hand=hand, number=number)
        elif odd and way == "misread":
            told = CardDrawn(hand=hand, number=number, face=self._another(card))
        elif odd and way == "lost":
            told = ReportLost(expected="1", got="3")
        self.world.say(told)
        if odd and way == "misread":
            self.ask(CorrectCard(**self._at(place), face=card, reason="misread"))
        elif odd and way in {"void", "booted"}:
            if way == "booted":
                self.world.say(ShoeBooted())
            self.ask(VoidCoup(transaction=self.world.transaction(), reason=way))

    def tell_the_rest(self, way: str, dealt: list[tuple[PrintedPlace, Card]], odd: int) -> None:
        """All cards lie there: what was withheld, unread or lost is told of."""
        if way == "squeeze":
            for place, card in self.rng.sample(dealt, len(dealt)):
                told = CardRevealed(hand=place.hand, number=place.number, face=card)
                self.world.say(*[told] * self.rng.choice((1, 1, 2)))
        missing = {"unread": dealt[odd : odd + 1], "lost": dealt[odd:]}.get(way, [])
        for place, card in missing:
            self.ask(EnterCard(**self._at(place), face=card, reason="by eye"))
        if way == "lost":
            self.ask(Realign(transaction=self.world.transaction(), reason="looked"))

    def ask(self, command: Command) -> None:
        """A person asks, and is not refused."""
        self.world.must(command)

    def _another(self, card: Card) -> Card:
        """A face that the shoe may still hold."""
        shoe = shoe_of(self.world)
        return self.rng.choice(
            [face for face in Card if face is not card and times_seen(shoe, face) < shoe.decks]
        )

    def _at(self, place: PrintedPlace) -> dict[str, Any]:
        transaction = self.world.transaction()
        return {"transaction": transaction, "hand": place.hand, "number": place.number}
