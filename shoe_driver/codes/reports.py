"""Fixed reports of a code table, and parsing a card's face from text."""

import re
from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from events.cards import Card
from events.errors import ConfigError
from events.types import AnyReport, DeviceResult, RoundForcedEnd

__all__ = [
    "FixedReport",
    "Unreadable",
    "face_of",
    "fixed_lines",
    "fixed_report",
    "look_up",
    "result_report",
]

_K = TypeVar("_K")
_V = TypeVar("_V")
_FACE: Final = re.compile(
    r"(?P<rank>[A2-9TJQK]|10)(?P<suit>[SHDC])|(?P<suit2>[SHDC])(?P<rank2>[A2-9TJQK]|10)"
)


_PAIRS: Final = 4  # bit 0 is a Player pair, bit 1 a Banker pair; the others mean nothing we know


class Unreadable(Exception):  # noqa: N818 - an inner signal, it never leaves this folder
    """Bytes do not fit their kind, or a value is in no table."""


def look_up(table: Mapping[_K, _V], code: _K) -> _V:
    """Return what a code stands for.

    Raises:
        Unreadable: it is not in the table.
    """
    if code not in table:
        raise Unreadable
    return table[code]


class FixedReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A report with fields that are always the same.

    Args:
        report: the kind of report (`events.types.shoe_reports`).
        fields: its fields.
    """

    report: str
    fields: dict[str, str | int | bool] = {}


def fixed_report(where: str, report: str, fields: Mapping[str, Any]) -> AnyReport:
    """Return the report of this kind with these fields.

    Args:
        where: the key in the profile, for messages.
        report: its kind.
        fields: its fields.

    Raises:
        ConfigError: there is no such report.
    """
    try:
        made: AnyReport = msgspec.convert({"kind": report, **fields}, AnyReport)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {error}") from error
    return made


def fixed_lines(table: Mapping[str, FixedReport]) -> dict[bytes, AnyReport]:
    """Return the reports of whole lines that a site's file gives a meaning.

    Raises:
        ConfigError: a report does not exist; names each such line.
    """
    made: dict[bytes, AnyReport] = {}
    wrong: list[str] = []
    for text, spec in table.items():
        try:
            made[text.encode()] = fixed_report(f"codes.lines.{text}", spec.report, spec.fields)
        except ConfigError as error:
            wrong.append(str(error))
    if wrong:
        raise ConfigError("; ".join(wrong))
    return made


def face_of(text: str) -> Card | None:
    """Parse a face, rank and suit in either order, ten as T or 10; None for anything else."""
    found = _FACE.fullmatch(text)
    if found is None:
        return None
    rank = found["rank"] or found["rank2"]
    return Card(("T" if rank == "10" else rank) + (found["suit"] or found["suit2"]))


def result_report(winner: str, pairs: int) -> AnyReport:
    """Return the report of a result in a table's words.

    Args:
        winner: `banker_six` and `forced_end` included.
        pairs: as bits.

    Raises:
        Unreadable: the pairs mean nothing.
    """
    if winner == "forced_end":
        return RoundForcedEnd()
    if pairs not in range(_PAIRS):
        raise Unreadable
    six = winner == "banker_six"
    return DeviceResult(
        winner="banker" if six else winner,
        player_pair=bool(pairs & 1),
        banker_pair=bool(pairs & 2),
        banker_six=six,
    )
