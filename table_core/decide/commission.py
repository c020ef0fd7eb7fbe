"""Commands about marked commission: collect it, give it up, recover it. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final

from events.commands import CollectCommission, MarkUncollected, RecoverCommission, Refusal
from events.types import (
    CommissionCollected,
    CommissionRecovered,
    CommissionUncollected,
    PayerAmount,
)
from table_core.decide.decision import ANY, DecisionContext, Handlers, Offers
from table_core.refusals import Decision, refuse
from table_core.rules.commission_owed import Debt
from table_core.state.table import TableState

__all__ = ["HANDLERS", "OFFERS", "collect_commission", "mark_uncollected", "recover_commission"]


def collect_commission(
    state: TableState, command: CollectCommission, context: DecisionContext
) -> Decision:
    """Collect what one seat or all seats owe, or a part of what one owes."""
    if command.seat is None and command.amount is not None:
        return Refusal(code="invalid_amount", text="an amount belongs to one seat; name it")
    parts = _parts(state, command, "outstanding", command.amount)
    if isinstance(parts, Refusal):
        return parts
    return tuple(
        CommissionCollected(
            coup=coup, method="paid", currency=_currency(debts, context), amounts=_amounts(debts)
        )
        for coup, debts in _by_coup(parts)
    )


def mark_uncollected(
    state: TableState, command: MarkUncollected, context: DecisionContext
) -> Decision:
    """Give up all that a seat owes for now, with the reason."""
    if not command.reason.strip():
        return Refusal(code="reason_required", text="say why it cannot be collected")
    parts = _parts(state, command, "outstanding", None)
    if isinstance(parts, Refusal):
        return parts
    return tuple(
        CommissionUncollected(
            coup=coup,
            currency=_currency(debts, context),
            amounts=_amounts(debts),
            reason=command.reason,
        )
        for coup, debts in _by_coup(parts)
    )


def recover_commission(
    state: TableState, command: RecoverCommission, context: DecisionContext
) -> Decision:
    """Collect commission that had been given up, or a part of it."""
    parts = _parts(state, command, "uncollected", command.amount)
    if isinstance(parts, Refusal):
        return parts
    return tuple(
        CommissionRecovered(coup=coup, currency=_currency(debts, context), amounts=_amounts(debts))
        for coup, debts in _by_coup(parts)
    )


_Part = tuple[Debt, int]
"""A debt, and how much of it moves."""


def _parts(
    state: TableState,
    command: CollectCommission | MarkUncollected | RecoverCommission,
    what: str,
    amount: int | None,
) -> list[_Part] | Refusal:
    """Return the debts that a command is about, and how much of each, oldest first.

    Args:
        state: of the table.
        command: names seat, patron and coup, where it means only those.
        what: the part of a debt, `outstanding` or `uncollected`.
        amount: minor units; None for all.
    """
    chosen = [
        debt
        for debt in state.commission.debts
        if getattr(debt, what)
        and command.seat in {None, debt.seat}
        and command.patron in {None, debt.patron or ""}
        and command.coup in {None, debt.coup}
    ]
    due = sum(getattr(debt, what) for debt in chosen)
    if not due:
        return refuse(f"nothing_{what}", f"no commission is {what} there")
    if amount is None:
        return [(debt, getattr(debt, what)) for debt in chosen]
    if fault := _several(chosen, part=0 < amount < due):
        text = f"seat {command.seat}: {fault}; say whose {amount} it is, by patron or coup"
        return refuse("debt_required", text)
    if not 0 < amount <= due:
        text = f"{amount} is not between 1 and the {due} {what} of seat {command.seat}"
        return refuse("invalid_amount", text)
    return _oldest_first(chosen, what, amount)


def _several(debts: Sequence[Debt], *, part: bool) -> str:
    """Return why an amount of these debts says too little; empty where it is clear.

    Args:
        debts: those that are meant.
        part: whether the amount is less than they come to. A part has to be one payer's.
    """
    currencies = sorted({debt.currency for debt in debts} - {""})
    if len(currencies) > 1:
        return f"debts in {', '.join(currencies)}"
    patrons = sorted({debt.patron or "no patron" for debt in debts})
    return f"debts of {', '.join(patrons)}" if part and len(patrons) > 1 else ""


def _oldest_first(debts: Iterable[Debt], what: str, amount: int) -> list[_Part]:
    found: list[_Part] = []
    for debt in debts:
        part = min(amount, getattr(debt, what))
        if part:
            found.append((debt, part))
        amount -= part
    return found


def _by_coup(parts: Iterable[_Part]) -> Iterable[tuple[str, list[_Part]]]:
    coups: dict[str, list[_Part]] = {}
    for debt, amount in parts:
        coups.setdefault(debt.coup, []).append((debt, amount))
    return coups.items()


def _currency(parts: Sequence[_Part], context: DecisionContext) -> str:
    """Return the currency of one coup's debts; an old log has none but the table's."""
    return parts[0][0].currency or context.rulebook.currency


def _amounts(parts: Iterable[_Part]) -> tuple[PayerAmount, ...]:
    ordered = sorted(parts, key=lambda part: (part[0].seat, part[0].patron or ""))
    return tuple(
        PayerAmount(seat=debt.seat, amount=amount, patron=debt.patron) for debt, amount in ordered
    )


HANDLERS: Final[Handlers] = {
    CollectCommission: collect_commission,
    MarkUncollected: mark_uncollected,
    RecoverCommission: recover_commission,
}
OFFERS: Final = Offers(bare=(CollectCommission(transaction=ANY),))
