"""The codes of any device whose reports are fields: where each stands, and what its values mean.

positions    `at` and `width` count in the content, the number included
separated    `field` counts the fields between separators, from 0
keys         the field's bytes as text (`text = true`), else as upper-case hex
kind         decides which report it is; without such a field it is always the same. A report
             that ends before it is of the kind `""`, if the table has that
a card       whose code is in no table is one that could not be read: never an invented card
other values that are in no table have no meaning here, and are reported raw
"""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

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
    CardUnreadable,
    ErrorCleared,
    ErrorRaised,
    FirstCard,
)
from shoe_driver.codes.reports import (
    FixedReport,
    Unreadable,
    face_of,
    fixed_report,
    look_up,
    result_report,
)

__all__ = ["IDLE", "WITHHELD", "FieldCodes", "FieldSpec", "FieldTable"]

IDLE: Final = "idle"
"""The kind of a frame that says nothing, such as the answer to a poll when nothing has happened."""
WITHHELD: Final = "withheld"
"""In the table of faces: the card's face is not told yet."""

_FieldName: TypeAlias = Literal[
    "kind", "hand", "number", "card", "left", "result", "pairs", "error"
]
_LAST_NUMBER: Final = 3
_REMEMBERED: Final = 4096  # bodies whose meaning is cached


class FieldSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a field stands: at a position, or between separators."""

    at: int = 0
    width: int = 1
    field: int | None = None


class FieldTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The device's fields and the meaning of their values.

    Args:
        variant: `fields`.
        fields: where each stands.
        kinds: the report of each kind; under the key `""` of a device without a field `kind`, or
            of reports that end before it.
        faces: the card of each code; `withheld` where its face is not told.
        hands: the hand of each code.
        results: the winner of each code.
        errors: the words of errors; another one is an error by its own code.
        text: keys are text; else hex.
        separator: between counted fields.
    """

    variant: Literal["fields"]
    fields: dict[_FieldName, FieldSpec]
    kinds: dict[str, FixedReport]
    faces: dict[str, str]
    hands: dict[str, Literal["player", "banker"]] = {}
    results: dict[str, Literal["player", "banker", "tie", "banker_six", "forced_end"]] = {}
    errors: dict[str, str] = {}
    text: bool = False
    separator: str = ","


_PLACED: Final = frozenset({"card_drawn", "card_revealed", "card_carried_over"})
# By report that is made of fields: those that it needs.
_NEEDS: Final[Mapping[str, frozenset[str]]] = {
    "card_drawn": frozenset({"card"}),
    "card_revealed": frozenset({"card", "hand", "number"}),
    "card_carried_over": frozenset({"card", "hand", "number"}),
    "card_out_of_game": frozenset({"card"}),
    "first_card": frozenset({"card"}),
    "burn_card": frozenset({"card"}),
    "device_result": frozenset({"result", "pairs"}),
    "error_raised": frozenset({"error"}),
    "error_cleared": frozenset({"error"}),
}


