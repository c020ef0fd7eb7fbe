"""Money as integers of minor units, odds as ratios of integers, and named rounding.

No float ever holds an amount. Amounts are rounded to a multiple of the payable unit: payouts up and
commission down, unless a rulebook says otherwise. Both favour the patron.
"""

import re
from enum import Enum
from typing import Final

from msgspec import Struct

from events.errors import InputError

__all__ = [
    "MAX_AMOUNT",
    "MAX_DECIMALS",
    "MAX_STAKE",
    "UNKNOWN_CURRENCY",
    "Currency",
    "Odds",
    "Rounding",
    "parse_odds",
    "scale",
]

# Every JSON reader keeps integers exactly up to here (RFC 8259, section 6).
MAX_AMOUNT: Final = 2**53 - 1

# A rulebook's odds are at most 1,000 to 1, so the payout of such a stake is still an amount.
MAX_STAKE: Final = MAX_AMOUNT // 1_001


# ISO 4217 knows currencies with as many, such as CLF.
MAX_DECIMALS: Final = 4


class Currency(Struct, frozen=True, forbid_unknown_fields=True):
    """The currency of amounts.

    Args:
        code: ISO 4217; empty where it is not known.
        decimals: how many of an amount's last digits stand after the point: 2 where the minor unit
            is a hundredth.
    """

    code: str
    decimals: int

    def __str__(self) -> str:
        return self.code

    @property
    def said(self) -> str:
        """The currency for people to whom the decimals matter: `AUD with 2 decimals`."""
        return f"{self.code} with {self.decimals} decimals"


UNKNOWN_CURRENCY: Final = Currency("", 2)
"""Of amounts whose rulebook is not at hand: they are shown in hundredths, and the page says so."""


class Rounding(Enum):
    """How to round an amount that is not a multiple of the payable unit."""

    UP = "up"
    DOWN = "down"
    NEAREST = "nearest"


# Until Python 3.12 a member looked up in its class costs more than the whole of `scale`.
_UP, _DOWN = Rounding.UP, Rounding.DOWN


# Python's own tests for digits know those of every script; other readers know these ten only.
_RATIO: Final = re.compile(r"[ \t]*(?P<num>[0-9]+)(?:/(?P<den>[0-9]+))?[ \t]*")


class Odds(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """Odds of `num` to `den`: 8 to 1 is (8, 1), 27 to 50 is (27, 50), 5 per cent is (1, 20)."""

    num: int
    den: int = 1

    def __str__(self) -> str:
        return f"{self.num}/{self.den}"


def parse_odds(text: str) -> Odds:
    """Parse `8`, `27/50` or `1/20`.

    Raises:
        InputError: the text is not a non-negative ratio of integers.
    """
    ratio = _RATIO.fullmatch(text)
    if ratio is None or int(ratio["den"] or 1) == 0:
        raise InputError(f"{text!r} is not a ratio; write it as 8, 1/2 or 27/50")
    return Odds(int(ratio["num"]), int(ratio["den"] or 1))


def scale(amount: int, odds: Odds, *, unit: int = 1, rounding: Rounding) -> int:
    """Return `amount` x `odds`, rounded to a multiple of `unit`; all in minor units.

    Args:
        amount: minor units, not negative.
        odds: the ratio to apply.
        unit: the smallest payable amount, in minor units.
        rounding: the direction between two multiples of the unit; NEAREST rounds halves up.
    """
    numerator, step = amount * odds.num, odds.den * unit
    if rounding is _UP:
        return -(-numerator // step) * unit
    if rounding is _DOWN:
        return numerator // step * unit
    return (2 * numerator + step) // (2 * step) * unit
