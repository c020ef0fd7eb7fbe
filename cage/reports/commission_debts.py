"""The ledger's commission by debt, to be compared with the debts that the table keeps. Pure.

A debt has a coup, a seat and a patron. Entries of 0.1.0 have balances of seats and no currency: a
seat that has one is compared as a whole, and by what is still to be paid.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from cage.ledger.entries import Posting

__all__ = ["CommissionDebts", "DebtFigures"]

_PARTS: Final = ("outstanding", "uncollected", "recovered", "refundable")
_STILL_TO_PAY: Final = _PARTS[:2]
_Key = tuple[str, int, str]
"""A coup, a seat, and the patron or an empty text."""


class DebtFigures(Struct, frozen=True, kw_only=True):
    """A debt as the table keeps it, in minor units.

    Args:
        coup: the coup's id; empty where an old log does not say.
        seat: of the wagers.
        patron: their opaque reference, or empty.
        outstanding: owed and not yet taken.
        uncollected: given up and still unpaid.
        recovered: paid after it had been given up.
        refundable: reversed after it was taken, and not yet given back.
    """

    coup: str
    seat: int
    patron: str
    outstanding: int = 0
    uncollected: int = 0
    recovered: int = 0
    refundable: int = 0


class CommissionDebts:
    """Adds up postings by debt; it holds only the debts of which something is left.

    Attributes:
        old_seats: the seats that have an entry without a currency.
    """

    def __init__(self) -> None:
        self.old_seats: set[int] = set()
        self._parts: dict[_Key, Counter[str]] = {}

    def take(self, coup: str, currency: str, postings: Iterable[Posting]) -> None:
        """Take the postings of the next entry."""
        for posting in postings:
            if posting.account not in _PARTS:
                continue
            if not currency:
                self.old_seats.add(posting.seat)
            sign = -1 if posting.account == "refundable" else 1  # the liability among them
            key = (coup, posting.seat, posting.patron)
            parts = self._parts.setdefault(key, Counter())
            parts[posting.account] += sign * posting.amount
            if not any(parts.values()):
                del self._parts[key]

    def difference(self, debts: Iterable[DebtFigures]) -> tuple[str, str] | None:
        """Return the coup of the first debt that the table keeps otherwise, and what differs."""
        held = self._summed((*key, parts) for key, parts in self._parts.items())
        said = self._summed(
            (each.coup, each.seat, each.patron, {part: getattr(each, part) for part in _PARTS})
            for each in debts
        )
        for key in sorted({*held, *said}):
            coup, seat, patron = key
            for part in _STILL_TO_PAY if seat in self.old_seats else _PARTS:
                is_, ought = held.get(key, Counter())[part], said.get(key, Counter())[part]
                if is_ != ought:
                    who = f"seat {seat}{f', patron {patron}' if patron else ''}"
                    return coup, f"{who}: {part} {is_} in the ledger and {ought} by the table's own"
        return None

    def _summed(
        self, rows: Iterable[tuple[str, int, str, dict[str, int]]]
    ) -> dict[_Key, Counter[str]]:
        sums: dict[_Key, Counter[str]] = {}
        for coup, seat, patron, parts in rows:
            key = ("", seat, "") if seat in self.old_seats else (coup, seat, patron)
            sums.setdefault(key, Counter()).update(parts)
        return sums
