"""Three shoes that no shipped profile describes, and the profiles that a site would write for them.

Their frames are made here by hand, and not by the product's framers and checks.
"""

from abc import ABC, abstractmethod
from functools import reduce
from operator import xor
from typing import Final

from events.cards import RANKS, SUITS, Card, Hand, Winner
from simulators.device.printed_rules import PrintedOutcome, PrintedPlace
from simulators.device.profiles import SimulatedProfile
from simulators.device.reports import Copies, Device, Disclosure
from tests.support.shoe.made_up import FACES, check_bytes

_WINNER: Final = {Winner.PLAYER: "P", Winner.BANKER: "B", Winner.TIE: "T"}
_HAND: Final = {Hand.PLAYER: "P", Hand.BANKER: "B"}
_ERRORS: Final = {
    "cannot_read": 1,
    "overdraw": 2,
    "button_mishandled": 3,
    "reversed_at_exit": 4,
    "reversed_midway": 5,
    "card_code": 6,
    "draw_timeout": 7,
}


class _Foreign(Device, ABC):
    """What both whole shoes say; each frame is made by `framed`, of a kind and four characters."""

    numbers = 256

    def __init__(self, disclosure: Disclosure = "immediate") -> None:
        super().__init__(disclosure)
        self._sent = -1

    @abstractmethod
    def framed(self, number: int, text: str) -> bytes: ...

    def _say(self, text: str) -> Copies:
        self._sent = (self._sent + 1) % self.numbers
        return (self.framed(self._sent, f"{text:-<5}"),)

    def _face(self, card: Card | None) -> str:
        return card.value if card else "??"

    def power_up(self) -> Copies:
        return self._say("U")

    def standby(self) -> Copies:
        return self._say("R")

    def card_drawn(self, place: PrintedPlace, card: Card) -> Copies:
        return self._say(f"C{_HAND[place.hand]}{place.number}{self._face(self.shown(card))}")

    def card_unread(self, place: PrintedPlace) -> Copies:
        return self._say(f"C{_HAND[place.hand]}{place.number}xx")

    def revealed(self, place: PrintedPlace, card: Card) -> Copies:
        return self._say(f"I{_HAND[place.hand]}{place.number}{self._face(card)}")

    def result(self, result: PrintedOutcome) -> Copies:
        pairs = result.player_pair + 2 * result.banker_pair
        return self._say(f"G{_WINNER[result.winner]}{pairs}")

    def forced_end(self) -> Copies:
        return self._say("GF0")

    def first_card(self, card: Card) -> Copies:
        return self._say(f"F-0{self._face(card)}")

    def burn_card(self, card: Card, left: int) -> Copies:  # noqa: ARG002 - it does not count down
        return self._say(f"B-0{self._face(card)}")

    def error_raised(self, code: str, *, latched: bool = False) -> Copies:
        return self._say(f"{'L' if latched else 'E'}-{_ERRORS[code]}")

    def error_cleared(self, code: str, *, latched: bool = False) -> Copies:  # noqa: ARG002 - one way to clear
        return self._say(f"e-{_ERRORS[code]}")

    def unknown(self) -> Copies:
        return self._say("X")

    def drawn_outside(self, card: Card | None = None) -> Copies:
        return self._say(f"d-0{self._face(card)}")

    def out_of_play(self, card: Card) -> Copies:
        return self._say(f"i-0{self._face(card)}")

    def carried_over(self, place: PrintedPlace, card: Card) -> Copies:
        return self._say(f"K{_HAND[place.hand]}{place.number}{self._face(self.shown(card))}")


class LengthDevice(_Foreign):
    """`AA len seq kind hand number card... crc8`: a length before every report."""

    def framed(self, number: int, text: str) -> bytes:
        content = bytes([7, number]) + text.encode()
        value, _ = check_bytes("crc8", content)
        return b"\xaa" + content + bytes([value])


class EvenDevice(_Foreign):
    """`nn:report:xx` and CR, at 9600 7E1: the sum in hex, and two decimal digits that go round."""

    numbers = 100

    def framed(self, number: int, text: str) -> bytes:
        content = f"{number:02d}:{text}:"
        line = f"{content}{sum(content.encode()) % 256:02X}\r".encode()
        # A pseudo-terminal has no parity: the eighth bit stands where a reader at 8N1 would see it.
        return bytes(byte | 0x80 if byte.bit_count() % 2 else byte for byte in line)


