"""The script of one coup: the cards that fall, and the device's reports and their times, in order.

A script is first written for an undisturbed coup; a fault (`simulators.faults.table_faults`) then
changes it. The device numbers only the reports that are played.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from events.cards import Card, Hand
from events.errors import OurBug
from simulators.device.printed_rules import PrintedOutcome, PrintedPlace, call_hands
from simulators.device.reports import Copies, Device
from simulators.device.wire import GOOD, Wire

__all__ = [
    "Act",
    "CableFault",
    "DealerCall",
    "FallenCard",
    "Script",
    "SendReport",
    "Sending",
    "hands_of",
]

# Seconds at speed 1, of a calm dealer at a live table.
_CARD_S: Final = 2.0
_DISCLOSE_S: Final = 0.5
_RESULT_S: Final = 1.0
_STANDBY_S: Final = 1.0


class FallenCard(Struct, frozen=True):
    """A card on the table."""

    place: PrintedPlace
    card: Card


class CableFault(Enum):
    """Something done to the shoe's cable."""

    OUT = "out"
    IN = "in"
    IN_ELSEWHERE = "in_elsewhere"
    """The adapter comes back under another name."""
    IN_BUSY = "in_busy"
    """Another program has the port before the driver, for a moment."""
    IN_STALE = "in_stale"
    """Bytes sent meanwhile were kept, and arrive now."""
    STALL = "stall"
    """The line is held: everything sent waits."""
    SILENCE = "silence"
    """The device is silent for longer than the driver's limit."""
    FLOW = "flow"
    """Everything that waited arrives in one burst, and the line is good again."""
    THIEF = "thief"
    """A second reader takes bytes, without exclusive access."""
    NO_THIEF = "no_thief"
    """The second reader is gone."""


class DealerCall(Enum):
    """The dealer stops and calls for a person."""

    LOOK = "look"
    """The supervisor compares the screen with the cards, and corrects it."""
    VOID = "void"
    """The coup cannot go on: the supervisor voids it."""
    CUT_CARD = "cut_card"
    """The dealer has the cut card in hand, and presses the button."""
    REPLACE = "replace"
    """Another shoe; the coup is void."""
    CONTINUE = "continue"
    """Another shoe; the coup goes on from it."""
    RESTART = "restart"
    """The driver's process is killed, and started again."""


class Sending(Struct, frozen=True, kw_only=True):
    """How one report of the device is sent, and what comes with it.

    Args:
        pause: seconds before it, at speed 1.
        falls: the card that falls on the table with it.
        wire: the line's effect on its sendings.
        noise: bytes on the line before them that are not frames.
        deciding: the coup can settle after it.
        byte_wise: it arrives a byte at a time.
        broken: the driver is restarted after so many bytes; 0 for no restart.
        late_s: seconds, at any speed, that the line delays all sendings but the first.
    """

    pause: float = 0.0
    falls: FallenCard | None = None
    wire: Wire = GOOD
    noise: bytes = b""
    deciding: bool = False
    byte_wise: bool = False
    broken: int = 0
    late_s: float = 0.0


class SendReport(Sending, frozen=True, kw_only=True):
    """The device sends a report.

    Args:
        kind: the report's letter in profile `enq-bcc`.
        report: makes it.
        card: the index of the coup's card that it is about.
        contradicts: the sending that names another card, and the card.
    """

    kind: str
    report: Callable[[Device], Copies]
    card: int | None = None
    contradicts: tuple[int, Card] | None = None


Act: TypeAlias = SendReport | CableFault | DealerCall


