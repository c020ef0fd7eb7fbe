"""Commands about wagers: place, withdraw, and the table's own limits."""

from msgspec import Struct

from events.commands.base import Command
from events.types import BetLimits, WagerKind

__all__ = ["PlaceWager", "SetLimits", "WagerRequest", "WithdrawWager"]


class WagerRequest(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """One wager as it is asked for.

    Args:
        seat: 1 to 99.
        bet: the bet's id, such as `banker`.
        stake: minor units.
        patron: an opaque reference, where the site keeps one; never a name.
        kind: `chips`, `promo` or `toke`.
    """

    seat: int
    bet: str
    stake: int
    patron: str | None = None
    kind: WagerKind = "chips"


class PlaceWager(Command, frozen=True, kw_only=True):
    """Place these wagers: all of them, or none.

    Args:
        wagers: in order.
        coup: in this coup alone; None for whichever takes wagers when the command comes.
    """

    wagers: tuple[WagerRequest, ...]
    coup: str | None = None


class WithdrawWager(Command, frozen=True, kw_only=True):
    """Take wagers back while betting is open."""

    wagers: tuple[str, ...]


class SetLimits(Command, frozen=True, kw_only=True):
    """Set the table's own limits from the next coup on."""

    bets: tuple[BetLimits, ...] = ()
    table_maximum: int | None = None
    differential: int | None = None
    patron_maximum: int | None = None
    seat_maximum: int | None = None
