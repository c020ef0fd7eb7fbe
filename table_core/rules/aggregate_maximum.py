"""The aggregate maximum of a coup's winnings, and how wagers share it. Pure."""

from collections.abc import Iterable, Iterator, Sequence

from events.types.table import Wager
from table_core.rules.rulebook import Cap
from table_core.rules.wagers import patron_of

__all__ = ["capped_winnings"]


def capped_winnings(
    cap: Cap, wagers: Sequence[Wager], won: Sequence[int], unit: int
) -> Iterator[tuple[int, int]]:
    """Yield (index, reduced winnings) of the wagers that an exceeded maximum cuts."""
    shares: dict[object, list[int]] = {}
    for index, wager in enumerate(wagers):
        if wager.bet in cap.bets and won[index] and wager.kind != "toke":
            key = patron_of(wager) if cap.scope == "patron" else None
            shares.setdefault(key, []).append(index)
    for indices in shares.values():
        amounts = [won[index] for index in indices]
        if sum(amounts) > cap.maximum:
            allocate = _pro_rata if cap.allocation == "pro_rata" else _first_placed
            cut = allocate([amount // unit for amount in amounts], cap.maximum // unit)
            yield from zip(indices, (units * unit for units in cut), strict=True)


def _pro_rata(amounts: Sequence[int], maximum: int) -> list[int]:
    """Share in proportion; the rest goes to the largest remainders, first placed first."""
    total = sum(amounts)
    shares = [amount * maximum // total for amount in amounts]
    remainders = [amount * maximum % total for amount in amounts]
    by_remainder = sorted(range(len(amounts)), key=lambda index: -remainders[index])
    for index in by_remainder[: maximum - sum(shares)]:
        shares[index] += 1
    return shares


def _first_placed(amounts: Iterable[int], maximum: int) -> list[int]:
    """Pay in full in placing order until the maximum is used up."""
    shares = []
    for amount in amounts:
        shares.append(min(amount, maximum))
        maximum -= shares[-1]
    return shares
