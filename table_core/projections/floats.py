"""The projection of the table's floats for consoles and the cage: sums, and each slip. Pure."""

from msgspec import Struct

from events.types.chips import ChipMove, amount_of
from table_core.state.floats import TableFloat

__all__ = ["FloatView", "SlipView", "project_float"]


class SlipView(Struct, frozen=True, kw_only=True):
    """A fill's or a credit's slip, minor units; nothing where it is void."""

    move: ChipMove
    slip: str
    amount: int


class FloatView(Struct, frozen=True, kw_only=True):
    """One float, minor units; `closing` is null while it is open.

    Args:
        float_id: `YYYYMMDD-NN`.
        currency: ISO 4217.
        opening: counted at the opening.
        counted: by the last count between; null before the first.
        closing: counted at the closing.
        slips: fills and credits, in order.
        drop: what its drop boxes held, as far as they were counted.
    """

    float_id: str
    currency: str
    opening: int
    counted: int | None
    closing: int | None
    slips: tuple[SlipView, ...]
    drop: int | None


def project_float(each: TableFloat) -> FloatView:
    """Return the sums of a float."""
    return FloatView(
        float_id=each.id,
        currency=each.currency,
        opening=amount_of(each.opening),
        counted=None if each.counted is None else amount_of(each.counted),
        closing=None if each.closing is None else amount_of(each.closing),
        slips=tuple(
            SlipView(move=slip.move, slip=slip.number, amount=amount_of(slip.chips))
            for slip in each.slips
        ),
        drop=sum(amount for _, amount in each.drops) if each.drops else None,
    )
