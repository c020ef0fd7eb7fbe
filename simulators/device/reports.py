"""The reporting half of a device, whatever its profile: turn events in the shoe into bytes.

Every profile's device has the same methods, so that one script plays on all of them. A method
returns no bytes for an event that the profile cannot express. Each device is written from the
profile's page and not from the driver's decoder, so that the two check each other.
"""

from typing import Final, Literal, Protocol, TypeAlias

from events.cards import Card
from simulators.device.printed_rules import PrintedOutcome, PrintedPlace

__all__ = ["COPIES", "Copies", "Device", "Disclosure"]

Disclosure: TypeAlias = Literal["immediate", "deferred"]
Copies: TypeAlias = tuple[bytes, ...]
"""One report as it is handed to the line: equal frames, one line, or one message to be framed.

Empty where the device cannot report the event.
"""

COPIES: Final = 3


class Device(Protocol):
    """A dealing shoe's reports.

    Attributes:
        disclosure: `deferred` withholds the faces of a coup as they are drawn.
        gives_result: it reports the result of a coup; else the last card decides.
        tells_places: it reports a card's place; else only the order shows it.
        power_up_noise: bytes on the line as the power comes.
    """

    disclosure: Disclosure
    gives_result: bool
    tells_places: bool
    power_up_noise: bytes

    def power_up(self) -> Copies:
        """Sequence and positions start again, withheld faces are forgotten."""
        ...

    def standby(self) -> Copies:
        """The device waits between coups."""
        ...

    def card_drawn(self, place: PrintedPlace, card: Card) -> Copies:
        """A card of the coup left the shoe."""
        ...

    def card_unread(self, place: PrintedPlace) -> Copies:
        """A card left the shoe, was counted, and could not be read."""
        ...

    def revealed(self, place: PrintedPlace, card: Card) -> Copies:
        """The face of a card on the table is disclosed."""
        ...

    def result(self, result: PrintedOutcome) -> Copies:
        """The device's own view of the outcome."""
        ...

    def forced_end(self) -> Copies:
        """A person ended the round at the device."""
        ...

    def first_card(self, card: Card) -> Copies:
        """The first card of a new shoe, exposed."""
        ...

    def burn_card(self, card: Card, left: int) -> Copies:
        """A burned card, and how many are left to burn."""
        ...

    def cut_card(self) -> Copies:
        """The cut card came out."""
        ...

    def error_raised(self, code: str, *, latched: bool = False) -> Copies:
        """An error is active; `latched` where the device is in its error mode."""
        ...

    def error_cleared(self, code: str, *, latched: bool = False) -> Copies:
        """That error is over."""
        ...

    def card_reversed(self, *, midway: bool) -> Copies:
        """A card moved backwards: midway, or at the exit."""
        ...

    def lock_changed(self, *, locked: bool) -> Copies:
        """The device was locked, or unlocked."""
        ...

    def unknown(self) -> Copies:
        """A well-formed report that the profile does not define."""
        ...

    def drawn_outside(self, card: Card | None = None) -> Copies:
        """A card left the shoe outside the game."""
        ...

    def out_of_play(self, card: Card) -> Copies:
        """An overdrawn card is disclosed and taken out of play."""
        ...

    def carried_over(self, place: PrintedPlace, card: Card) -> Copies:
        """An overdrawn card is the next coup's card; a real card."""
        ...

    def contradicted(self, copies: Copies, which: int, card: Card) -> Copies:
        """Return a card's report in which one sending names another card, under the same number.

        Args:
            copies: the report, as another method of this device has returned it.
            which: the sending, from 0.
            card: the other card.
        """
        ...
