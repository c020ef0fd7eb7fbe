"""A coup in the making: what falls, what the device says of it and when, in order.

A script is written for an undisturbed coup first; a fault (`simulators.faults.catalogue`) then
bends it. Only what is played of it reaches the device, whose numbering goes with it.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from events.cards import Card, Hand
from events.errors import OurBug
from simulators.device.printed_rules import Outcome, Place, called
from simulators.device.reports import Copies, Device
from simulators.device.wire import GOOD, Wire

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
    IN_ELSEWHERE = "in_elsewhere"
    """It comes back under another name."""
    IN_BUSY = "in_busy"
    """Another program has the port before the driver, for a moment."""
    IN_STALE = "in_stale"
    """What was said meanwhile was kept somewhere, and comes now."""
    STALL = "stall"
    """Nothing gets through; it waits on the way."""
    SILENCE = "silence"
    """Nothing is said for longer than a driver takes for life."""
    FLOW = "flow"
    """What waited comes in one burst, and the line is good again."""
    THIEF = "thief"
    """A second reader takes bytes away, without asking for the port."""
    NO_THIEF = "no_thief"
    """It is gone."""


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
    RESTART = "restart"
    """The driver's process is killed, and started again."""


class Say(Struct, frozen=True, kw_only=True):
    """The device says something.

    Args:
        kind: the report's letter, as profile `enq-bcc` has it.
        report: makes it.
        pause: seconds before it, at speed 1.
        card: which of the coup's cards it is about, from 0.
        falls: the card that comes to lie on the table as it is said.
        wire: what the line makes of its sendings.
        noise: bytes on the line before them that are no frame.
        deciding: it lets the coup be settled.
        contradicts: which sending names another card, and which.
        byte_wise: it arrives a byte at a time.
        broken: the driver is restarted when so many bytes have come; 0 where it is not.
        late_s: seconds that the line holds back all sendings but the first.
    """

    kind: str
    report: Callable[[Device], Copies]
    pause: float = 0.0
    card: int | None = None
    falls: Fallen | None = None
    wire: Wire = GOOD
    noise: bytes = b""
    deciding: bool = False
    contradicts: tuple[int, Card] | None = None
    byte_wise: bool = False
    broken: int = 0
    late_s: float = 0.0


Act: TypeAlias = Say | Plug | Call


class Script:
    """One coup's acts. It is mutable, and never leaves the deal that made it.

    Args:
        cards: what falls, in dealing order.
        outcome: as the dealer calls it; None where the coup is broken off after these cards.
        device: what it can say.
        carried: the first card is the overdrawn one of the coup before.
        standby: the device says that it waits, when it is over.
        spent: faces of which no copy is left in the shoe.
        draw: takes one card more out of the shoe.

    Attributes:
        acts: in order.
        deferred: the device keeps the faces back until the end.
        gives_result: the device tells how a coup came out; else its last card decides.
        tells_places: the device tells where a card lies.
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
        device: Device,
        carried: bool,
        standby: bool,
        spent: Sequence[Card] = (),
        draw: Callable[[], Card],
    ) -> None:
        self.cards = tuple(cards)
        self.outcome = outcome
        self.deferred = device.disclosure == "deferred"
        self.gives_result = device.gives_result
        self.tells_places = device.tells_places
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
        if not self.gives_result:
            self.change(len(cards) - 1, deciding=True)
        if self.deferred:
            self.acts += [self.revealed(number) for number in range(len(cards))]
        self.acts.append(self.result(outcome))
        if standby:
            self.acts.append(
                Say(kind="P", report=lambda device: device.standby(), pause=_STANDBY_S)
            )

    @property
    def immediate(self) -> bool:
        """Whether the faces lie open as they fall."""
        return not self.deferred

    def drawn(
        self, number: int, *, kind: str = "D", place: Place | None = None, card: Card | None = None
    ) -> Say:
        """A card falls and is told of, perhaps at another place or with another face."""
        fallen = self.cards[number]
        where, face = place or fallen.place, card or fallen.card

        def report(device: Device) -> Copies:
            told = device.carried_over if kind == "R" else device.card_drawn
            return told(where, face)

        return Say(kind=kind, report=report, pause=_CARD_S, card=number, falls=fallen)

    def revealed(self, number: int, card: Card | None = None) -> Say:
        """A withheld face is told, or another in its place."""
        place, face = self.cards[number].place, card or self.cards[number].card
        return Say(
            kind="I",
            report=lambda device: device.revealed(place, face),
            pause=_DISCLOSE_S,
            card=number,
        )

    def result(self, outcome: Outcome) -> Say:
        """The device says how the coup came out."""
        return Say(
            kind="G",
            report=lambda device: device.result(outcome),
            pause=_RESULT_S,
            deciding=self.gives_result,
        )

    def find(self, kinds: str, card: int | None = None) -> int:
        """Where in the acts a report of one of these kinds is, about this card if one is named.

        A card that falls while the device speaks of something else is found where it falls.

        Raises:
            OurBug: there is none.
        """
        fallen = self.cards[card] if card is not None and "D" in kinds else None
        for index, act in enumerate(self.acts):
            if not isinstance(act, Say):
                continue
            if (act.kind in kinds and card in (None, act.card)) or (fallen and act.falls is fallen):
                return index
        raise OurBug(f"no report {kinds} of card {card} in this coup")

    def tells_face(self, card: int) -> int:
        """Where the face of this card is told: in a squeeze at its disclosure, if there is one."""
        disclosed = any(
            isinstance(act, Say) and act.kind == "I" and act.card == card for act in self.acts
        )
        return self.find("I" if disclosed else "RD", card)

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

    def after_the_reports(self) -> int:
        """The index behind everything that is said of the coup, but for a standby."""
        return (
            max(i for i, act in enumerate(self.acts) if isinstance(act, Say) and act.kind != "P")
            + 1
        )

    def spoil(self, index: int, wire: Wire) -> None:
        """The line is this bad too, for the report at `index`."""
        self.change(index, wire=self.says(index).wire.worse(wire))

    def overdraw(self) -> Card:
        """A card more leaves the shoe, for no hand."""
        self.excess = self._draw()
        return self.excess


def hands_of(cards: Sequence[Fallen]) -> Outcome:
    """What the cards come to as they lie."""
    hands = {hand: tuple(f.card for f in cards if f.place.hand is hand) for hand in Hand}
    return called(hands[Hand.PLAYER], hands[Hand.BANKER])
