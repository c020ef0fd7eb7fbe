"""Events about wagers besides placing and settling: limits, voided wagers, aggregate maxima."""

from typing import Literal

from msgspec import Struct

from events.types.table import Refund, TableEvent

__all__ = ["AggregateCapped", "BetLimits", "CappedWager", "LimitsSet", "Per", "WagersVoided"]

Per = Literal["patron", "seat", "spot", "wager"]
"""What a minimum and a maximum of a bet bind.

`patron`: the sum of one patron reference over all seats, or of one seat where there is no
reference. `seat`: the sum of a box, whoever laid it. `spot`: the sum of one patron in one box.
`wager`: each wager by itself.
"""


class BetLimits(
    Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A table's own limits for one bet, minor units; None leaves the rulebook's.

    Args:
        bet: the bet's id.
        minimum: the smallest amount that may be bet.
        maximum: the largest.
        step: stakes are multiples of it.
        per: what minimum and maximum bind.
        table_maximum: all patrons' stakes on the bet together.
    """

    bet: str
    minimum: int | None = None
    maximum: int | None = None
    step: int | None = None
    per: Per | None = None
    table_maximum: int | None = None


class LimitsSet(TableEvent, frozen=True, kw_only=True):
    """From here on the table takes wagers within these limits, minor units.

    Args:
        bets: limits of single bets; one that is not named has the rulebook's.
        table_maximum: all stakes of a coup together; None leaves the rulebook's.
        differential: between all Player and all Banker stakes; None leaves the rulebook's.
        patron_maximum: all stakes of one patron; None leaves the rulebook's.
        seat_maximum: all stakes in one box; None leaves the rulebook's.
    """

    TYPE = "limits_set"
    VERSION = 2
    bets: tuple[BetLimits, ...] = ()
    table_maximum: int | None = None
    differential: int | None = None
    patron_maximum: int | None = None
    seat_maximum: int | None = None


class WagersVoided(TableEvent, frozen=True, kw_only=True):
    """Wagers that broke a rule when betting closed; their stakes go back.

    Args:
        coup: the coup's id.
        code: why, as a refusal of `place_wager` would say it.
        refunds: the wagers and their stakes.
    """

    TYPE = "wagers_voided"
    coup: str
    code: str
    refunds: tuple[Refund, ...]


class CappedWager(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """The winnings of one wager after the cut of an aggregate maximum, minor units."""

    wager: str
    winnings: int
    paid: int


class AggregateCapped(TableEvent, frozen=True, kw_only=True):
    """An aggregate maximum cut the winnings of a coup (seed 3: "Maximum payout per round of play").

    Args:
        coup: the coup's id.
        settlement_id: the settlement it belongs to.
        maximum: the aggregate, minor units.
        scope: `table` or `patron`.
        wagers: those that share it, in placing order, before and after.
    """

    TYPE = "aggregate_capped"
    coup: str
    settlement_id: str
    maximum: int
    scope: str
    wagers: tuple[CappedWager, ...]
