"""The codes of `enq` frames: a kind and data bytes, by the profile's tables.

A body that does not fit its kind has no meaning here, and the decoder reports it raw as an
`unknown_report`: nothing is guessed. An error without a word in the profile is still an error
(`error_12`), because each error keeps betting shut until it is cleared.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from events.cards import Card, Hand
from events.errors import ConfigError
from events.types import (
    AnyReport,
    BurnCard,
    CardCarriedOver,
    CardDrawn,
    CardOutOfGame,
    CardRevealed,
    ErrorCleared,
    ErrorRaised,
    FirstCard,
)
from shoe_driver.codes.reports import Unreadable, fixed_report, look_up, result_report

__all__ = ["DataElement", "EnqCodes", "EnqTable", "KindSpec"]

DataElement: TypeAlias = Literal["target", "card", "result", "error"]

_FACE_WITHHELD: Final = 0x80
_LAST_NUMBER: Final = 3  # no hand has more cards
_REMEMBERED: Final = 4096  # bodies whose meaning is cached; a shoe uses some hundred


class KindSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The meaning of one kind of frame.

    Args:
        report: the kind of report (`events.types.shoe_reports`).
        data: the meaning of the data bytes, in order.
        fields: fields of the report that are always the same.
    """

    report: str
    data: tuple[DataElement, ...] = ()
    fields: dict[str, str | int | bool] = {}


class EnqTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """The device's codes. Keys are the codes, values the product's words."""

    kinds: dict[str, KindSpec]
    targets: dict[int, Literal["player", "banker", "other", "first_card", "burn_card"]]
    suits: dict[int, Literal["S", "H", "D", "C"]]
    ranks: dict[int, str]
    results: dict[int, Literal["player", "banker", "tie", "banker_six", "forced_end"]]
    errors: dict[int, str]

    @cached_property
    def decoder(self) -> "EnqCodes":
        """The decoder of bodies, which all decoders of a profile share: it holds no state.

        Raises:
            ConfigError: the table names a card or a report that does not exist.
        """
        return EnqCodes(self)


class _Values(Struct):
    """The decoded data bytes of one frame."""

    target: str = ""
    index: int = 0
    face: Card | None = None
    result: str = ""
    pairs: int = 0
    error: str = ""
    latched: bool = False


_Builder = Callable[[_Values, Mapping[str, Any]], AnyReport]


class EnqCodes:
    """Decodes bodies.

    Args:
        table: the profile's tables.

    Raises:
        ConfigError: the table names a card or a report that does not exist.
    """

    def __init__(self, table: EnqTable) -> None:
        self._table = table
        self._cards = _cards(table)
        self._kinds = _kinds(table)
        self._known: dict[bytes, AnyReport | None] = {}

    def meaning(self, body: bytes) -> AnyReport | None:
        """Return the report of a kind and its data; None if the profile does not know it."""
        if body in self._known:
            return self._known[body]
        report = self._decode(body)
        if len(self._known) < _REMEMBERED:
            self._known[body] = report
        return report

    def _decode(self, body: bytes) -> AnyReport | None:
        if body[0] not in self._kinds:
            return None
        spec, build = self._kinds[body[0]]
        if len(body) != 1 + len(spec.data):
            return None
        values = _Values()
        try:
            for element, byte in zip(spec.data, body[1:], strict=True):
                self._take(element, byte, values)
            return build(values, spec.fields)
        except Unreadable:
            return None

    def _take(self, element: str, byte: int, values: _Values) -> None:
        """Decode one data byte; the framer has checked that bit 7 is set."""
        if element == "target":
            values.target = look_up(self._table.targets, byte >> 4 & 7)
            values.index = byte & 15
        elif element == "card":
            values.face = None if byte == _FACE_WITHHELD else look_up(self._cards, byte & 127)
        elif element == "result":
            values.result = look_up(self._table.results, byte >> 4 & 7)
            values.pairs = byte & 15
        else:
            number = byte & 63
            values.error = self._table.errors.get(number, f"error_{number}")
            values.latched = bool(byte & 64)


