"""The shoe's side of wire profile A, `enq-bcc`: turn events in the device into frames.

Pure: no clock, no port, no pacing. It is written from the profile's page and not from the driver's
decoder, so that the two check each other. A frame is `05 seq kind data... 03 h h`; `h h` is the
XOR of everything from seq through 03, as two upper-case hex digits. There is no acknowledgement:
each report goes out as several equal copies under one seq, `'0'` at power-up, then `'1'` to `'9'`
and round to `'1'`. No vendor has verified the profile.
"""

from functools import reduce
from operator import xor
from typing import Final

from events.cards import RANKS, Card, Hand, Winner
from simulators.device.printed_rules import PrintedOutcome, PrintedPlace
from simulators.device.reports import COPIES, Copies, Device, Disclosure

__all__ = [
    "ERROR_CODES",
    "POWER_UP_NOISE",
    "EnqBccDevice",
    "card_byte",
    "frame",
    "result_byte",
    "target_byte",
]

POWER_UP_NOISE: Final = bytes.fromhex("FF FF FF FF C5 FC")
ERROR_CODES: Final = {
    "cannot_read": 1,
    "overdraw": 2,
    "button_mishandled": 3,
    "reversed_at_exit": 4,
    "reversed_midway": 5,
    "card_code": 6,
    "draw_timeout": 7,
}

_ENQ: Final = 0x05
_ETX: Final = 0x03
_DATA: Final = 0x80  # every data byte has bit 7 set, so it cannot be ENQ, ETX or a digit
_ERROR_MODE: Final = 0x40
_FACE_WITHHELD: Final = 0x80
_SUIT: Final = {"D": 1, "C": 2, "S": 3, "H": 4}
_HAND: Final = {Hand.PLAYER: 0, Hand.BANKER: 1}
_OTHER: Final = 2
_FIRST_CARD: Final = 4
_BURN_CARD: Final = 5
_WINNER: Final = {Winner.PLAYER: 1, Winner.TIE: 2, Winner.BANKER: 4}
_BANKER_WITH_SIX: Final = 5
_FORCED_END: Final = 7
_LAST_SEQ: Final = 9
_SEQ, _KIND, _PAYLOAD = 1, 2, slice(3, -3)  # of a frame


def frame(seq: int, kind: str, data: bytes = b"") -> bytes:
    """Return one frame: `05 31 44 81 B8 03 34 46` is "report 1: Player's first card is 8S"."""
    checked = b"%d%b%b%c" % (seq, kind.encode(), data, _ETX)
    return b"%c%b%02X" % (_ENQ, checked, reduce(xor, checked))


def target_byte(group: int, index: int) -> int:
    """Return `1ttt iiii`: the target, a hand or other, and a card number or burn cards left."""
    return _DATA | group << 4 | index


def card_byte(card: Card | None) -> int:
    """Return `1sss rrrr`: suit and rank; `80` where the face is withheld."""
    if card is None:
        return _FACE_WITHHELD
    return _DATA | _SUIT[card.suit] << 4 | RANKS.index(card.rank) + 1


def result_byte(result: PrintedOutcome | None) -> int:
    """Return `1www 00pp`: the winner and the pairs. None: the round was forced to its end."""
    if result is None:
        return _DATA | _FORCED_END << 4
    winner = _BANKER_WITH_SIX if result.banker_six else _WINNER[result.winner]
    return _DATA | winner << 4 | result.banker_pair << 1 | result.player_pair


class EnqBccDevice(Device):
    """The device's reporting half: its sequence, and its reports of events. See `Device`.

    Every method returns the copies of one report, ready for the line.

    Args:
        disclosure: as `Device` has it.
        copies: equal frames a report; a real shoe sends three.
    """

    power_up_noise = POWER_UP_NOISE

    def __init__(self, disclosure: Disclosure = "immediate", *, copies: int = COPIES) -> None:
        super().__init__(disclosure)
        self._copies = copies
        self._seq = 0

    def power_up(self) -> Copies:
        """`S`: sequence and positions start again, withheld faces are forgotten."""
        self._seq = 0
        return (frame(0, "S"),) * self._copies

    def standby(self) -> Copies:
        """`P`: waiting between coups. A real shoe does not always send it."""
        return self._report("P")

    def card_drawn(self, place: PrintedPlace, card: Card) -> Copies:
        """`D`: a card of the coup left the shoe; deferred disclosure withholds its face."""
        return self._card("D", _HAND[place.hand], place.number, self.shown(card))

    def card_unread(self, place: PrintedPlace) -> Copies:
        """`D` without a face in either mode: the card was counted, and could not be read."""
        return self._card("D", _HAND[place.hand], place.number, None)

    def revealed(self, place: PrintedPlace, card: Card) -> Copies:
        """`I`: a withheld face is disclosed; they come in the order the cards were drawn."""
        return self._card("I", _HAND[place.hand], place.number, card)

    def result(self, result: PrintedOutcome) -> Copies:
        """`G`: the device's own view of the outcome."""
        return self._report("G", bytes([result_byte(result)]))

    def forced_end(self) -> Copies:
        """`G` with the code for a round that a person ended at the device."""
        return self._report("G", bytes([result_byte(None)]))

    def first_card(self, card: Card) -> Copies:
        """`D`: the first card of a new shoe, exposed."""
        return self._card("D", _FIRST_CARD, 1, card)

    def burn_card(self, card: Card, left: int) -> Copies:
        """`D`: a burned card, and how many are `left` to burn."""
        return self._card("D", _BURN_CARD, left, card)

    def error_raised(self, code: str, *, latched: bool = False) -> Copies:
        """`E`: one of `ERROR_CODES`; `latched` where the shoe is in its error mode."""
        return self._report("E", _error(code, latched=latched))

    def error_cleared(self, code: str, *, latched: bool = False) -> Copies:
        """`e`: that error is over."""
        return self._report("e", _error(code, latched=latched))

    def unknown(self) -> Copies:
        """`X`, a kind that the profile does not define."""
        return self._report("X", bytes([_DATA | 1]))

    def drawn_outside(self, card: Card | None = None) -> Copies:
        """`d`: a card left the shoe outside the game."""
        return self._card("d", _OTHER, 1, card)

    def out_of_play(self, card: Card) -> Copies:
        """`i`: an overdrawn card is disclosed and taken out of play."""
        return self._card("i", _OTHER, 1, card)

    def carried_over(self, place: PrintedPlace, card: Card) -> Copies:
        """`R` in place of `D`: an overdrawn card is the next coup's card; a real card."""
        return self._card("R", _HAND[place.hand], place.number, self.shown(card))

    def contradicted(self, copies: Copies, which: int, card: Card) -> Copies:
        """One copy names another card with a valid check: two bodies, one seq."""
        sent = copies[which]
        data = sent[_PAYLOAD][:-1] + bytes([card_byte(card)])
        other = frame(int(chr(sent[_SEQ])), chr(sent[_KIND]), data)
        return (*copies[:which], other, *copies[which + 1 :])

    def _card(self, kind: str, group: int, index: int, card: Card | None) -> Copies:
        return self._report(kind, bytes([target_byte(group, index), card_byte(card)]))

    def _report(self, kind: str, data: bytes = b"") -> Copies:
        self._seq = self._seq % _LAST_SEQ + 1
        return (frame(self._seq, kind, data),) * self._copies


def _error(code: str, *, latched: bool) -> bytes:
    return bytes([_DATA | (_ERROR_MODE if latched else 0) | ERROR_CODES[code]])
