"""The reporting half of a device, whatever its profile: turn events in the shoe into bytes.

Every profile's device has the same methods, so that one script plays on all of them. A profile's
device defines those of the events that it can express; the others return no bytes. Each device is
written from the profile's page and not from the driver's decoder, so that the two check each other.
"""

from typing import Final, Literal, TypeAlias

from events.cards import Card
from simulators.device.printed_rules import PrintedOutcome, PrintedPlace

__all__ = ["COPIES", "Copies", "Device", "Disclosure"]

Disclosure: TypeAlias = Literal["immediate", "deferred"]
Copies: TypeAlias = tuple[bytes, ...]
"""One report as it is handed to the line: equal frames, one line, or one message to be framed.

Empty where the device cannot report the event.
"""

COPIES: Final = 3
_NOTHING: Final[Copies] = ()


class Device:
    """A dealing shoe's reports.

    Args:
        disclosure: `deferred` withholds the faces of a coup as they are drawn; the first card and
            the burn cards of a new shoe always show theirs.

    Attributes:
        gives_result: it reports the result of a coup; else the last card decides.
        tells_places: it reports a card's place; else only the order shows it.
        power_up_noise: bytes on the line as the power comes.
    """

    gives_result = True
    tells_places = True
    power_up_noise = b""

    def __init__(self, disclosure: Disclosure = "immediate") -> None:
        self.disclosure: Disclosure = disclosure

    def shown(self, card: Card) -> Card | None:
        """Return the face of a drawn card; None where the device withholds it."""
        return card if self.disclosure == "immediate" else None

    def power_up(self) -> Copies:
        """Sequence and positions start again, withheld faces are forgotten."""
        return _NOTHING

    def standby(self) -> Copies:
        """The device waits between coups."""
        return _NOTHING

    def card_drawn(self, place: PrintedPlace, card: Card) -> Copies:
        """A card of the coup left the shoe."""
        return _NOTHING

    def card_unread(self, place: PrintedPlace) -> Copies:
        """A card left the shoe, was counted, and could not be read."""
        return _NOTHING

    def revealed(self, place: PrintedPlace, card: Card) -> Copies:
        """The face of a card on the table is disclosed."""
        return _NOTHING

    def result(self, result: PrintedOutcome) -> Copies:
        """The device's own view of the outcome."""
        return _NOTHING

    def forced_end(self) -> Copies:
        """A person ended the round at the device."""
        return _NOTHING

    def first_card(self, card: Card) -> Copies:
        """The first card of a new shoe, exposed."""
        return _NOTHING

    def burn_card(self, card: Card, left: int) -> Copies:
        """A burned card, and how many are left to burn."""
        return _NOTHING

    def cut_card(self) -> Copies:
        """The cut card came out."""
        return _NOTHING

    def error_raised(self, code: str, *, latched: bool = False) -> Copies:
        """An error is active; `latched` where the device is in its error mode."""
        return _NOTHING

    def error_cleared(self, code: str, *, latched: bool = False) -> Copies:
        """That error is over."""
        return _NOTHING

    def card_reversed(self, *, midway: bool) -> Copies:
        """A card moved backwards: midway, or at the exit."""
        return self.error_raised("reversed_midway" if midway else "reversed_at_exit")

    def lock_changed(self, *, locked: bool) -> Copies:
        """The device was locked, or unlocked."""
        return _NOTHING

    def unknown(self) -> Copies:
        """A well-formed report that the profile does not define."""
        return _NOTHING

    def drawn_outside(self, card: Card | None = None) -> Copies:
        """A card left the shoe outside the game."""
        return _NOTHING

    def out_of_play(self, card: Card) -> Copies:
        """An overdrawn card is disclosed and taken out of play."""
        return _NOTHING

    def carried_over(self, place: PrintedPlace, card: Card) -> Copies:
        """An overdrawn card is the next coup's card; a real card."""
        return _NOTHING

    def contradicted(self, copies: Copies, which: int, card: Card) -> Copies:
        """Return a card's report in which one sending names another card, under the same number.

        Args:
            copies: the report, as another method of this device has returned it.
            which: the sending, from 0.
            card: the other card.
        """
        return copies
