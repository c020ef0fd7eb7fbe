"""`[limits]` of a table's configuration: the house's own limits over the rulebook's."""

from typing import Annotated

from msgspec import Meta, Struct

from events.types.wagers import BetLimits, LimitsSet

__all__ = ["BetLimitsConfig", "LimitsConfig"]

_Amount = Annotated[int, Meta(ge=1, le=2**53 - 1)]


class BetLimitsConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits of one bet, minor units; those left out are the rulebook's.

    Args:
        minimum: the smallest stake.
        maximum: the largest.
        step: stakes are multiples of it.
    """

    minimum: _Amount | None = None
    maximum: _Amount | None = None
    step: _Amount | None = None


class LimitsConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits of the table, minor units; those left out are the rulebook's.

    Args:
        table_maximum: all stakes of a coup together.
        differential: between all Player and all Banker stakes.
        bets: bet to its limits.
    """

    table_maximum: _Amount | None = None
    differential: _Amount | None = None
    bets: dict[str, BetLimitsConfig] = {}

    def as_event(self) -> LimitsSet:
        """Return the limits as an event, bets in the order of their names."""
        return LimitsSet(
            bets=tuple(
                BetLimits(bet=bet, minimum=each.minimum, maximum=each.maximum, step=each.step)
                for bet, each in sorted(self.bets.items())
            ),
            table_maximum=self.table_maximum,
            differential=self.differential,
        )