def _kinds(table: EnqTable) -> dict[int, tuple[KindSpec, _Builder]]:
    made: dict[int, tuple[KindSpec, _Builder]] = {}
    wrong: list[str] = []
    for key, spec in table.kinds.items():
        try:
            build = _builder(key, spec)
            made[ord(key)] = spec, build
        except ConfigError as error:
            wrong.append(str(error))
    if wrong:
        raise ConfigError("; ".join(wrong))
    return made


def _cards(table: EnqTable) -> dict[int, Card]:
    try:
        return {
            suit << 4 | rank: Card(rank_text + suit_text)
            for suit, suit_text in table.suits.items()
            for rank, rank_text in table.ranks.items()
        }
    except ValueError as error:
        raise ConfigError(f"codes.suits, codes.ranks: {error}") from error


def _place(values: _Values) -> tuple[Hand, int]:
    """Return the hand and the number of a card that has a place."""
    if values.target not in ("player", "banker") or not 1 <= values.index <= _LAST_NUMBER:
        raise Unreadable
    return Hand(values.target), values.index


def _shown(values: _Values) -> Card:
    if values.face is None:
        raise Unreadable
    return values.face


def _drawn(values: _Values, _: Mapping[str, Any]) -> AnyReport:
    if values.target == "first_card":
        return FirstCard(face=values.face)
    if values.target == "burn_card":
        return BurnCard(face=values.face, left=values.index)
    if values.target == "other":
        return CardDrawn(number=values.index or None, face=values.face)
    hand, number = _place(values)
    return CardDrawn(hand=hand, number=number, face=values.face)


def _revealed(values: _Values, fields: Mapping[str, Any]) -> AnyReport:
    if values.target in ("first_card", "burn_card"):
        _shown(values)
        return _drawn(values, fields)
    hand, number = _place(values)
    return CardRevealed(hand=hand, number=number, face=_shown(values))


def _carried_over(values: _Values, _: Mapping[str, Any]) -> AnyReport:
    hand, number = _place(values)
    return CardCarriedOver(hand=hand, number=number, face=values.face)


_FROM_DATA: Final[Mapping[str, tuple[frozenset[str], frozenset[str], _Builder]]] = {
    "card_drawn": (frozenset({"target", "card"}), frozenset(), _drawn),
    "card_revealed": (frozenset({"target", "card"}), frozenset(), _revealed),
    "card_carried_over": (frozenset({"target", "card"}), frozenset(), _carried_over),
    "card_out_of_game": (
        frozenset({"card"}),
        frozenset({"reason"}),
        lambda values, fields: CardOutOfGame(reason=fields["reason"], face=values.face),
    ),
    "device_result": (
        frozenset({"result"}),
        frozenset(),
        lambda values, _: result_report(values.result, values.pairs),
    ),
    "error_raised": (
        frozenset({"error"}),
        frozenset(),
        lambda values, _: ErrorRaised(code=values.error, latched=values.latched),
    ),
    "error_cleared": (
        frozenset({"error"}),
        frozenset(),
        lambda values, _: ErrorCleared(code=values.error),
    ),
}


def _builder(key: str, spec: KindSpec) -> _Builder:
    """Return the builder of a report: from the data, or always the same report.

    Raises:
        ConfigError: the report does not exist, or cannot be built from this data.
    """
    where = f"codes.kinds.{key}"
    if len(key) != 1 or not " " <= key <= "~":
        raise ConfigError(f"{where}: a kind is one printable ASCII character")
    if spec.report in _FROM_DATA:
        data, fields, build = _FROM_DATA[spec.report]
        if not data <= set(spec.data) or set(spec.fields) != fields:
            wanted = f"data {sorted(data)} and fields {sorted(fields)}"
            raise ConfigError(f"{where}: {spec.report} is made of {wanted}")
        return build
    report = fixed_report(where, spec.report, spec.fields)
    return lambda _values, _fields: report
