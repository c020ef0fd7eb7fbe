"""Totals of the wagers on the layout, against which `placement` checks each new wager. Pure.

A coup may take thousands of wagers, a few a command. If each command went through all wagers, a
coup would cost the square of their number; so the state keeps totals. The fold updates them after
every `UNSUMMED` wagers. Most coups have fewer, so replaying a log seldom sums anything, and a coup
of thousands is never summed again as a whole. An update copies only what it changes and shares the
rest: patrons lie in buckets, so that it copies a few of them.

Bounds on one coup, so that its settlement always fits one stored event. A settlement is one event,
and an event has a maximum size. A coup with more wagers than fit could never be settled, so the
table refuses the first wager that is too many.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from zlib import crc32

import msgspec
from msgspec import Struct

from events.commands import Refusal
from events.money import MAX_STAKE
from events.types import MAX_EVENT_BYTES, Wager
from table_core.refusals import refuse
from table_core.rules.wagers import Patron, patron_of

__all__ = [
    "MAX_PATRON",
    "MAX_STAKED",
    "UNSUMMED",
    "WagerTotals",
    "WagerTotalsBuilder",
    "add_wagers",
    "bounds_refusal",
    "remove_wagers",
]

UNSUMMED: Final = 32
_BUCKETS: Final = 128
# A settlement line without the texts of its wager: names of fields, category, odds, five amounts
# of up to sixteen digits, and the quotes around three texts.
_LINE_BYTES: Final = 326
_QUOTES: Final = 2  # around all the texts together
_encoder: Final = msgspec.json.Encoder()
# Bet to seat to stake; seats as text, because that is what JSON has for keys.
_Spots = dict[str, dict[str, int]]
_NONE: Final[_Spots] = {}
_EMPTY: Final[dict[str, int]] = {}
_NOBODY: Final[dict[Patron, _Spots]] = {}


def _bucket(key: str) -> int:
    return crc32(key.encode()) % _BUCKETS


class WagerTotals(Struct, frozen=True, gc=False, kw_only=True):
    """Totals of the wagers placed, amounts in minor units. It is never changed in place.

    Args:
        count: the number of wagers.
        patrons: patron, bet and seat to the stake there, by the patron's bucket.
        boxes: seat and bet to all stakes there, whoever laid them.
        by_bet: bet to all stakes on it.
        staked: all stakes together.
        line_bytes: the maximum size of their lines in a settlement, bytes.
    """

    count: int = 0
    patrons: dict[int, dict[Patron, _Spots]] = msgspec.field(default_factory=dict)
    boxes: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)
    by_bet: dict[str, int] = msgspec.field(default_factory=dict)
    staked: int = 0
    line_bytes: int = 0

    def spots(self, patron: Patron) -> _Spots:
        """Return the stakes of a patron: bet and seat (as text) to stake."""
        return (
            self.patrons.get(_bucket(patron), _NOBODY).get(patron, _NONE) if self.count else _NONE
        )


class WagerTotalsBuilder:
    """A mutable copy of wager totals, to be updated. It never leaves the call that made it."""

    __slots__ = (
        "_before",
        "_boxes",
        "_came",
        "_own",
        "_own_boxes",
        "_went",
        "by_bet",
        "count",
        "staked",
    )

    def __init__(self, before: WagerTotals) -> None:
        self.by_bet = dict(before.by_bet)
        self.count = before.count
        self.staked = before.staked
        self._before = before
        self._came: list[Wager] = []
        self._went: list[Wager] = []
        self._own: dict[Patron, _Spots] = {}  # patrons whose bets are copied; seats are shared
        self._boxes = dict(before.boxes)
        self._own_boxes: set[str] = set()

    def add(self, *wagers: Wager) -> None:
        """Add wagers."""
        by_bet, last = self.by_bet, None
        for wager in wagers:
            # Wagers of one command are mostly of one patron at one seat.
            if last is None or wager.seat != last.seat or wager.patron != last.patron:
                bets, seat = self._bets(patron_of(wager)), str(wager.seat)
                box = self._box(seat)
            bet, stake, last = wager.bet, wager.stake, wager
            seats = bets.get(bet)
            bets[bet] = {**seats, seat: seats.get(seat, 0) + stake} if seats else {seat: stake}
            box[bet] = box.get(bet, 0) + stake
            by_bet[bet] = by_bet.get(bet, 0) + stake
            self.staked += stake
        self.count += len(wagers)
        self._came += wagers

    def remove(self, *wagers: Wager) -> None:
        """Remove wagers that were placed; a spot with no stake left is dropped."""
        for wager in wagers:
            bet, stake, seat = wager.bet, wager.stake, str(wager.seat)
            bets = self._bets(patron_of(wager))
            seats = bets[bet] = {**bets[bet], seat: bets[bet][seat] - stake}
            if not seats[seat]:
                del seats[seat]
            if not seats:
                del bets[bet]
            self._box(seat)[bet] -= stake
            self.by_bet[bet] -= stake
            self.staked -= stake
        self.count -= len(wagers)
        self._went += wagers

    @property
    def line_bytes(self) -> int:
        """The maximum size of all lines in a settlement, bytes; computed on demand."""
        moved = _line_bytes(self._came) - _line_bytes(self._went)
        return self._before.line_bytes + moved

    def spots(self, patron: Patron) -> Mapping[str, Mapping[str, int]]:
        """Return the stakes of a patron: bet and seat (as text) to stake."""
        own = self._own.get(patron)
        return self._before.spots(patron) if own is None else own

    def box(self, seat: int) -> Mapping[str, int]:
        """Return all stakes in a box: bet to stake."""
        return self._boxes.get(str(seat), _EMPTY)

    def standing(self) -> WagerTotals:
        """Return the totals as they are now; the tally may not be used any more."""
        by_bet, boxes = self.by_bet, self._boxes
        patrons = dict(self._before.patrons)
        for patron, bets in self._own.items():
            number = _bucket(patron)
            those = patrons[number] = dict(patrons.get(number, _NOBODY))
            those[patron] = bets
            if not bets:
                del those[patron]
            if not those:
                del patrons[number]
        if self._went:
            by_bet = {bet: stake for bet, stake in by_bet.items() if stake}
            for seat in self._own_boxes:
                box = {bet: stake for bet, stake in boxes.pop(seat).items() if stake}
                if box:
                    boxes[seat] = box
        return WagerTotals(
            count=self.count,
            patrons=patrons,
            boxes=boxes,
            by_bet=by_bet,
            staked=self.staked,
            line_bytes=self.line_bytes,
        )

    def _bets(self, patron: Patron) -> _Spots:
        """Return a patron's bets as a copy that may be changed."""
        bets = self._own.get(patron)
        if bets is None:
            bets = self._own[patron] = dict(self._before.spots(patron))
        return bets

    def _box(self, seat: str) -> dict[str, int]:
        """Return a box's stakes as a copy that may be changed."""
        if seat not in self._own_boxes:
            self._own_boxes.add(seat)
            self._boxes[seat] = dict(self._boxes.get(seat, _EMPTY))
        return self._boxes[seat]


