"""The floats that the table remembers: chips counted, brought and taken. Pure."""

from typing import Final

from msgspec import Struct

from events.types.chips import ChipMove, Pieces

__all__ = ["KEPT_FLOATS", "MOST_SLIPS", "Slip", "TableFloat"]

KEPT_FLOATS: Final = 8
"""Two or three make a day. The table no longer waits for an older float's drop box, and no longer
notices a slip number used again; the ledger's report still names both."""

MOST_SLIPS: Final = 100
"""Of one float: many more than any table sees between two counts, and a bound on the state."""


class Slip(Struct, frozen=True, gc=False):
    """A fill's or a credit's slip as corrected; without chips it is void."""

    move: ChipMove
    number: str
    chips: tuple[Pieces, ...]


class TableFloat(Struct, frozen=True, gc=False, kw_only=True):
    """One float, from its opening to its closing and the count of its drop.

    Args:
        id: `YYYYMMDD-NN`.
        currency: ISO 4217.
        opening: counted at the opening.
        slips: fills and credits, in order.
        counted: by the last count between; None before the first.
        closing: counted at the closing; None while it is open.
        drops: each drop box that was counted, and its amount in minor units.
    """

    id: str
    currency: str
    opening: tuple[Pieces, ...]
    slips: tuple[Slip, ...] = ()
    counted: tuple[Pieces, ...] | None = None
    closing: tuple[Pieces, ...] | None = None
    drops: tuple[tuple[str, int], ...] = ()

    @property
    def open(self) -> bool:
        """Whether the float is in use."""
        return self.closing is None

    def recorded(self, move: ChipMove, slip: str) -> tuple[Pieces, ...] | None:
        """Return the chips recorded for a move; None where there is no record."""
        if move == "opening":
            return self.opening if not slip else None
        if move == "closing":
            return self.closing if not slip else None
        found = (each.chips for each in self.slips if (each.move, each.number) == (move, slip))
        return next(found, None)
