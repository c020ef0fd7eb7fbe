"""How many characters the texts of a command may have."""

from typing import Final

from events.free_text import TextLengths

__all__ = ["COMMAND_LENGTHS", "MOST_IN_TRANSACTION"]

MOST_IN_TRANSACTION: Final = 128

COMMAND_LENGTHS: Final = TextLengths(
    other=128,
    by_field={
        "transaction": MOST_IN_TRANSACTION,
        "request": MOST_IN_TRANSACTION,  # the transaction of another request
        "reason": 500,
        # A wager's id holds its user, its transaction and its number.
        "wager": 384,
        "wagers": 384,
        # References that are keys.
        "box": 64,
        "reference": 64,
        "signed": 64,
        "slip": 64,
    },
)
"""Longer texts are refused (`invalid_text`); events of earlier builds may contain them."""
