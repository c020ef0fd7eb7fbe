"""The auditor's chips: purses, the house's tray, and what lies on the table between them."""

from collections import Counter

from events.types.commission import (
    CommissionCollected,
    CommissionPrepaid,
    CommissionReturned,
    CommissionReversed,
    SeatAmount,
)
from events.types.table import SettlementLine
from simulators.world.auditor.audited_coup import require

__all__ = ["Chips"]


class Chips:
    """They move, and come from nowhere never.

    Args:
        prepaid: commission is laid beside the wagers in advance (seed 3); else it is kept back of
            what is paid, and is no chip of its own.

    Attributes:
        purse: by seat, chips that went to the table (below nothing) or came back.
        tray: the house's.
    """

    def __init__(self, *, prepaid: bool) -> None:
        self.purse: Counter[int] = Counter()
        self.tray = 0
        self._prepaid = prepaid
        self._laid = 0  # what lies on all layouts
        self._beside: Counter[int] = Counter()  # of it, commission laid in advance, by seat
        self._taken: Counter[str | None] = Counter()  # and what the house took of it, by coup

    def hold(self) -> None:
        """Purses, tray and table together are what they were.

        Raises:
            Violation: they are not.
        """
        total = self.purse.total() + self.tray + self._laid
        require(total == 0, f"{total} of the chips came from nowhere")

    def lay(self, seat: int, stake: int) -> None:
        """A seat lays a stake; a negative one goes back to it."""
        self.purse[seat] -= stake
        self._laid += stake

    def settle(self, line: SettlementLine, stake: int) -> None:
        """A wager is settled, and leaves the layout."""
        self._hand_over(line, stake, 1)

    def take_back(self, line: SettlementLine, stake: int) -> None:
        """It lies there again as if it had not been settled."""
        self._hand_over(line, stake, -1)

    def beside(self, event: CommissionPrepaid | CommissionReturned) -> None:
        """Commission is laid in advance, or goes back to its seat."""
        way = 1 if isinstance(event, CommissionPrepaid) else -1
        for each in event.amounts:
            self._move_beside(each, way)
            self.purse[each.seat] -= way * each.amount

    def commission(self, event: CommissionCollected | CommissionReversed) -> None:
        """The house takes what lies beside, or gives back what it had taken."""
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
        """A coup is over, and its settlements in force say that so much commission is owed.

        Raises:
            Violation: something lies beside the wagers still, or another sum was taken.
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

    def _move_beside(self, each: SeatAmount, way: int) -> None:
        self._beside[each.seat] += way * each.amount
        self._laid += way * each.amount
        left = self._beside[each.seat]
        require(left >= 0, f"seat {each.seat} has {left} beside its wagers")