class FieldCodes:
    """Decodes bodies.

    Args:
        table: the profile's table.
        taken: bytes of the content before the body: of a number that leads.

    Raises:
        ConfigError: a face or a report does not exist, or its fields are missing.
    """

    def __init__(self, table: FieldTable, taken: int = 0) -> None:
        self._table = table
        self._taken = taken
        self._faces = _faces(table)
        self._fixed = _fixed(table)
        self._idle = {kind for kind, spec in table.kinds.items() if spec.report == IDLE}
        self._known: dict[bytes, AnyReport | None] = {}

    def meaning(self, body: bytes) -> AnyReport | None:
        """Return the report of a body; None if the profile does not know it."""
        if body in self._known:
            return self._known[body]
        try:
            report = self._decode(body)
        except Unreadable:
            report = None
        if len(self._known) < _REMEMBERED:
            self._known[body] = report
        return report

    def is_idle(self, body: bytes) -> bool:
        """Report whether a body says nothing."""
        try:
            return bool(self._idle) and self._kind(body) in self._idle
        except Unreadable:
            return False

    def _decode(self, body: bytes) -> AnyReport | None:
        kind = self._kind(body)
        spec = self._table.kinds.get(kind)
        if spec is None or spec.report == IDLE:
            return None
        if spec.report not in _NEEDS:
            return self._fixed[kind]
        return self._made(spec, body)

    def _made(self, spec: FixedReport, body: bytes) -> AnyReport:
        report = spec.report
        if report == "device_result":
            winner = look_up(self._table.results, self._key("result", body))
            return result_report(winner, self._number("pairs", body) or 0)
        if report in ("error_raised", "error_cleared"):
            key = self._key("error", body)
            code = self._table.errors.get(key, f"error_{key.lower()}")
            if report == "error_cleared":
                return ErrorCleared(code=code)
            return ErrorRaised(code=code, latched=bool(spec.fields.get("latched", False)))
        hand, number = self._place(body) if report in _PLACED else (None, None)
        code = self._key("card", body)
        if code not in self._faces:
            return CardUnreadable(hand=hand, number=number)
        return self._card(spec, body, self._faces[code], (hand, number))

    def _card(
        self,
        spec: FixedReport,
        body: bytes,
        face: Card | None,
        place: tuple[Hand | None, int | None],
    ) -> AnyReport:
        hand, number = place
        report = spec.report
        if report == "card_drawn":
            return CardDrawn(hand=hand, number=number, face=face)
        if report == "first_card":
            return FirstCard(face=face)
        if report == "burn_card":
            return BurnCard(face=face, left=self._number("left", body))
        if report == "card_out_of_game":
            return CardOutOfGame(reason=str(spec.fields["reason"]), face=face)
        if hand is None or number is None:
            raise Unreadable
        if report == "card_carried_over":
            return CardCarriedOver(hand=hand, number=number, face=face)
        if face is None:
            raise Unreadable
        return CardRevealed(hand=hand, number=number, face=face)

    def _key(self, name: _FieldName, body: bytes) -> str:
        """Return a field's value as the tables write it; empty if there is no such field."""
        spec = self._table.fields.get(name)
        if spec is None:
            return ""
        if spec.field is not None:
            fields = body.split(self._table.separator.encode())
            if spec.field >= len(fields):
                raise Unreadable
            value = fields[spec.field]
        else:
            at = spec.at - self._taken
            value = body[at : at + spec.width]
            if len(value) < spec.width:
                raise Unreadable
        return value.decode("latin-1") if self._table.text else value.hex().upper()

    def _kind(self, body: bytes) -> str:
        """Return the kind; empty for a report that ends before it, where the table has that."""
        try:
            return self._key("kind", body)
        except Unreadable:
            if "" in self._table.kinds:
                return ""
            raise

    def _number(self, name: _FieldName, body: bytes) -> int | None:
        key = self._key(name, body)
        try:
            return int(key, 10 if self._table.text else 16) if key else None
        except ValueError:
            raise Unreadable from None

    def _place(self, body: bytes) -> tuple[Hand | None, int | None]:
        code = self._key("hand", body)
        hand = Hand(look_up(self._table.hands, code)) if code else None
        number = self._number("number", body)
        if number is not None and not 1 <= number <= _LAST_NUMBER:
            raise Unreadable
        return hand, number


def _faces(table: FieldTable) -> dict[str, Card | None]:
    found: dict[str, Card | None] = {}
    wrong = []
    for code, text in table.faces.items():
        face = None if text == WITHHELD else face_of(text)
        if face is None and text != WITHHELD:
            wrong.append(f"codes.faces.{code}: {text!r} is no card, such as 4S or TH")
        found[code] = face
    if wrong:
        raise ConfigError("; ".join(wrong))
    return found


def _fixed(table: FieldTable) -> dict[str, AnyReport]:
    found: dict[str, AnyReport] = {}
    wrong = []
    for kind, spec in table.kinds.items():
        where = f"codes.kinds.{kind}"
        missing = _NEEDS.get(spec.report, frozenset()) - set(table.fields)
        if missing:
            wrong.append(f"{where}: {spec.report} needs the fields {', '.join(sorted(missing))}")
        if spec.report == "card_out_of_game" and "reason" not in spec.fields:
            wrong.append(f'{where}: card_out_of_game needs fields = {{ reason = "..." }}')
        if spec.report in _NEEDS or spec.report == IDLE:
            continue
        try:
            found[kind] = fixed_report(where, spec.report, spec.fields)
        except ConfigError as error:
            wrong.append(str(error))
    if "kind" not in table.fields and set(table.kinds) != {""}:
        wrong.append('codes.kinds: without a field `kind` there is one kind, under the key ""')
    if wrong:
        raise ConfigError("; ".join(wrong))
    return found