class CommaDevice(Device):
    """`C,<seq>,<suit><rank>,<xor>`: nothing but cards."""

    gives_result = False
    tells_places = False

    def __init__(self, disclosure: Disclosure = "immediate") -> None:
        super().__init__(disclosure)
        self._sent = -1

    def card_drawn(self, place: PrintedPlace, card: Card) -> Copies:  # noqa: ARG002 - no place comes with it
        return self._line(card.suit + card.rank)

    def card_unread(self, place: PrintedPlace) -> Copies:  # noqa: ARG002 - the same
        return self._line("??")

    def drawn_outside(self, card: Card | None = None) -> Copies:
        return self._line(card.suit + card.rank) if card else ()

    def _line(self, code: str) -> Copies:
        self._sent = (self._sent + 1) % 1000
        text = f"C,{self._sent},{code},".encode()
        return (text + b"%02X\r\n" % reduce(xor, text),)


_WHOLE: Final = """
[codes]
variant = "fields"
text = true
{fields}
[codes.kinds]
U = {{ report = "shoe_booted" }}
R = {{ report = "shoe_ready" }}
C = {{ report = "card_drawn" }}
I = {{ report = "card_revealed" }}
K = {{ report = "card_carried_over" }}
F = {{ report = "first_card" }}
B = {{ report = "burn_card" }}
G = {{ report = "device_result" }}
E = {{ report = "error_raised" }}
L = {{ report = "error_raised", fields = {{ latched = true }} }}
e = {{ report = "error_cleared" }}
d = {{ report = "card_out_of_game", fields = {{ reason = "drawn_outside_game" }} }}
i = {{ report = "card_out_of_game", fields = {{ reason = "overdrawn" }} }}
[codes.hands]
P = "player"
B = "banker"
[codes.results]
P = "player"
B = "banker"
T = "tie"
F = "forced_end"
[codes.errors]
{errors}
[codes.faces]
"??" = "withheld"
{faces}
"""


def _codes(at: int) -> str:
    fields = {"kind": 0, "hand": 1, "number": 2, "card": 3, "result": 1, "pairs": 2, "error": 2}
    placed = "\n".join(
        f"[codes.fields.{name}]\nat = {at + place}\nwidth = {2 if name == 'card' else 1}"
        for name, place in fields.items()
    )
    errors = "\n".join(f'{number} = "{name}"' for name, number in _ERRORS.items())
    faces = "\n".join(f'{face} = "{face}"' for face in FACES)
    return _WHOLE.format(fields=placed, errors=errors, faces=faces)


_HEAD: Final = 'form = 2\nid = "{id}"\nloss_detection = "weak"\ndisclosure = "{told}"\n'
_LENGTH: Final = """result = "required"
[framer]
kind = "length"
most = 9
start = "AA"
adds = 2
[check]
kind = "crc8"
[number]
base = 256
width = 1
at = 1
[serial]
baud = 19200
[limits]
partial_ms = 100
silence_ms = 60000
"""
_EVEN: Final = """result = "required"
[framer]
kind = "line"
most = 11
[check]
kind = "sum8"
hex = true
[number]
base = 10
width = 2
[serial]
baud = 9600
data_bits = 7
parity = "E"
[limits]
partial_ms = 100
silence_ms = 60000
"""
_COMMA: Final = """result = "none"
[framer]
kind = "line"
most = 12
[check]
kind = "xor8"
hex = true
[number]
base = 10
width = 3
field = 1
[serial]
baud = 9600
[limits]
partial_ms = 100
silence_ms = 60000
[codes]
variant = "fields"
text = true
[codes.fields.card]
field = 2
[codes.kinds]
"" = { report = "card_drawn" }
[codes.faces]
"""


def profile_text(name: str) -> str:
    """The profile of one of the three, as a site would write it."""
    told = "immediate" if name == "comma" else "auto"
    head = _HEAD.format(id=name, told=told)
    if name == "length":
        return head + _LENGTH + _codes(2)
    if name == "even":
        return head + _EVEN + _codes(3)
    faces = "\n".join(f'{suit}{rank} = "{rank}{suit}"' for suit in SUITS for rank in RANKS)
    return head + _COMMA + faces + "\n"


_NO_COPIES: Final = frozenset({"copy_conflict", "copy_late", "copy_lost"})
_NOT_WHOLE: Final = _NO_COPIES | {"bit_flip_passes", "locked_draw"}
# A reader of cards never says these.
_CARDS_ALONE: Final = _NOT_WHOLE | {
    *("contradicting_disclosure", "draw_in_error", "draw_timeout", "error_and_clear"),
    *("forced_end", "missing_standby", "no_result", "overdraw_burned", "overdraw_carried"),
    *("power_up", "reverse_run", "short_disclosure", "silence", "stacked_errors"),
    *("two_power_ups", "unknown_code", "wrong_card_code", "wrong_result"),
}
FOREIGN: Final = {
    "length": SimulatedProfile(id="length", baud=19200, device=LengthDevice, unfit=_NOT_WHOLE),
    "even": SimulatedProfile(id="even", baud=9600, device=EvenDevice, unfit=_NOT_WHOLE),
    "comma": SimulatedProfile(id="comma", baud=9600, device=CommaDevice, unfit=_CARDS_ALONE),
}
"""By profile id."""
