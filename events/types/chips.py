"""Events about the table's chips: float opened and closed, fills, credits, counts, drop.

Drop and hold follow from these and from the wagers (docs/money/ledger.md, "Drop and
hold"). No event holds a person's name: `signed` are opaque staff references, like that of a dealer.
"""

from collections.abc import Iterable
from typing import Final, Literal

from msgspec import Struct

from events.types.table import TableEvent

__all__ = [
    "MOVES",
    "ChipEvent",
    "ChipMove",
    "ChipsCorrected",
    "ChipsCounted",
    "ChipsCredited",
    "ChipsFilled",
    "DropCounted",
    "FloatClosed",
    "FloatOpened",
    "Pieces",
    "amount_of",
]

ChipMove = Literal["opening", "fill", "credit", "closing"]
"""A movement of chips between the cage and the table's tray; a closing float returns whole."""

MOVES: Final[dict[ChipMove, int]] = {"opening": 1, "fill": 1, "credit": -1, "closing": -1}
"""The sign of each move: 1 if the tray gains, -1 if it loses."""


class Pieces(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """So many chips, or notes, of one denomination, which is in minor units."""

    denomination: int
    pieces: int


def amount_of(chips: Iterable[Pieces]) -> int:
    """Return the value of the chips, in minor units."""
    return sum(each.denomination * each.pieces for each in chips)


class ChipEvent(TableEvent, frozen=True, kw_only=True):
    """The common fields of all events about a float.

    Args:
        float_id: `YYYYMMDD-NN` by the site's business day.
        amount: the value of the pieces, minor units.
        signed: opaque references of the staff who signed.
    """

    float_id: str
    amount: int
    signed: tuple[str, ...]


class FloatOpened(ChipEvent, frozen=True, kw_only=True):
    """The tray was counted and the table takes it over, in an ISO 4217 currency."""

    TYPE = "float_opened"
    currency: str
    chips: tuple[Pieces, ...]


class ChipsFilled(ChipEvent, frozen=True, kw_only=True):
    """The cage brought chips.

    Args:
        slip: the number of the fill slip.
        reference: the cage's own, empty where it gave none.
        chips: what came.
    """

    TYPE = "chips_filled"
    slip: str
    reference: str = ""
    chips: tuple[Pieces, ...]


class ChipsCredited(ChipEvent, frozen=True, kw_only=True):
    """Chips went back to the cage; fields as of a fill."""

    TYPE = "chips_credited"
    slip: str
    reference: str = ""
    chips: tuple[Pieces, ...]


class ChipsCounted(ChipEvent, frozen=True, kw_only=True):
    """The tray was counted between opening and closing; moves nothing."""

    TYPE = "chips_counted"
    occasion: str = ""
    chips: tuple[Pieces, ...]


class FloatClosed(ChipEvent, frozen=True, kw_only=True):
    """The tray was counted a last time and locked."""

    TYPE = "float_closed"
    chips: tuple[Pieces, ...]


class DropCounted(ChipEvent, frozen=True, kw_only=True):
    """The count room has counted a drop box of this float.

    Args:
        box: the box's number.
        notes: what lay in it.
        was: what an earlier count of the same box had come to, minor units.
        reason: why it was counted again; empty for the first count.
    """

    TYPE = "drop_counted"
    box: str
    notes: tuple[Pieces, ...]
    was: int = 0
    reason: str = ""


class ChipsCorrected(ChipEvent, frozen=True, kw_only=True):
    """A count or a slip was misread, and this is what it really was.

    Args:
        move: the opening, a fill, a credit or the closing.
        slip: the slip's number; empty for a count.
        chips: what it really was; none for a slip that is void.
        was: what had been recorded, minor units.
        reason: why.
    """

    TYPE = "chips_corrected"
    move: ChipMove
    slip: str = ""
    chips: tuple[Pieces, ...]
    was: int
    reason: str
