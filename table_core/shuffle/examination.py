"""Examines the order of a shoe's cards: new packs, earlier shoes, and the shoe itself. Pure.

Each source is compared by the number of groups of 2, 3 or 4 cards in a row that they have in
common and that share no card, and by the longest run. A cut leaves one long run, each riffle halves
the runs. `table_core.shuffle.chances` has the bound of each count.
"""

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from itertools import count
from re import finditer
from typing import Final, Literal

from msgspec import Struct

from table_core.shuffle.chances import FACES, FALSE_ALARM, chance_of_groups, exponent
from table_core.shuffle.orders import FACTORY_ORDERS, LETTERS, WAYS, Way, piles

__all__ = ["Finding", "SourceKind", "examine", "examine_elsewhere"]

SourceKind = Literal["factory", "earlier", "itself"]
_KINDS: Final = 3
_DECKS: Final = 8
_NUMBER: Final = "i"  # an array's type of a group; of four bytes wherever Python runs
_LANE: Final = array(_NUMBER).itemsize
_READINGS_KEPT: Final = 200  # of earlier shoes, two each, 1.7 kB a reading
_SEED: Final = 3  # an earlier shoe has one or two such groups in common by chance
_SMALL: Final = {"factory": (2, 3, 4), "earlier": (3, 4), "itself": (3, 4)}
_OF_ITSELF: Final = tuple(way for way in WAYS if way.step == 1)
# What an honest shoe shows all the time is not worth a bound.
_GROUPS_WORTH: Final = {2: 8, 3: 8, 4: 3}
_RUN_WORTH: Final = 6
_LONG_CHAIN: Final = bytes(_RUN_WORTH - 1)
# Each group begins with one of `_SEED` cards, and a longer one holds several of them.
_STARTS_WORTH: Final = min(_GROUPS_WORTH[length] * (length - _SEED + 1) for length in (3, 4))
# No two pairs of cards have one sum (a set of Erdős and Turán; 53 is a prime).
_SUMMANDS: Final = {ord(letter): 106 * at + at * at % 53 for at, letter in enumerate(LETTERS)}
_LOW_BYTE, _HIGH_BYTE = (
    bytes(_SUMMANDS.get(letter, 0) >> shift & 0xFF for letter in range(256)) for shift in (0, 8)
)
_CARD_AFTER: Final = {
    name: bytes.maketrans(pack.encode(), (pack[1:] + pack[:1]).encode())
    for name, pack in FACTORY_ORDERS.items()
}


class Finding(Struct, frozen=True, kw_only=True):
    """An order that an honest shuffle hardly gives.

    Args:
        kind: of the source.
        source: the name of the factory order, or the id of the earlier shoe.
        way: how the shoe's cards are read.
        two_piles: the source is read as dealt to two piles.
        groups: groups in common that share no card.
        length: of each group, in cards.
        start: the first card of the longest run, counted from 0 in the reading.
        run: the longest run, as an order.
        run_alone: the longest run alone is as improbable as an alarm must be.
        chance: an upper bound of the probability in an honest shuffle.
    """

    kind: SourceKind
    source: str
    way: Way
    two_piles: bool = False
    groups: int
    length: int
    start: int
    run: str
    run_alone: bool
    chance: Fraction

    @property
    def exponent(self) -> int:
        """The chance is at most 1 in ten to the power of this."""
        return exponent(self.chance)


class _Source(Struct, frozen=True):
    kind: SourceKind
    name: str
    order: str
    two_piles: bool = False


class _Reading(Struct, frozen=True):
    """The shoe's cards read in one way, with their groups in the order they come."""

    way: Way
    text: str
    groups: Sequence[int]
    distinct: frozenset[int]

    @property
    def repeated(self) -> int:
        """The number of groups that came before."""
        return len(self.groups) - len(self.distinct)