class Script:
    """One coup's acts. It is mutable, and never leaves the deal that made it.

    Args:
        cards: the cards, in dealing order.
        outcome: as the dealer calls it; None where the coup is broken off after these cards.
        device: makes the reports.
        carried: the first card is the overdrawn one of the previous coup.
        standby: the device reports that it waits, when the coup is over.
        spent: faces of which no copy is left in the shoe.
        draw: takes one more card out of the shoe.

    Attributes:
        acts: in order.
        deferred: the device withholds the faces until the end.
        gives_result: the device reports the result of a coup; else its last card decides.
        tells_places: the device reports a card's place.
        excess: a card that was drawn when none was due.
        carries: it is the next coup's first card.
        excess_seen: its face is shown to the table.
        cut_after: the number of cards before the cut card; None where it did not come.
        switched_after: the number of cards before another shoe took over; None where none did.
        result_comes: the device will report the result of the coup.
        errors: the device's errors that are active when it is over.
    """

    def __init__(
        self,
        cards: Sequence[FallenCard],
        outcome: PrintedOutcome | None,
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
                SendReport(kind="P", report=lambda device: device.standby(), pause=_STANDBY_S)
            )

    @property
    def immediate(self) -> bool:
        """Whether the faces are visible as the cards fall."""
        return not self.deferred

    def drawn(
        self,
        number: int,
        *,
        kind: str = "D",
        place: PrintedPlace | None = None,
        card: Card | None = None,
    ) -> SendReport:
        """Return the report of a card that falls, perhaps at another place or with another face."""
        fallen = self.cards[number]
        where, face = place or fallen.place, card or fallen.card

        def report(device: Device) -> Copies:
            told = device.carried_over if kind == "R" else device.card_drawn
            return told(where, face)

        return SendReport(kind=kind, report=report, pause=_CARD_S, card=number, falls=fallen)

    def revealed(self, number: int, card: Card | None = None) -> SendReport:
        """Return the disclosure of a withheld face, or of another in its place."""
        place, face = self.cards[number].place, card or self.cards[number].card
        return SendReport(
            kind="I",
            report=lambda device: device.revealed(place, face),
            pause=_DISCLOSE_S,
            card=number,
        )

    def result(self, outcome: PrintedOutcome) -> SendReport:
        """Return the device's report of the result."""
        return SendReport(
            kind="G",
            report=lambda device: device.result(outcome),
            pause=_RESULT_S,
            deciding=self.gives_result,
        )

    def find(self, kinds: str, card: int | None = None) -> int:
        """Return the index of a report of one of these kinds, about this card if one is named.

        If the device speaks of something else while a card falls, the card is found where it falls.

        Raises:
            OurBug: there is none.
        """
        fallen = self.cards[card] if card is not None and "D" in kinds else None
        for index, act in enumerate(self.acts):
            if not isinstance(act, SendReport):
                continue
            if (act.kind in kinds and card in (None, act.card)) or (fallen and act.falls is fallen):
                return index
        raise OurBug(f"no report {kinds} of card {card} in this coup")

    def find_face(self, card: int) -> int:
        """Return the index of the report with this card's face; a disclosure, in a squeeze."""
        disclosed = any(
            isinstance(act, SendReport) and act.kind == "I" and act.card == card
            for act in self.acts
        )
        return self.find("I" if disclosed else "RD", card)

    def change(self, index: int, **changes: Any) -> None:
        """Change the report at `index`."""
        self.acts[index] = replace(self.says(index), **changes)

    def says(self, index: int) -> SendReport:
        """Return the report at `index`.

        Raises:
            OurBug: the act there is not a report.
        """
        act = self.acts[index]
        if not isinstance(act, SendReport):
            raise OurBug(f"act {index} is no report")
        return act

    def insert(self, index: int, *acts: Act) -> None:
        """Insert acts before the one at `index`."""
        self.acts[index:index] = acts

    def remove(self, kinds: str) -> None:
        """Remove every report of these kinds."""
        self.acts = [a for a in self.acts if not (isinstance(a, SendReport) and a.kind in kinds)]

    def after_the_cards(self) -> int:
        """Return the index after the last card."""
        return self.find("RD", len(self.cards) - 1) + 1

    def after_the_reports(self) -> int:
        """Return the index after all reports of the coup except a standby."""
        return (
            max(
                i
                for i, act in enumerate(self.acts)
                if isinstance(act, SendReport) and act.kind != "P"
            )
            + 1
        )

    def spoil(self, index: int, wire: Wire) -> None:
        """Add this wire's damage to the report at `index`."""
        self.change(index, wire=self.says(index).wire.worse(wire))

    def overdraw(self) -> Card:
        """Draw one more card from the shoe, for no hand."""
        self.excess = self._draw()
        return self.excess


def hands_of(cards: Sequence[FallenCard]) -> PrintedOutcome:
    """Return the result of the cards on the table."""
    hands = {hand: tuple(f.card for f in cards if f.place.hand is hand) for hand in Hand}
    return call_hands(hands[Hand.PLAYER], hands[Hand.BANKER])
