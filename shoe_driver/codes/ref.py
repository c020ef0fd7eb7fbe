"""The kinds and payloads of `ref-crc`, which mirror the shoe's reports (docs/shoe/ref-crc.md).

We defined them, so they are in the code and not in a table; the profile only holds the words for
error codes and reasons. A payload of another length, or with a value that the page does not define,
has no meaning and is reported raw.
"""

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Final

from msgspec import Struct

from events.cards import Card, Hand
from events.types import (
    AnyReport,
    BurnCard,
    CardCarriedOver,
    CardDrawn,
    CardOutOfGame,
    CardRevealed,
    CardReversed,
    CardUnreadable,
    CutCardReported,
    DeviceResult,
    ErrorCleared,
    ErrorRaised,
    FirstCard,
    LockChanged,
    ModeChanged,
    RoundForcedEnd,
    ShoeBooted,
    ShoeReady,
)
from shoe_driver.codes.reports import Unreadable, look_up

__all__ = ["RefCodes", "RefKind", "RefTable"]


class RefKind(IntEnum):
    """The kind of a frame. The device sends those below 80, the host those from 80 on."""

    POWER_UP = 0x01
    READY = 0x02
    BEAT = 0x0F
    CARD_DRAWN = 0x10
    CARD_REVEALED = 0x11
    CARD_UNREADABLE = 0x12
    FIRST_CARD = 0x13
    BURN_CARD = 0x14
    CUT_CARD = 0x15
    CARD_OUT_OF_GAME = 0x16
    CARD_CARRIED_OVER = 0x17
    CARD_REVERSED = 0x18
    ERROR_RAISED = 0x20
    ERROR_CLEARED = 0x21
    LOCK_CHANGED = 0x22
    MODE_CHANGED = 0x23
    RESULT = 0x30
    FORCED_END = 0x31
    ACK = 0x80
    RESEND = 0x81


class RefTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Words for numbers. An unknown one is still an error (`error_12`) or a reason (`reason_9`)."""

    errors: dict[int, str] = {}
    reasons: dict[int, str] = {}


_SUITS: Final = {1: "S", 2: "H", 3: "D", 4: "C"}
_RANKS: Final = dict(enumerate("A23456789TJQK", start=1))
_CARDS: Final = {
    suit << 4 | rank: Card(rank_text + suit_text)
    for suit, suit_text in _SUITS.items()
    for rank, rank_text in _RANKS.items()
}
_HANDS: Final = {0: None, 1: Hand.PLAYER, 2: Hand.BANKER}
_WINNERS: Final = {1: "player", 2: "banker", 3: "tie"}
_PLACES: Final = {1: "exit", 2: "midway"}
_LAST_NUMBER: Final = 3
_NOT_COUNTED: Final = 0xFF  # the number of burn cards left is unknown
_FLAGS: Final = 7  # of a result
_MODE_BYTES: Final = 32

_Reader = Callable[[bytes, RefTable], AnyReport]


class RefCodes:
    """Decodes a kind and its payload.

    Args:
        table: the profile's words.
    """

    def __init__(self, table: RefTable) -> None:
        self._table = table

    def meaning(self, kind: int, payload: bytes) -> AnyReport | None:
        """Return the report of a kind and its payload; None if the page does not define it."""
        reader = _READERS.get(kind)
        if reader is None:
            return None
        length, read = reader
        if length is not None and len(payload) != length:
            return None
        try:
            return read(payload, self._table)
        except Unreadable:
            return None


def _card(code: int) -> Card | None:
    """Return a face, or None if it is withheld."""
    return None if code == 0 else look_up(_CARDS, code)


def _place(code: int) -> tuple[Hand | None, int | None]:
    hand, number = code >> 4, code & 15
    if hand not in _HANDS or number > _LAST_NUMBER or (number and not hand):
        raise Unreadable
    return _HANDS[hand], number or None


def _full_place(code: int) -> tuple[Hand, int]:
    hand, number = _place(code)
    if hand is None or number is None:
        raise Unreadable
    return hand, number


def _drawn(payload: bytes, _: RefTable) -> AnyReport:
    hand, number = _place(payload[0])
    return CardDrawn(hand=hand, number=number, face=_card(payload[1]))


def _revealed(payload: bytes, _: RefTable) -> AnyReport:
    hand, number = _full_place(payload[0])
    face = _card(payload[1])
    if face is None:
        raise Unreadable
    return CardRevealed(hand=hand, number=number, face=face)


def _unreadable(payload: bytes, _: RefTable) -> AnyReport:
    hand, number = _place(payload[0])
    return CardUnreadable(hand=hand, number=number)


def _burned(payload: bytes, _: RefTable) -> AnyReport:
    left = None if payload[0] == _NOT_COUNTED else payload[0]
    return BurnCard(face=_card(payload[1]), left=left)


def _out_of_game(payload: bytes, table: RefTable) -> AnyReport:
    reason = table.reasons.get(payload[0], f"reason_{payload[0]}")
    return CardOutOfGame(reason=reason, face=_card(payload[1]))


def _carried_over(payload: bytes, _: RefTable) -> AnyReport:
    hand, number = _full_place(payload[0])
    return CardCarriedOver(hand=hand, number=number, face=_card(payload[1]))


def _reversed(payload: bytes, _: RefTable) -> AnyReport:
    if payload[0] not in _PLACES:
        raise Unreadable
    return CardReversed(place=_PLACES[payload[0]])


def _yes(code: int) -> bool:
    if code > 1:
        raise Unreadable
    return bool(code)


def _error(table: RefTable, code: int) -> str:
    return table.errors.get(code, f"error_{code}")


def _result(payload: bytes, _: RefTable) -> AnyReport:
    winner, flags = payload
    if winner not in _WINNERS or flags > _FLAGS:
        raise Unreadable
    return DeviceResult(
        winner=_WINNERS[winner],
        player_pair=bool(flags & 1),
        banker_pair=bool(flags & 2),
        banker_six=bool(flags & 4),
    )


def _mode(payload: bytes, _: RefTable) -> AnyReport:
    if not 0 < len(payload) <= _MODE_BYTES or not all(0x20 <= byte <= 0x7E for byte in payload):  # noqa: PLR2004 - printable ASCII
        raise Unreadable
    return ModeChanged(mode=payload.decode("ascii"))


# By kind: the payload's length (None: any) and its decoder.
_READERS: Final[Mapping[int, tuple[int | None, _Reader]]] = {
    RefKind.POWER_UP: (0, lambda _payload, _table: ShoeBooted()),
    RefKind.READY: (0, lambda _payload, _table: ShoeReady()),
    RefKind.CARD_DRAWN: (2, _drawn),
    RefKind.CARD_REVEALED: (2, _revealed),
    RefKind.CARD_UNREADABLE: (1, _unreadable),
    RefKind.FIRST_CARD: (1, lambda payload, _: FirstCard(face=_card(payload[0]))),
    RefKind.BURN_CARD: (2, _burned),
    RefKind.CUT_CARD: (0, lambda _payload, _table: CutCardReported()),
    RefKind.CARD_OUT_OF_GAME: (2, _out_of_game),
    RefKind.CARD_CARRIED_OVER: (2, _carried_over),
    RefKind.CARD_REVERSED: (1, _reversed),
    RefKind.ERROR_RAISED: (
        2,
        lambda payload, table: ErrorRaised(
            code=_error(table, payload[0]), latched=_yes(payload[1])
        ),
    ),
    RefKind.ERROR_CLEARED: (1, lambda payload, table: ErrorCleared(code=_error(table, payload[0]))),
    RefKind.LOCK_CHANGED: (1, lambda payload, _: LockChanged(locked=_yes(payload[0]))),
    RefKind.MODE_CHANGED: (None, _mode),
    RefKind.RESULT: (2, _result),
    RefKind.FORCED_END: (0, lambda _payload, _table: RoundForcedEnd()),
}
