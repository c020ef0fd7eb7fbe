"""The device's half of the `ref-crc` link: numbers, keeps, resends and acknowledges reports.

Sans-IO: time goes in as milliseconds, frames come out. It is written from the profile's page alone,
down to the check and the stuffing, so that it checks the driver's half independently.

    report     goes out at once, and every 200 ms while not acknowledged, five times more
    kept       the newest 64, acknowledged or not, as they were sent
    beat       once a second, and after a requested resend
    ACK        of its own boot_id only; never goes back
    RESEND     of its own boot_id: everything kept from there on; of another: from the first that
               was never acknowledged
"""

from typing import Final

from msgspec import Struct

from events.cards import RANKS, Card, Hand, Winner
from simulators.device.printed_rules import PrintedOutcome, PrintedPlace
from simulators.device.reports import Copies, Device
from simulators.device.wire import Wire

__all__ = [
    "BEAT",
    "BEAT_MS",
    "KEPT",
    "POWER_UP",
    "RESENDS",
    "RESEND_MS",
    "RefCrcDevice",
    "RefLink",
    "card_code",
    "place_code",
    "ref_frame",
    "ref_unframe",
]

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


KEPT: Final = 64
RESEND_MS: Final = 200
RESENDS: Final = 5
BEAT_MS: Final = 1000
_VERSION: Final = 1
_ACK, _RESEND = 0x80, 0x81
_SEQS: Final = 1 << 16
_CLOCK: Final = 1 << 32
_HEAD: Final = 11
_CHECK: Final = 2
_POLYNOMIAL: Final = 0x1021
_FULL: Final = 0xFF


class _KeptReport(Struct):
    """A report as it was sent, and its state."""

    seq: int
    frames: tuple[bytes, ...]  # more than one where the device contradicts itself
    wire: Wire
    sent: int = 0
    last_ms: int = 0


class RefLink:
    """One device's link; its first power-up has the boot_id 1."""

    def __init__(self) -> None:
        self._boot = 0
        self._powered_ms = 0
        self._beat_ms = 0
        self._kept: list[_KeptReport] = []
        self._next = 0
        self._unacked = 0
        self._heard = b""
        self._asked_from: int | None = None

    @property
    def unacked(self) -> int:
        """Reports that the host has not acknowledged."""
        return self._next - self._unacked

    def report(self, messages: tuple[bytes, ...], wire: Wire, now_ms: int) -> list[bytes]:
        """Return a report's first sending.

        Args:
            messages: kind and payload; a second one goes out under the same number.
            wire: the line's effect on its sendings, resends included.
            now_ms: by a clock that never steps.
        """
        if messages[0][0] == POWER_UP:
            self._power_up(now_ms)
        seq = self._next
        frames = tuple(self._frame(message[0], seq, message[1:], now_ms) for message in messages)
        kept = _KeptReport(seq, frames, wire)
        self._kept = [*self._kept[1 - KEPT :], kept]
        self._next += 1
        return self._send(kept, now_ms)

    def hear(self, data: bytes) -> None:
        """Take bytes from the host, split anywhere."""
        *chunks, self._heard = (self._heard + data).split(b"\0")
        for body in filter(None, map(ref_unframe, chunks)):
            if body[0] == _VERSION and body[1] in (_ACK, _RESEND):
                self._mind(body)

    def due(self, now_ms: int) -> list[bytes]:
        """Return the frames that are due: requested ones, resends, a heartbeat."""
        out: list[bytes] = []
        asked, self._asked_from = self._asked_from, None
        for kept in self._kept:
            wanted = asked is not None and kept.seq >= asked
            waiting = kept.seq >= self._unacked and 1 <= kept.sent <= RESENDS
            if wanted or (waiting and now_ms - kept.last_ms >= RESEND_MS):
                out += self._send(kept, now_ms)
        if self._kept and (asked is not None or now_ms - self._beat_ms >= BEAT_MS):
            self._beat_ms = now_ms
            payload = self._kept[0].seq % _SEQS << 16 | self._unacked % _SEQS
            out.append(self._frame(BEAT, self._next - 1, payload.to_bytes(4, "big"), now_ms))
        return out

    def _power_up(self, now_ms: int) -> None:
        self._boot = self._boot % (_SEQS - 1) + 1
        self._powered_ms = self._beat_ms = now_ms
        self._kept.clear()
        self._next = self._unacked = 0
        self._asked_from = None

    def _send(self, kept: _KeptReport, now_ms: int) -> list[bytes]:
        number, kept.sent, kept.last_ms = kept.sent, kept.sent + 1, now_ms
        arriving = (kept.wire.arrives(number, frame) for frame in kept.frames)
        return [frame for frame in arriving if frame]

    def _mind(self, body: bytes) -> None:
        boot, seq = int.from_bytes(body[2:4], "big"), int.from_bytes(body[4:6], "big")
        ours = boot == self._boot
        known = self._next - (self._next - seq) % _SEQS  # the newest number with these low bits
        if ours and known > self._unacked:
            self._unacked = known
        if body[1] == _RESEND:
            start = known if ours else self._unacked
            self._asked_from = min(start, self._asked_from or start)

    def _frame(self, kind: int, seq: int, payload: bytes, now_ms: int) -> bytes:
        return ref_frame(kind, self._boot, seq, now_ms - self._powered_ms, payload)


def ref_frame(kind: int, boot: int, seq: int, device_ms: int, payload: bytes = b"") -> bytes:
    """Return one frame on the line, with a `00` on both sides."""
    body = b"".join(
        (
            bytes([_VERSION, kind]),
            boot.to_bytes(2, "big"),
            (seq % _SEQS).to_bytes(2, "big"),
            (device_ms % _CLOCK).to_bytes(4, "big"),
            bytes([len(payload)]),
            payload,
        )
    )
    return b"\0" + _stuffed(body + _crc(body).to_bytes(_CHECK, "big")) + b"\0"


def ref_unframe(chunk: bytes) -> bytes | None:
    """Return the body between two `00`; None where it is not a whole body."""
    data = bytearray()
    at = 0
    while at < len(chunk):
        code = chunk[at]
        if at + code > len(chunk):
            return None
        data += chunk[at + 1 : at + code]
        at += code
        if code < _FULL and at < len(chunk):
            data.append(0)
    body, check = bytes(data[:-_CHECK]), bytes(data[-_CHECK:])
    if len(body) < _HEAD or len(body) != _HEAD + body[_HEAD - 1]:
        return None
    return body if _crc(body).to_bytes(_CHECK, "big") == check else None


def _stuffed(data: bytes) -> bytes:
    """Return the COBS of so few bytes that no block is full: `00` becomes the way to the next."""
    return b"".join(bytes([len(block) + 1]) + block for block in data.split(b"\0"))


def _crc(data: bytes) -> int:
    """Return the CRC-16/CCITT-FALSE, by the remainder of a division of polynomials."""
    register = 0xFFFF
    for byte in data:
        register ^= byte << 8
        for _ in range(8):
            register = register << 1 ^ (_POLYNOMIAL if register & 0x8000 else 0)
            register &= 0xFFFF
    return register
