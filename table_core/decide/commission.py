"""Commands about marked commission: collect it, give it up, recover it. Pure."""

from collections.abc import Sequence
from typing import Final

from events.commands.base import Refusal
from events.commands.commission import CollectCommission, MarkUncollected, RecoverCommission
from events.types.commission import (
    CommissionCollected,
    CommissionRecovered,
    CommissionUncollected,
    SeatAmount,
)
from table_core.decide.decision import ANY, DecisionContext, Handlers, Offers
from table_core.refusals import Decision
from table_core.state.table import TableState

__all__ = ["HANDLERS", "OFFERS", "collect_commission", "mark_uncollected", "recover_commission"]


def collect_commission(
    state: TableState, command: CollectCommission, _: DecisionContext
) -> Decision:
    """Collect what one seat or all seats owe, or a part of what one owes."""
    owed = state.commission.outstanding
    if command.seat is None:
        if command.amount is not None:
            return Refusal(code="invalid_amount", text="an amount belongs to one seat; name it")
        if not owed:
            return _nothing("outstanding")
        return (CommissionCollected(method="paid", amounts=owed),)
    amounts = _of_seat(owed, command.seat, command.amount, "outstanding")
    if isinstance(amounts, Refusal):
        return amounts
    return (CommissionCollected(method="paid", amounts=amounts),)


def mark_uncollected(state: TableState, command: MarkUncollected, _: DecisionContext) -> Decision:
    """Give up all that a seat owes for now, with the reason."""
    if not command.reason.strip():
        return Refusal(code="reason_required", text="say why it cannot be collected")
    amounts = _of_seat(state.commission.outstanding, command.seat, None, "outstanding")
    if isinstance(amounts, Refusal):
        return amounts
    return (CommissionUncollected(amounts=amounts, reason=command.reason),)


def recover_commission(
    state: TableState, command: RecoverCommission, _: DecisionContext
) -> Decision:
    """Collect commission that had been given up, or a part of it."""
    given_up = state.commission.uncollected
    amounts = _of_seat(given_up, command.seat, command.amount, "uncollected")
    if isinstance(amounts, Refusal):
        return amounts
    return (CommissionRecovered(amounts=amounts),)


def _of_seat(
    owed: Sequence[SeatAmount], seat: int, amount: int | None, what: str
) -> tuple[SeatAmount, ...] | Refusal:
    """Return the amount of one seat, not more than it owes; else the refusal."""
    due = next((each.amount for each in owed if each.seat == seat), 0)
    if not due:
        return _nothing(what)
    if amount is not None and not 0 < amount <= due:
        text = f"{amount} is not between 1 and the {due} {what} of seat {seat}"
        return Refusal(code="invalid_amount", text=text)
    return (SeatAmount(seat=seat, amount=due if amount is None else amount),)


def _nothing(what: str) -> Refusal:
    return Refusal(code=f"nothing_{what}", text=f"no commission is {what} there")


HANDLERS: Final[Handlers] = {
    CollectCommission: collect_commission,
    MarkUncollected: mark_uncollected,
    RecoverCommission: recover_commission,
}
OFFERS: Final = Offers(bare=(CollectCommission(transaction=ANY),))
