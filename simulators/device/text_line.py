"""The shoe's side of wire profile B, `text-line` and `text-line-scan`: a line of text a card.

Pure, and written from the profile's page and not from the driver's decoder. A line of brackets has
the mode and the card, `[Game]<Card:4S>`; a scan is the card's code alone. There is no check, no
number and no copy, and no line for power-up, standby, result, disclosure or the end of an error.
"""

from typing import Final

from events.cards import RANKS, Card
from events.errors import InputError
from simulators.device.printed_rules import PrintedPlace
from simulators.device.reports import Copies, Device, Disclosure

__all__ = ["ALARM_CODES", "BracketDevice", "ScanDevice", "scan_code"]

ALARM_CODES: Final = {
    "overdraw": "E2 Overdraw",
    "cannot_read": "E3 Card Not Read",
    "reversed_at_exit": "E4 Card Reversed",
    "reversed_midway": "E5 Card Reversed",
    "card_code": "E6 Wrong Card",
    "draw_timeout": "E7 Draw Timeout",
    "button_mishandled": "E8 Button",
}
"""Alarm codes by event. E3 is a reader's own; the others are invented for the simulator."""

_GAME: Final = "Game"
_BURN: Final = "Manual Burn Cards"
_SCAN_SUITS: Final = "SHDC"  # the order of the shipped table: 0001 is the ace of spades


class _TextDevice(Device):
    """A reader of lines. It tells each face as it is drawn, once, and it knows no game."""

    gives_result = False
    tells_places = False
    power_up_noise = b"\xff\xfe\x00\r\n"

    def __init__(self, disclosure: Disclosure = "immediate") -> None:
        if disclosure != "immediate":
            raise InputError(
                f"disclosure {disclosure}: a reader of lines tells each face at once; use immediate"
            )
        super().__init__(disclosure)


class BracketDevice(_TextDevice):
    """A shoe that writes lines in brackets.

    Args:
        disclosure: must be `immediate`.

    Raises:
        InputError: another disclosure.
    """

    def card_drawn(self, place: PrintedPlace, card: Card) -> Copies:  # noqa: ARG002 - a line has no place
        """`[Game]<Card:4S>`."""
        return _card(_GAME, card)

    def card_unread(self, place: PrintedPlace) -> Copies:  # noqa: ARG002 - a line has no place
        """`[Game]<Game>`."""
        return _line(f"[{_GAME}]<{_GAME}>")

    def first_card(self, card: Card) -> Copies:
        """A card in the burn's mode, like the burned ones."""
        return _card(_BURN, card)

    def burn_card(self, card: Card, left: int) -> Copies:  # noqa: ARG002 - no line counts down
        """`[Manual Burn Cards]<Card:4S>`."""
        return _card(_BURN, card)

    def error_raised(self, code: str, *, latched: bool = False) -> Copies:  # noqa: ARG002 - the protocol's
        """`<Alarm:E3 Card Not Read>`."""
        return _line(f"<Alarm:{ALARM_CODES[code]}>")

    def unknown(self) -> Copies:
        """A warning."""
        return _line("<W0x7E>")

    def drawn_outside(self, card: Card | None = None) -> Copies:
        """A card like any other; face down, an unreadable one."""
        return _card(_GAME, card) if card else _line(f"[{_GAME}]<{_GAME}>")


class ScanDevice(_TextDevice):
    """A reader that writes the code of each card that is drawn past it; burned cards are not.

    Args:
        disclosure: must be `immediate`.

    Raises:
        InputError: another disclosure.
    """

    def card_drawn(self, place: PrintedPlace, card: Card) -> Copies:  # noqa: ARG002 - a code has no place
        """`0004` is the four of spades."""
        return _line(scan_code(card))

    def card_unread(self, place: PrintedPlace) -> Copies:  # noqa: ARG002 - a code has no place
        """An invalid code."""
        return _line("????")

    def unknown(self) -> Copies:
        """A code that is in no table."""
        return _line("9999")

    def drawn_outside(self, card: Card | None = None) -> Copies:
        """Scanned like any other; not scanned if it is face down."""
        return _line(scan_code(card)) if card else super().drawn_outside()


def scan_code(card: Card) -> str:
    """Return four digits, `0001` to `0052`: spades, hearts, diamonds, clubs, each from the ace."""
    number = _SCAN_SUITS.index(card.suit) * len(RANKS) + RANKS.index(card.rank) + 1
    return f"{number:04d}"


def _card(mode: str, card: Card) -> Copies:
    return _line(f"[{mode}]<Card:{card.rank}{card.suit}>")


def _line(text: str) -> Copies:
    return (text.encode("ascii") + b"\r\n",)