def add_wagers(standing: WagerTotals, wagers: Iterable[Wager]) -> WagerTotals:
    """Return the totals with these wagers added."""
    tally = WagerTotalsBuilder(standing)
    tally.add(*wagers)
    return tally.standing()


def remove_wagers(standing: WagerTotals, wagers: Iterable[Wager]) -> WagerTotals:
    """Return the totals with these wagers, which are placed, removed."""
    tally = WagerTotalsBuilder(standing)
    tally.remove(*wagers)
    return tally.standing()


def _line_bytes(wagers: Sequence[Wager]) -> int:
    """Return the maximum size of the wagers' lines in a settlement, bytes."""
    if not wagers:
        return 0
    texts = "".join([f"{wager.id}{wager.bet}{wager.patron or ''}" for wager in wagers])
    return len(wagers) * _LINE_BYTES + len(_encoder.encode(texts)) - _QUOTES


MAX_PATRON: Final = 64
"""Characters of a patron's reference: it is a key, not a text."""
MAX_STAKED: Final = MAX_STAKE
"""Stakes of one coup, minor units: no sum exceeds the integers that JSON readers keep."""
# Bytes of a settlement without its lines.
_ROOM_BESIDE_LINES: Final = 64 * 1024


def bounds_refusal(standing: WagerTotals, asked: Sequence[Wager]) -> Refusal | None:
    """Return the refusal of wagers that exceed the bounds of one coup; else None.

    Args:
        standing: totals of the wagers already placed.
        asked: the new wagers; their stakes are positive.
    """
    for wager in asked:
        if wager.patron is not None and not 1 <= len(wager.patron) <= MAX_PATRON:
            return refuse(
                "invalid_patron", f"a patron's reference has 1 to {MAX_PATRON} characters"
            )
    if standing.staked + sum([wager.stake for wager in asked]) > MAX_STAKED:
        return refuse("table_maximum", f"one coup takes {MAX_STAKED} minor units at the most")
    if standing.line_bytes + _line_bytes(asked) > MAX_EVENT_BYTES - _ROOM_BESIDE_LINES:
        return refuse("too_many_wagers", f"the coup holds {standing.count}; no more would settle")
    return None
