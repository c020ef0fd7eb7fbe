"""What stands on the layout, summed up: what a further wager is judged against. Pure.

A coup may take thousands of wagers, a few a command. Were each command judged by going through all
that stands, a coup would cost the square of its wagers; so the sums are kept in the state and moved
on by each wager. What a wager changes is copied, and the rest is shared.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from events.table import Wager
from table_core.wagers import Patron, patron_of

__all__ = ["Standing", "Tally", "with_wagers", "without_wagers"]

# A settlement's line beside the texts of its wager: names of fields, category, odds, and five
# amounts of up to sixteen digits.
_LINE_BYTES: Final = 320
_encoder: Final = msgspec.json.Encoder()

# Bet to seat to stake; seats as text, because that is what JSON has for keys.
_Spots = dict[str, dict[str, int]]
_NONE: Final[_Spots] = {}


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

    __slots__ = ("_before", "_gone", "_new", "_spots", "by_bet", "line_bytes", "staked")

    def __init__(self, before: Standing) -> None:
        self.by_bet = dict(before.by_bet)
        self.staked = before.staked
        self.line_bytes = before.line_bytes
        self._before = before
        self._new: set[str] = set()
        self._gone: set[str] = set()
        self._spots: dict[Patron, _Spots] = {}

    def add(self, *wagers: Wager) -> None:
        """Some wagers more."""
        by_bet = self.by_bet
        for wager in wagers:
            patron, bet, stake, seat = patron_of(wager), wager.bet, wager.stake, str(wager.seat)
            spots = self._spots.get(patron)
            if spots is None:
                spots = self._own(patron)
            seats = spots.get(bet)
            spots[bet] = {**seats, seat: seats.get(seat, 0) + stake} if seats else {seat: stake}
            by_bet[bet] = by_bet.get(bet, 0) + stake
            self.staked += stake
        self._new.update([wager.id for wager in wagers])
        self.line_bytes += _line_bytes(wagers)

    def remove(self, *wagers: Wager) -> None:
        """Some of those that stand are taken away; a spot on which nothing is left is none."""
        for wager in wagers:
            spots, bet, seat = self._own(patron_of(wager)), wager.bet, str(wager.seat)
            seats = {**spots[bet], seat: spots[bet][seat] - wager.stake}
            spots[bet] = {seat: stake for seat, stake in seats.items() if stake}
            if not spots[bet]:
                del spots[bet]
            self.by_bet[bet] -= wager.stake
            self.staked -= wager.stake
        self._gone.update([wager.id for wager in wagers])
        self.line_bytes -= _line_bytes(wagers)

    def known(self, name: str) -> bool:
        """Whether a wager of this id stands."""
        return name in self._new or name in self._before.ids

    def spots(self, patron: Patron) -> Mapping[str, Mapping[str, int]]:
        """What a patron has: bet and seat (as text) to stake."""
        own = self._spots.get(patron)
        return self._before.spots.get(patron, _NONE) if own is None else own

    def standing(self) -> Standing:
        """The sums as they are now."""
        before, by_bet = self._before, self.by_bet
        spots, ids = {**before.spots, **self._spots}, before.ids | self._new
        if self._gone:
            spots = {patron: own for patron, own in spots.items() if own}
            by_bet = {bet: stake for bet, stake in by_bet.items() if stake}
            ids -= self._gone
        return Standing(
            ids=ids,
            spots=spots,
            by_bet=by_bet,
            staked=self.staked,
            line_bytes=self.line_bytes,
        )

    def _own(self, patron: Patron) -> _Spots:
        """A patron's bets, which may be changed; the seats of each are shared."""
        own = self._spots.get(patron)
        if own is None:
            own = self._spots[patron] = dict(self._before.spots.get(patron, _NONE))
        return own


def with_wagers(standing: Standing, wagers: Iterable[Wager]) -> Standing:
    """The sums with these wagers more."""
    tally = Tally(standing)
    tally.add(*wagers)
    return tally.standing()


def without_wagers(standing: Standing, wagers: Iterable[Wager]) -> Standing:
    """The sums without these, which stand."""
    tally = Tally(standing)
    tally.remove(*wagers)
    return tally.standing()


def _line_bytes(wagers: Sequence[Wager]) -> int:
    """The most that the wagers' lines take in a settlement."""
    texts = [text for wager in wagers for text in (wager.id, wager.bet, wager.patron or "")]
    commas_and_brackets = max(1, len(texts)) + 1
    return len(wagers) * _LINE_BYTES + len(_encoder.encode(texts)) - commas_and_brackets
