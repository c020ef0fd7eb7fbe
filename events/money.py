"""Money is an integer of minor units; odds are rationals; every rounding is named.

No float ever holds an amount. Rounding goes to a multiple of the payable unit: payouts up and
commission down unless a rulebook says otherwise (both in the patron's favour).
"""

from enum import Enum
from typing import Final

from msgspec import Struct

from events.errors import InputError

__all__ = ["MAX_AMOUNT", "MAX_STAKE", "Odds", "Rounding", "parse_odds", "scale"]

# JSON numbers keep integers exactly up to here in every reader (RFC 8259, section 6).
MAX_AMOUNT: Final = 2**53 - 1

# A rulebook's odds are at most 1,000 to 1: what comes back of such a stake is still an amount.
MAX_STAKE: Final = MAX_AMOUNT // 1_001


class Rounding(Enum):
    """Where an amount goes that is no multiple of the payable unit."""

    UP = "up"
    DOWN = "down"
    NEAREST = "nearest"


class Odds(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """`num` to `den`: 8 to 1 is (8, 1), 27 to 50 is (27, 50), 5 per cent is (1, 20)."""

    num: int
    den: int = 1

    def __str__(self) -> str:
        return f"{self.num}/{self.den}"


def parse_odds(text: str) -> Odds:
    """Read `8`, `27/50` or `1/20`.

    Raises:
        InputError: not a non-negative ratio of integers.
    """
    num, slash, den = text.strip().partition("/")
    if not num.isdecimal() or (slash and (not den.isdecimal() or int(den) == 0)):
        raise InputError(f"{text!r} is not a ratio; write it as 8, 1/2 or 27/50")
    return Odds(int(num), int(den) if slash else 1)


def scale(amount: int, odds: Odds, *, unit: int = 1, rounding: Rounding) -> int:
    """`amount` x `odds`, rounded to a multiple of `unit`; all in minor units.

    Args:
        amount: minor units, not negative.
        odds: the ratio to apply.
        unit: the smallest payable amount, in minor units.
        rounding: what to do between two multiples of the unit; NEAREST sends halves up.
    """
    numerator, step = amount * odds.num, odds.den * unit
    if rounding is Rounding.UP:
        return -(-numerator // step) * unit
    if rounding is Rounding.DOWN:
        return numerator // step * unit
    return (2 * numerator + step) // (2 * step) * unit