class _Search(Struct, frozen=True):
    """The numbers of a search that its bound needs."""

    decks: int
    kind: SourceKind
    sources: int
    searches: int
    uncovered: int = 1

    def chance(self, groups: int, length: int) -> Fraction:
        return chance_of_groups(
            self.decks,
            groups,
            length,
            sources=self.sources,
            searches=self.searches,
            uncovered=self.uncovered,
        )


def examine(order: str, decks: int, earlier: Iterable[tuple[str, str]] = ()) -> tuple[Finding, ...]:
    """Return the strongest finding of each kind whose chance is at most `FALSE_ALARM`.

    Args:
        order: the cards of the shoe that the table has seen, in dealing order.
        decks: of the shoe.
        earlier: id and order of earlier shoes.
    """
    shoes = _with_piles(earlier)
    comparisons = len(FACTORY_ORDERS) * len(WAYS)
    readings = _readings(order)
    found = list(_against_packs(readings, _search(decks, "factory", comparisons, FACES)))
    search = _search(decks, "earlier", len(shoes) * len(WAYS), decks * FACES)
    found += _against_shoes(readings, shoes, search)
    # Packs that all lie in the order of the factory repeat one another: that is no second finding.
    if all(each.kind != "factory" for each in found):
        found += _against_itself(readings[0], _search(decks, "itself", len(_OF_ITSELF), 0))
    best: dict[str, Finding] = {}
    for each in sorted(found, key=lambda finding: finding.chance):
        # A shoe that repeats itself repeats what it has in common with an earlier one by chance.
        if each.kind not in best and (not best or each.kind != "earlier" or each.run_alone):
            best[each.kind] = each
    return tuple(best.values())


def examine_elsewhere(order: str, others: Iterable[tuple[str, str]]) -> Finding | None:
    """Return the strongest finding against shoes of other tables, or None.

    The chance counts as a false alarm of the table too: a quarter of `FALSE_ALARM` is left for it.
    A shoe of fewer than eight decks has a smaller chance than the one that is stated.

    Args:
        order: the cards of the shoe that its coups have shown, in dealing order.
        others: name and order of the other shoes.
    """
    shoes = _with_piles(others)
    search = _search(_DECKS, "earlier", len(shoes) * len(WAYS), _DECKS * FACES)
    found = min(
        _against_shoes(_readings(order), shoes, search),
        key=lambda finding: finding.chance,
        default=None,
    )
    return found if found and found.chance <= FALSE_ALARM / 4 else None


def _with_piles(shoes: Iterable[tuple[str, str]]) -> list[_Source]:
    """Return shoes as sources, each as it was and in two piles; of equal orders the first."""
    names: dict[str, str] = {}
    for name, order in shoes:
        names.setdefault(order, name)
    known = [_Source("earlier", name, order) for order, name in names.items() if len(order) > _SEED]
    return known + [
        _Source("earlier", each.name, piles(each.order), two_piles=True) for each in known
    ]


