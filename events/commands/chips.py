"""Commands for the table's chips: float, fill, credit, counts, drop and their corrections.

Amounts are pieces by denomination, never a sum that a person worked out. `signed` are opaque staff
references, at least two: nobody counts chips alone.
"""

from events.commands.base import Command
from events.types import ChipMove, Pieces

__all__ = [
    "ChipCommand",
    "CloseFloat",
    "CorrectChips",
    "CountChips",
    "CountDrop",
    "Credit",
    "Fill",
    "OpenFloat",
]


class ChipCommand(Command, frozen=True, kw_only=True):
    """The common field of all commands for chips: who signed."""

    signed: tuple[str, ...] = ()


class OpenFloat(ChipCommand, frozen=True, kw_only=True):
    """Open a float: the tray was counted, and the table takes it over.

    Args:
        float_id: `YYYYMMDD-NN` by the site's business day; ids rise.
        currency: the rulebook's, said again by whoever counted.
        chips: a row for each denomination; none of a denomination is a row as well.
    """

    float_id: str
    currency: str
    chips: tuple[Pieces, ...]


class Fill(ChipCommand, frozen=True, kw_only=True):
    """Record a fill: the cage brought chips to the open float.

    Args:
        slip: the fill slip's number, never used for another.
        reference: the cage's own.
        chips: what came.
    """

    slip: str
    reference: str = ""
    chips: tuple[Pieces, ...]


class Credit(ChipCommand, frozen=True, kw_only=True):
    """Record a credit: chips of the open float went back to the cage."""

    slip: str
    reference: str = ""
    chips: tuple[Pieces, ...]


class CountChips(ChipCommand, frozen=True, kw_only=True):
    """Record a count of the open float's tray; `occasion` names why, such as a shift change."""

    occasion: str = ""
    chips: tuple[Pieces, ...]


class CloseFloat(ChipCommand, frozen=True, kw_only=True):
    """Close the float: the tray was counted a last time and locked."""

    chips: tuple[Pieces, ...]


class CountDrop(ChipCommand, frozen=True, kw_only=True):
    """Record what the count room found in a drop box.

    Args:
        float_id: during which float it hung at the table.
        box: its number.
        notes: what lay in it; no row for an empty box.
        reason: why a box is counted again; empty for the first count.
    """

    float_id: str
    box: str
    notes: tuple[Pieces, ...]
    reason: str = ""


class CorrectChips(ChipCommand, frozen=True, kw_only=True):
    """Correct a count or a slip that was misread.

    Args:
        float_id: whose.
        move: the opening, a fill, a credit or the closing.
        slip: the slip's number, for a fill or a credit.
        chips: what it really was; no row for a slip that is void.
        reason: why.
    """

    float_id: str
    move: ChipMove
    slip: str = ""
    chips: tuple[Pieces, ...]
    reason: str
