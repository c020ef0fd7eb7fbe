"""The table's layout as the dealer's page draws it: its seats and its chips. Pure."""

import json
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

__all__ = ["NINE_SEATS", "TableLayout"]

NINE_SEATS: Final = tuple(range(1, 10))


class TableLayout(Struct, frozen=True, kw_only=True):
    """What lies on the table.

    Args:
        seats: their numbers, in the order of their places; a house may leave numbers out.
        chips: by currency, the values in minor units; a currency without any has the rulebook's.
    """

    seats: tuple[int, ...] = NINE_SEATS
    chips: Mapping[str, tuple[int, ...]] = {}

    @property
    def as_json(self) -> str:
        """The layout for the page."""
        return json.dumps({"seats": self.seats, "chips": dict(self.chips)})