def _search(decks: int, kind: SourceKind, comparisons: int, sources: int) -> _Search:
    """Return the numbers of all searches in sources of one kind."""
    searches = _KINDS * comparisons * (len(_SMALL[kind]) + 1)
    if kind == "itself":
        return _Search(decks, kind, decks * FACES // 2, searches, uncovered=2)
    return _Search(decks, kind, sources, searches)


def _readings(order: str) -> list[_Reading]:
    """Return the readings forwards; the first is the order itself."""
    readings = []
    for way in WAYS:
        if not way.backwards:
            groups = _groups(text := way.read(order))
            readings.append(_Reading(way, text, groups, frozenset(groups)))
    return readings


def _against_packs(readings: Sequence[_Reading], search: _Search) -> Iterator[Finding]:
    """Find the orders of new packs, which are circles, in every reading of the shoe."""
    order, cards = readings[0].text, "".join([each.text for each in readings]).encode()
    fewest, size = _fewest_pairs(search), len(order)
    for name, after in _CARD_AFTER.items():
        chained = _chained(cards, after)
        if not any(_is_promising(each, fewest) for each in chained):
            continue
        for number, way in enumerate(WAYS):
            at = number // len(chained) * size
            one = chained[way.backwards][at : at + size - 1]
            if _is_promising(one, fewest):
                chains = [
                    each.span() for each in finditer(rb"\0+", one[::-1] if way.backwards else one)
                ]
                runs = [(at, end + 1 - at) for start, end in chains for at in range(start, end)]
                source = _Source("factory", name, FACTORY_ORDERS[name])
                yield from _judged(search, source, way, way.read(order), runs)


def _chained(cards: bytes, after: bytes) -> tuple[bytes, bytes]:
    """Return a byte for each two cards: 0 where the second is the one after the first in the pack.

    And another where the first is the one after the second, as in a reading backwards. The cards
    that lie there and those that would have to are compared as two large numbers: a comparison
    card by card takes twenty times as long.
    """
    lies, due = int.from_bytes(cards), int.from_bytes(cards.translate(after))
    size = len(cards)
    return (due >> 8 ^ lies).to_bytes(size)[1:], (due ^ lies >> 8).to_bytes(size)[1:]


def _is_promising(chained: bytes, fewest: int) -> bool:
    """Return whether a finding may come of one reading, or of one of several in a row.

    Groups that share cards are counted as well.
    """
    triples = chained.count(bytes(2))
    return (
        chained.count(0) >= fewest
        or triples >= _GROUPS_WORTH[3]
        or (triples > 1 and _LONG_CHAIN in chained)
        or (triples > 1 and chained.count(bytes(3)) >= _GROUPS_WORTH[4])
    )


@cache
def _fewest_pairs(search: _Search) -> int:
    """Return the smallest number of groups of two cards that is a finding."""
    return next(n for n in count(_GROUPS_WORTH[2]) if search.chance(n, 2) <= FALSE_ALARM)


def _against_shoes(
    readings: Sequence[_Reading], shoes: Sequence[_Source], search: _Search
) -> Iterator[Finding]:
    """Find shoes whose order this one has in part; a shoe is a circle, since it may be cut."""
    order, fewest = readings[0].text, _fewest_groups(search)
    shown = [(each, max(1, fewest - each.repeated)) for each in readings]
    first, *others = [each.distinct for each in readings]
    at_all = first.union(*others)
    least_of_all = min(least for _, least in shown)
    for source in shoes:
        common = at_all.intersection(_groups_of_circle(source.order))
        for reading, least in shown if len(common) >= least_of_all else ():
            in_common = reading.distinct & common
            if len(in_common) >= least:
                yield from _in_common(order, reading, in_common, source, search)


def _in_common(
    order: str, reading: _Reading, groups: Collection[int], source: _Source, search: _Search
) -> Iterator[Finding]:
    """Find what a reading, forwards and backwards, has in common with a source.

    Args:
        order: the cards of the shoe.
        reading: of it.
        groups: that it has in common with the source, in one direction or the other.
        source: an earlier shoe.
        search: its numbers.
    """
    forwards = [at for at, group in enumerate(reading.groups) if group in groups]
    last, round_twice = len(reading.groups) - 1, source.order * 2
    for way in (reading.way, Way(reading.way.step, backwards=True)):
        text = way.read(order)
        starts = [last - at for at in reversed(forwards)] if way.backwards else forwards
        places = [(at, round_twice) for at in starts if text[at : at + _SEED] in round_twice]
        yield from _judged(search, source, way, text, _runs(text, places))


@cache
def _fewest_groups(search: _Search) -> int:
    """Return the smallest number of groups, which may share cards, of which a finding may come."""
    runs = range(_RUN_WORTH, search.decks * FACES)
    alone = (run for run in runs if search.chance(1, run) <= FALSE_ALARM)
    return min(next(alone, _RUN_WORTH) - _SEED + 1, _STARTS_WORTH)


# An earlier shoe is the same at each examination. Kept as an array, whose numbers are no objects.
@lru_cache(_READINGS_KEPT)
def _groups_of_circle(order: str) -> Sequence[int]:
    """Return the groups of an earlier shoe, which may be cut anywhere."""
    return _groups(order + order[: _SEED - 1])


def _groups(text: str) -> Sequence[int]:
    """Return each group of `_SEED` cards in a row as a number, which is the same backwards.

    Two of its bytes are the sum of two numbers for the outer cards: no other two cards have
    that sum. The cards are added all at once, as lanes of one large number.
    """
    cards, size = text.encode(), max(0, len(text) - _SEED + 1)
    lanes = bytearray(_LANE * len(cards))
    lanes[0::_LANE], lanes[1::_LANE] = cards.translate(_LOW_BYTE), cards.translate(_HIGH_BYTE)
    number = int.from_bytes(lanes, "little")
    number += number >> 2 * 8 * _LANE
    lanes = bytearray(number.to_bytes(len(lanes), "little")[: _LANE * size])
    lanes[2::_LANE] = cards[1 : 1 + size]
    return array(_NUMBER, lanes)


def _against_itself(reading: _Reading, search: _Search) -> Iterator[Finding]:
    """Find groups that lie in the shoe once more, before the place where they come."""
    if reading.repeated < _fewest_groups(search):
        return
    source, order, groups = _Source("itself", "", ""), reading.text, reading.groups
    first = dict(zip(groups[::-1], range(len(groups) - 1, -1, -1), strict=True))
    again = [at for at, group in enumerate(groups) if first[group] < at]
    for way in _OF_ITSELF:
        places = []
        for at in again:
            group = order[at : at + _SEED]
            if 0 <= order.find(group[::-1] if way.backwards else group) <= at - _SEED:
                before = order[:at][::-1] if way.backwards else order[:at]
                places.append((at, before))
        yield from _judged(search, source, way, order, _runs(order, places))


def _runs(text: str, places: Iterable[tuple[int, str]]) -> list[tuple[int, int]]:
    """Return place and length of the run from each place; it has at least `_SEED` cards.

    What is left of the run before is a run too, so a shoe that is all in the source costs no more
    comparisons than it has cards.

    Args:
        text: the shoe's cards.
        places: each in order, with its source; a later source holds the earlier one.
    """
    runs = []
    end = 0
    for at, source in places:
        end = max(end, at + _SEED)
        while end < len(text) and text[at : end + 1] in source:
            end += 1
        runs.append((at, end - at))
    return runs


def _judged(
    search: _Search, source: _Source, way: Way, text: str, runs: Sequence[tuple[int, int]]
) -> Iterator[Finding]:
    """Yield the finding of one comparison, if its chance is small enough.

    Args:
        search: its numbers.
        source: compared with the shoe.
        way: the reading.
        text: the shoe's cards in that reading.
        runs: place and length of the run in common from each place where there is one.
    """
    if not runs:
        return
    start, longest = max(runs, key=lambda run: run[1])
    counts = [(_disjoint(runs, length), length) for length in _SMALL[search.kind]]
    counts = [each for each in counts if each[0] >= _GROUPS_WORTH[each[1]]]
    if longest >= _RUN_WORTH:
        counts.append((1, longest))
    chances = [(search.chance(*count), *count) for count in counts]
    chance, groups, length = min(chances, default=(Fraction(1), 0, 0))
    if chance <= FALSE_ALARM:
        yield Finding(
            kind=search.kind,
            source=source.name,
            way=way,
            two_piles=source.two_piles,
            groups=groups,
            length=length,
            start=start,
            run=text[start : start + longest],
            run_alone=search.chance(1, longest) <= FALSE_ALARM,
            chance=chance,
        )


def _disjoint(runs: Sequence[tuple[int, int]], length: int) -> int:
    """Return the largest number of groups of this length that share no card."""
    count, free = 0, 0
    for at, longest in runs:
        if longest >= length and at >= free:
            count, free = count + 1, at + length
    return count
