"""Finds the coups whose commission release 0.1.0 told wrong, from the events that it wrote. Pure.

It kept commission as balances of seats. So a reversal could take what the seat owed for another
coup, give back another seat's payment out of what had been recovered, and a corrected timing could
record as taken what nobody had paid, or as owed what had been deducted. The money of such a coup is
to be looked at by a person; nothing is refused for it.
"""

from typing import Final

from events.types import CommissionAccrued, CommissionReversed, TableEvent
from table_core.rules.commission_owed import CommissionBook, Debt

__all__ = ["CommissionInDoubt"]

_AT_ONCE: Final = frozenset({"deduct", "prepaid"})


class CommissionInDoubt:
    """Collects the coups in one pass over a log.

    Attributes:
        coups: their ids, in the order in which they were found.
    """

    def __init__(self) -> None:
        self.coups: tuple[str, ...] = ()
        # By coup that was reversed: whether that was at once, and whether it was still owed.
        self._reversed: dict[str, tuple[bool, bool]] = {}

    def take(self, before: CommissionBook, event: TableEvent) -> None:
        """Take the next event of the log, and the commission before it."""
        if isinstance(event, CommissionReversed) and not event.currency:
            self._take_reversed(before, event)
        elif isinstance(event, CommissionAccrued) and not event.currency:
            at_once, owed = self._reversed.pop(event.coup, (event.timing in _AT_ONCE, False))
            if (at_once is not (event.timing in _AT_ONCE)) and (at_once or owed):
                self._doubt(event.coup)

    def _take_reversed(self, before: CommissionBook, event: CommissionReversed) -> None:
        at_once, back, recovered, owed = event.timing in _AT_ONCE, 0, 0, False
        for each in event.amounts:
            debts = [debt for debt in before.debts if debt.seat == each.seat]
            own = next((debt for debt in debts if debt.coup == event.coup), None)
            own = own or Debt(coup=event.coup, seat=each.seat)
            left = each.amount
            for part in () if at_once else ("outstanding", "uncollected"):
                off = min(left, sum(getattr(debt, part) for debt in debts))
                if off > getattr(own, part):
                    self._doubt(event.coup, *(d.coup for d in debts if getattr(d, part)))
                owed |= off > 0
                left -= off
            back += left
            recovered += min(left, own.recovered)
        if recovered != max(0, back - before.collected):
            self._doubt(event.coup)
        self._reversed[event.coup] = (at_once, owed)

    def _doubt(self, *coups: str) -> None:
        self.coups = tuple(dict.fromkeys((*self.coups, *coups)))
