"""A coup in the making: what falls, what the device says of it and when, in order.

A script is written for an undisturbed coup first; a fault (`simulators.mishaps`) then bends it.
Only what is played of it reaches the device, whose numbering goes with it.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from events.cards import Card, Hand
from events.errors import OurBug
from simulators.dealer import Outcome, Place, called
from simulators.enq_bcc import Copies, EnqBccDevice

__all__ = ["Act", "Call", "Fallen", "Plug", "Say", "Script", "hands_of"]

# Seconds at speed 1, as a calm dealer at a live table takes them.
_CARD_S: Final = 2.0
_DISCLOSE_S: Final = 0.5
_RESULT_S: Final = 1.0
_STANDBY_S: Final = 1.0


class Fallen(Struct, frozen=True):
    """A card that lies on the table."""

    place: Place
    card: Card


class Plug(Enum):
    """What is done to the shoe's cable."""

    OUT = "out"
    IN = "in"


class Call(Enum):
    """The dealer stops and calls for somebody."""

    LOOK = "look"
    """The supervisor compares the screen with the cards, and puts it right."""
    VOID = "void"
    """The coup cannot go on: the supervisor voids it."""
    CUT_CARD = "cut_card"
    """The cut card lies in the dealer's hand: the button."""
    REPLACE = "replace"
    """Another shoe; the coup is void."""
    CONTINUE = "continue"
    """Another shoe; the coup goes on from it."""


def _arrives(copies: Copies) -> Copies:
    return copies


class Say(Struct, frozen=True, kw_only=True):
    """The device says something.

    Args:
        kind: the report's letter on the wire.
        report: makes it.
        pause: seconds before it, at speed 1.
        card: which of the coup's cards it is about, from 0.
        falls: the card that comes to lie on the table as it is said.
        wire: what the line makes of the copies.
        noise: bytes on the line before them that are no frame.
        deciding: it lets the coup be settled.
    """

    kind: str
    report: Callable[[EnqBccDevice], Copies]
    pause: float = 0.0
    card: int | None = None
    falls: Fallen | None = None
    wire: Callable[[Copies], Copies] = _arrives
    noise: bytes = b""
    deciding: bool = False


Act: TypeAlias = Say | Plug | Call


class Script:
    """One coup's acts. It is mutable, and never leaves the deal that made it.

    Args:
        cards: what falls, in dealing order.
        outcome: as the dealer calls it; None where the coup is broken off after these cards.
        deferred: the device keeps the faces back until the end.
        carried: the first card is the overdrawn one of the coup before.
        standby: the device says that it waits, when it is over.
        spent: faces of which no copy is left in the shoe.
        draw: takes one card more out of the shoe.

    Attributes:
        acts: in order.
        excess: a card that was drawn when none was due.
        carries: it is the next coup's first card.
        excess_seen: its face is shown to the table.
        cut_after: so many cards before the cut card came; None where it did not.
        switched_after: so many cards before another shoe took over; None where none did.
        result_comes: the device will say how the coup came out.
        errors: the device's errors that stand when it is over.
    """

    def __init__(
        self,
        cards: Sequence[Fallen],
        outcome: Outcome | None,
        *,
        deferred: bool,
        carried: bool,
        standby: bool,
        spent: Sequence[Card] = (),
        draw: Callable[[], Card],
    ) -> None:
        self.cards = tuple(cards)
        self.outcome = outcome
        self.deferred = deferred
        self.spent = tuple(spent)
        self.excess: Card | None = None
        self.carries = False
        self.excess_seen = False
        self.cut_after: int | None = None
        self.switched_after: int | None = None
        self.result_comes = outcome is not None
        self.errors: tuple[str, ...] = ()
        self.acts: list[Act] = [
            self.drawn(number, kind="R" if carried and number == 0 else "D")
            for number in range(len(cards))
        ]
        self._draw = draw
        if outcome is None:
            return
        if deferred:
            self.acts += [self.revealed(number) for number in range(len(cards))]
        self.acts.append(self.result(outcome))
        if standby:
            self.acts.append(Say(kind="P", report=EnqBccDevice.standby, pause=_STANDBY_S))

    @property
    def immediate(self) -> bool:
        """Whether the faces lie open as they fall."""
        return not self.deferred

    def drawn(
        self, number: int, *, kind: str = "D", place: Place | None = None, card: Card | None = None
    ) -> Say:
        """A card falls and is told of, perhaps at another place or with another face."""
        fallen = self.cards[number]
        method = EnqBccDevice.carried_over if kind == "R" else EnqBccDevice.card_drawn
        report = partial(method, place=place or fallen.place, card=card or fallen.card)
        return Say(kind=kind, report=report, pause=_CARD_S, card=number, falls=fallen)

    def revealed(self, number: int, card: Card | None = None) -> Say:
        """A withheld face is told, or another in its place."""
        fallen = self.cards[number]
        report = partial(EnqBccDevice.revealed, place=fallen.place, card=card or fallen.card)
        return Say(kind="I", report=report, pause=_DISCLOSE_S, card=number)

    def result(self, outcome: Outcome) -> Say:
        """The device says how the coup came out."""
        report = partial(EnqBccDevice.result, result=outcome)
        return Say(kind="G", report=report, pause=_RESULT_S, deciding=True)

    def find(self, kinds: str, card: int | None = None) -> int:
        """Where in the acts a report of one of these kinds is, about this card if one is named.

        Raises:
            OurBug: there is none.
        """
        for index, act in enumerate(self.acts):
            if isinstance(act, Say) and act.kind in kinds and card in (None, act.card):
                return index
        raise OurBug(f"no report {kinds} of card {card} in this coup")

    def has(self, kind: str) -> bool:
        """Whether there is a report of this kind."""
        return any(isinstance(act, Say) and act.kind == kind for act in self.acts)

    def change(self, index: int, **changes: Any) -> None:
        """Alter the report at `index`."""
        self.acts[index] = replace(self.says(index), **changes)

    def says(self, index: int) -> Say:
        """The report at `index`.

        Raises:
            OurBug: it is none.
        """
        act = self.acts[index]
        if not isinstance(act, Say):
            raise OurBug(f"act {index} is no report")
        return act

    def insert(self, index: int, *acts: Act) -> None:
        """Put acts before the one at `index`."""
        self.acts[index:index] = acts

    def remove(self, kinds: str) -> None:
        """Take out every report of these kinds."""
        self.acts = [a for a in self.acts if not (isinstance(a, Say) and a.kind in kinds)]

    def after_the_cards(self) -> int:
        """The index behind the last card."""
        return self.find("RD", len(self.cards) - 1) + 1

    def overdraw(self) -> Card:
        """A card more leaves the shoe, for no hand."""
        self.excess = self._draw()
        return self.excess


def hands_of(cards: Sequence[Fallen]) -> Outcome:
    """What the cards come to as they lie."""
    hands = {hand: tuple(f.card for f in cards if f.place.hand is hand) for hand in Hand}
    return called(hands[Hand.PLAYER], hands[Hand.BANKER])
