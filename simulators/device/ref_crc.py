"""The shoe's messages in profile C, `ref-crc`; `simulators.device.ref_link` frames them.

Pure, and written from the profile's page and not from the driver's decoder. A message is the kind
and the payload of a report; the link adds the number, the boot_id and the time.
"""

from typing import Final

from events.cards import RANKS, Card, Hand, Winner
from simulators.device.printed_rules import PrintedOutcome, PrintedPlace
from simulators.device.reports import Copies, Device

__all__ = ["BEAT", "POWER_UP", "RefCrcDevice", "card_code", "place_code"]

POWER_UP: Final = 0x01
BEAT: Final = 0x0F
_READY: Final = 0x02
_CARD_DRAWN: Final = 0x10
_CARD_REVEALED: Final = 0x11
_CARD_UNREADABLE: Final = 0x12
_FIRST_CARD: Final = 0x13
_BURN_CARD: Final = 0x14
_CUT_CARD: Final = 0x15
_CARD_OUT_OF_GAME: Final = 0x16
_CARD_CARRIED_OVER: Final = 0x17
_CARD_REVERSED: Final = 0x18
_ERROR_RAISED: Final = 0x20
_ERROR_CLEARED: Final = 0x21
_LOCK_CHANGED: Final = 0x22
_RESULT: Final = 0x30
_FORCED_END: Final = 0x31
_NO_KIND: Final = 0x7E

_OUTSIDE, _OVERDRAWN = 1, 2
_AT_THE_EXIT, _MIDWAY = 1, 2
_SUIT: Final = {"S": 1, "H": 2, "D": 3, "C": 4}
_HAND: Final = {Hand.PLAYER: 1, Hand.BANKER: 2}
_WINNER: Final = {Winner.PLAYER: 1, Winner.BANKER: 2, Winner.TIE: 3}
_ERROR: Final = {
    "cannot_read": 1,
    "overdraw": 2,
    "button_mishandled": 3,
    "reversed_at_exit": 4,
    "reversed_midway": 5,
    "card_code": 6,
    "draw_timeout": 7,
}
_WITHHELD: Final = 0x00


def card_code(card: Card | None) -> int:
    """Return the suit as high digit and the rank as low digit; `00` where the face is withheld."""
    return _WITHHELD if card is None else _SUIT[card.suit] << 4 | RANKS.index(card.rank) + 1


def place_code(place: PrintedPlace) -> int:
    """Return the hand as high digit and the card's number as low digit."""
    return _HAND[place.hand] << 4 | place.number


class RefCrcDevice(Device):
    """See `Device`. Every method returns one message, or two where the second contradicts it."""

    power_up_noise = bytes.fromhex("00 FF FF 7E 00 C5")

    def power_up(self) -> Copies:
        """POWER_UP: the link begins a new boot_id with it."""
        return _message(POWER_UP)

    def standby(self) -> Copies:
        """READY."""
        return _message(_READY)

    def card_drawn(self, place: PrintedPlace, card: Card) -> Copies:
        """CARD_DRAWN; deferred disclosure withholds its face."""
        return _message(_CARD_DRAWN, place_code(place), card_code(self.shown(card)))

    def card_unread(self, place: PrintedPlace) -> Copies:
        """CARD_UNREADABLE."""
        return _message(_CARD_UNREADABLE, place_code(place))

    def revealed(self, place: PrintedPlace, card: Card) -> Copies:
        """CARD_REVEALED."""
        return _message(_CARD_REVEALED, place_code(place), card_code(card))

    def result(self, result: PrintedOutcome) -> Copies:
        """RESULT: the winner, and flags for pairs and a winning six."""
        flags = result.banker_six << 2 | result.banker_pair << 1 | result.player_pair
        return _message(_RESULT, _WINNER[result.winner], flags)

    def forced_end(self) -> Copies:
        """FORCED_END."""
        return _message(_FORCED_END)

    def first_card(self, card: Card) -> Copies:
        """FIRST_CARD."""
        return _message(_FIRST_CARD, card_code(card))

    def burn_card(self, card: Card, left: int) -> Copies:
        """BURN_CARD."""
        return _message(_BURN_CARD, left, card_code(card))

    def cut_card(self) -> Copies:
        """CUT_CARD."""
        return _message(_CUT_CARD)

    def error_raised(self, code: str, *, latched: bool = False) -> Copies:
        """ERROR_RAISED."""
        return _message(_ERROR_RAISED, _ERROR[code], int(latched))

    def error_cleared(self, code: str, *, latched: bool = False) -> Copies:  # noqa: ARG002 - the protocol's
        """ERROR_CLEARED."""
        return _message(_ERROR_CLEARED, _ERROR[code])

    def card_reversed(self, *, midway: bool) -> Copies:
        """CARD_REVERSED."""
        return _message(_CARD_REVERSED, _MIDWAY if midway else _AT_THE_EXIT)

    def lock_changed(self, *, locked: bool) -> Copies:
        """LOCK_CHANGED."""
        return _message(_LOCK_CHANGED, int(locked))

    def unknown(self) -> Copies:
        """A kind that the profile does not define."""
        return _message(_NO_KIND, 1, 2, 3)

    def drawn_outside(self, card: Card | None = None) -> Copies:
        """CARD_OUT_OF_GAME, drawn outside the game."""
        return _message(_CARD_OUT_OF_GAME, _OUTSIDE, card_code(card))

    def out_of_play(self, card: Card) -> Copies:
        """CARD_OUT_OF_GAME, overdrawn."""
        return _message(_CARD_OUT_OF_GAME, _OVERDRAWN, card_code(card))

    def carried_over(self, place: PrintedPlace, card: Card) -> Copies:
        """CARD_CARRIED_OVER."""
        return _message(_CARD_CARRIED_OVER, place_code(place), card_code(self.shown(card)))

    def contradicted(self, copies: Copies, which: int, card: Card) -> Copies:
        """Two messages under one number; the wrong one first where `which` is 0."""
        (message,) = copies
        other = message[:-1] + bytes([card_code(card)])
        return (message, other) if which else (other, message)


def _message(kind: int, *payload: int) -> Copies:
    return (bytes([kind, *payload]),)
