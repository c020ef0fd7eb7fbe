"""What stands on the layout, summed up: what a further wager is judged against. Pure.

A coup may take thousands of wagers, a few a command. Were each command judged by going through all
that stands, a coup would cost the square of its wagers; so the sums are kept in the state and moved
on by each wager. What a wager changes is copied, and the rest is shared.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from msgspec import Struct

from events.table import Wager
from table_core.wagers import Patron, patron_of

__all__ = ["Standing", "Tally", "with_wagers", "without_wagers"]

# A settlement's line beside the texts of its wager: names of fields, category, odds, and five
# amounts of up to sixteen digits.
_LINE_BYTES: Final = 320
_BRACKETS_AND_COMMAS: Final = 4  # around and between three texts
_encoder: Final = msgspec.json.Encoder()

# Bet to seat to stake; seats as text, because that is what JSON has for keys.
_Spots = dict[str, dict[str, int]]
_NONE: Final[Mapping[str, Mapping[str, int]]] = {}


class Standing(Struct, frozen=True, gc=False, kw_only=True):
    """The wagers that stand, as sums; amounts in minor units. It is never changed in place.

    Args:
        ids: of the wagers.
        spots: patron, bet and seat to what lies there.
        by_bet: bet to all stakes on it.
        staked: all stakes together.
        line_bytes: the most that their lines take in a settlement.
    """

    ids: frozenset[str] = frozenset()
    spots: dict[Patron, _Spots] = msgspec.field(default_factory=dict)
    by_bet: dict[str, int] = msgspec.field(default_factory=dict)
    staked: int = 0
    line_bytes: int = 0


class Tally:
    """Sums on the move from one standing to another. It never leaves the call that made it."""

    def __init__(self, before: Standing) -> None:
        self.by_bet = dict(before.by_bet)
        self.staked = before.staked
        self.line_bytes = before.line_bytes
        self._before = before
        self._new: set[str] = set()
        self._gone: set[str] = set()
        self._spots: dict[Patron, _Spots] = {}

    def add(self, wager: Wager) -> None:
        """One wager more."""
        seats = self._own(patron_of(wager)).setdefault(wager.bet, {})
        seat = str(wager.seat)
        seats[seat] = seats.get(seat, 0) + wager.stake
        self._new.add(wager.id)
        self._count(wager, 1)

    def remove(self, wager: Wager) -> None:
        """One of those that stand is taken away; a spot on which nothing is left is none."""
        spots = self._own(patron_of(wager))
        seats, seat = spots[wager.bet], str(wager.seat)
        seats[seat] -= wager.stake
        if not seats[seat]:
            del seats[seat]
        if not seats:
            del spots[wager.bet]
        self._gone.add(wager.id)
        self._count(wager, -1)

    def known(self, name: str) -> bool:
        """Whether a wager of this id stands."""
        return name in self._new or name in self._before.ids

    def spots(self, patron: Patron) -> Mapping[str, Mapping[str, int]]:
        """What a patron has: bet and seat (as text) to stake."""
        own = self._spots.get(patron)
        return self._before.spots.get(patron, _NONE) if own is None else own

    def standing(self) -> Standing:
        """The sums as they are now."""
        spots = {**self._before.spots, **self._spots}
        for patron, own in self._spots.items():
            if not own:
                del spots[patron]
        ids = self._before.ids | self._new
        return Standing(
            ids=ids - self._gone if self._gone else ids,
            spots=spots,
            by_bet={bet: stake for bet, stake in self.by_bet.items() if stake},
            staked=self.staked,
            line_bytes=self.line_bytes,
        )

    def _own(self, patron: Patron) -> _Spots:
        if patron not in self._spots:
            before = self._before.spots.get(patron, {})
            self._spots[patron] = {bet: dict(seats) for bet, seats in before.items()}
        return self._spots[patron]

    def _count(self, wager: Wager, sign: int) -> None:
        self.by_bet[wager.bet] = self.by_bet.get(wager.bet, 0) + sign * wager.stake
        self.staked += sign * wager.stake
        texts = _encoder.encode((wager.id, wager.bet, wager.patron or ""))
        size = _LINE_BYTES + len(texts) - _BRACKETS_AND_COMMAS
        self.line_bytes += sign * size


def with_wagers(standing: Standing, wagers: Iterable[Wager]) -> Standing:
    """The sums with these wagers more."""
    tally = Tally(standing)
    for wager in wagers:
        tally.add(wager)
    return tally.standing()


def without_wagers(standing: Standing, wagers: Iterable[Wager]) -> Standing:
    """The sums without these, which stand."""
    tally = Tally(standing)
    for wager in wagers:
        tally.remove(wager)
    return tally.standing()
