"""The wagers of a large coup, in pages beside the `state` document. Pure.

A `state` with ten thousand wagers would be a message of 750 kB after each of them. Above
`WAGERS_IN_STATE` wagers the document has their sums instead, and the wagers travel in pages, of
which only those are sent that have changed.
"""

from typing import Final

import msgspec
from msgspec import Struct

from events.types import Wager
from table_core.state.table import Coup

__all__ = [
    "WAGERS_IN_STATE",
    "WAGERS_OF_PAGE",
    "BoxSum",
    "WagerPage",
    "WagerSums",
    "encode_page",
    "has_pages",
    "pages_of",
    "project_sums",
]

WAGERS_IN_STATE: Final = 500
"""With more wagers than these, `coup.wagers` is empty, and `coup.sums` has their sums."""
WAGERS_OF_PAGE: Final = 500


class BoxSum(Struct, frozen=True):
    """All stakes on a bet at a seat, whoever laid them, minor units."""

    seat: int
    bet: str
    stake: int


class WagerSums(Struct, frozen=True, kw_only=True):
    """The wagers of a coup that has more than `state` carries, as sums.

    Args:
        wagers: their number.
        staked: all stakes together, minor units.
        pages: the number of pages that hold the wagers.
        boxes: the stakes by seat and bet, in their order.
    """

    wagers: int
    staked: int
    pages: int
    boxes: tuple[BoxSum, ...]


class WagerPage(Struct, frozen=True, kw_only=True):
    """Some wagers of a large coup, in the order in which they were placed.

    Args:
        coup: whose wagers they are; a page of another coup is out of date.
        page: 1, 2, 3...; the next page goes on where this one ends.
        wagers: all of the page.
    """

    coup: str
    page: int
    wagers: tuple[Wager, ...]


def has_pages(coup: Coup | None) -> bool:
    """Return whether a coup has more wagers than `state` carries."""
    return coup is not None and len(coup.wagers) > WAGERS_IN_STATE


def project_sums(coup: Coup) -> WagerSums | None:
    """Return the sums of a coup's wagers; None where `state` carries the wagers themselves."""
    if not has_pages(coup):
        return None
    boxes: dict[tuple[int, str], int] = {}
    for seat, bets in coup.summed.boxes.items():  # none for a coup that is over
        boxes |= {(int(seat), bet): stake for bet, stake in bets.items()}
    for wager in coup.unsummed:
        key = wager.seat, wager.bet
        boxes[key] = boxes.get(key, 0) + wager.stake
    return WagerSums(
        wagers=len(coup.wagers),
        staked=sum(boxes.values()),
        pages=-(-len(coup.wagers) // WAGERS_OF_PAGE),
        boxes=tuple(BoxSum(seat, bet, boxes[seat, bet]) for seat, bet in sorted(boxes)),
    )


def pages_of(coup: Coup | None) -> tuple[WagerPage, ...]:
    """Return the pages of a coup's wagers; none where `state` carries the wagers themselves."""
    if coup is None or not has_pages(coup):
        return ()
    wagers = tuple(coup.wagers.values())
    return tuple(
        WagerPage(coup=coup.id, page=number, wagers=wagers[first : first + WAGERS_OF_PAGE])
        for number, first in enumerate(range(0, len(wagers), WAGERS_OF_PAGE), start=1)
    )


def encode_page(page: WagerPage) -> bytes:
    """Return a page as JSON."""
    return msgspec.json.encode(page)
