"""The auditor's chips: purses, the house's tray, and the chips on the table between them."""

from collections import Counter

from events.types import (
    CommissionCollected,
    CommissionPrepaid,
    CommissionReturned,
    CommissionReversed,
    PayerAmount,
    SettlementLine,
)
from simulators.world.auditor.audited_coup import require

__all__ = ["Chips"]


class Chips:
    """Moves chips; none is ever created.

    Args:
        prepaid: commission is laid next to the wagers in advance (seed 3); else it is deducted from
            payments, and is no chip of its own.

    Attributes:
        purse: by seat, chips that went to the table (below zero) or came back.
        tray: the house's.
    """

    def __init__(self, *, prepaid: bool) -> None:
        self.purse: Counter[int] = Counter()
        self.tray = 0
        self._prepaid = prepaid
        self._laid = 0  # chips on all layouts
        self._beside: Counter[int] = Counter()  # of it, commission laid in advance, by seat
        self._taken: Counter[str | None] = Counter()  # and the house's part of it, by coup

    def hold(self) -> None:
        """Check that the sum of purses, tray and table has not changed.

        Raises:
            Violation: it has.
        """
        total = sum(self.purse.values()) + self.tray + self._laid
        require(total == 0, "{} of the chips came from nowhere", total)

    def lay(self, seat: int, stake: int) -> None:
        """Lay a stake; return a negative one to the seat."""
        self.purse[seat] -= stake
        self._laid += stake

    def settle(self, line: SettlementLine, stake: int) -> None:
        """Settle a wager, which leaves the layout."""
        self._hand_over(line, stake, 1)

    def take_back(self, line: SettlementLine, stake: int) -> None:
        """Put a wager back on the layout, as if it had not been settled."""
        self._hand_over(line, stake, -1)

    def beside(self, event: CommissionPrepaid | CommissionReturned) -> None:
        """Lay commission in advance, or return it to its seat."""
        way = 1 if isinstance(event, CommissionPrepaid) else -1
        for each in event.amounts:
            self._move_beside(each, way)
            self.purse[each.seat] -= way * each.amount

    def commission(self, event: CommissionCollected | CommissionReversed) -> None:
        """Collect the prepaid commission for the house, or return it."""
        if not self._prepaid:
            return
        for each in event.amounts:
            if isinstance(event, CommissionCollected):
                self._move_beside(each, -1)
                self.tray += each.amount
                self._taken[event.coup] += each.amount
            else:
                self.purse[each.seat] += each.amount
                self.tray -= each.amount
                self._taken[event.coup] -= each.amount

    def at_the_end(self, coup: str, owed: int) -> None:
        """Check a coup's commission at its end, against its settlements in force.

        Raises:
            Violation: commission is still next to the wagers, or another sum was collected.
        """
        left = +self._beside
        require(not left, f"coup {coup} is over, and commission lies there: {left}")
        taken = self._taken[coup] if self._prepaid else owed
        require(taken == owed, f"coup {coup} owes {owed} of commission, and {taken} was taken")

    def _hand_over(self, line: SettlementLine, stake: int, way: int) -> None:
        paid = line.paid + (line.commission if self._prepaid else 0)
        self._laid -= way * stake
        self.purse[line.seat] += way * paid
        self.tray += way * (stake - paid)

    def _move_beside(self, each: PayerAmount, way: int) -> None:
        self._beside[each.seat] += way * each.amount
        self._laid += way * each.amount
        left = self._beside[each.seat]
        require(left >= 0, f"seat {each.seat} has {left} beside its wagers")
