"""Examines the order of a shoe's cards: new packs, earlier shoes, and the shoe itself. Pure.

Each source is compared by the number of groups of 2, 3 or 4 cards in a row that they have in
common and that share no card, and by the longest run. A cut leaves one long run, each riffle halves
the runs. `table_core.shuffle.chances` has the bound of each count.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import chain
from re import finditer
from typing import Final, Literal

from msgspec import Struct

from table_core.shuffle.chances import FACES, FALSE_ALARM, chance_of_groups, exponent
from table_core.shuffle.orders import FACTORY_ORDERS, WAYS, Way, piles

__all__ = ["Finding", "SourceKind", "examine", "examine_elsewhere"]

SourceKind = Literal["factory", "earlier", "itself"]
_KINDS: Final = 3
_DECKS: Final = 8
_SEED: Final = 3  # an earlier shoe has one or two such groups in common by chance
_SMALL: Final = {"factory": (2, 3, 4), "earlier": (3, 4), "itself": (3, 4)}
_OF_ITSELF: Final = tuple(way for way in WAYS if way.step == 1)
# What an honest shoe shows all the time is not worth a bound.
_GROUPS_WORTH: Final = {2: 8, 3: 8, 4: 3}
_RUN_WORTH: Final = 6
_LONG_CHAIN: Final = bytes(_RUN_WORTH - 1)


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
    found = list(_against_packs(order, _search(decks, "factory", comparisons, FACES)))
    search = _search(decks, "earlier", len(shoes) * len(WAYS), decks * FACES)
    found += _against_shoes(order, shoes, search)
    # Packs that all lie in the order of the factory repeat one another: that is no second finding.
    if all(each.kind != "factory" for each in found):
        found += _against_itself(order, _search(decks, "itself", len(_OF_ITSELF), 0))
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
        _against_shoes(order, shoes, search), key=lambda finding: finding.chance, default=None
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


def _against_packs(order: str, search: _Search) -> Iterator[Finding]:
    """Find the orders of new packs, which are circles, in every reading of the shoe."""
    readings = [way.read(order) for way in WAYS]
    for name, pack in FACTORY_ORDERS.items():
        for way, text in zip(WAYS, readings, strict=True):
            chained = _chained(text.encode(), pack.encode())
            if _LONG_CHAIN in chained or chained.count(0) >= _GROUPS_WORTH[2]:
                chains = [each.span() for each in finditer(rb"\0+", chained)]
                runs = [(at, end + 1 - at) for start, end in chains for at in range(start, end)]
                yield from _judged(search, _Source("factory", name, pack), way, text, runs)


def _chained(text: bytes, pack: bytes) -> bytes:
    """Return a byte for each card but the last: 0 where the card after it in the pack follows.

    The cards that follow and the cards that would have to are compared as two large numbers: a
    comparison card by card takes twenty times as long.
    """
    due = text[:-1].translate(bytes.maketrans(pack, pack[1:] + pack[:1]))
    return (int.from_bytes(due) ^ int.from_bytes(text[1:])).to_bytes(len(due))


def _against_shoes(order: str, shoes: Sequence[_Source], search: _Search) -> Iterator[Finding]:
    """Find shoes whose order this one has in part; a shoe is a circle, since it may be cut."""
    readings = [way.read(order) for way in WAYS]
    shown = set(chain.from_iterable(map(_groups, readings)))
    in_common = [
        shown.intersection(_groups(each.order + each.order[: _SEED - 1])) for each in shoes
    ]
    wanted = set().union(*in_common)
    places: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    for reading, text in enumerate(readings if wanted else ()):
        for at, group in enumerate(_groups(text)):
            if group in wanted:
                places[group].append((reading, at))
    for source, common in zip(shoes, in_common, strict=True):
        starts: dict[int, list[int]] = defaultdict(list)
        for group in common:
            for reading, at in places[group]:
                starts[reading].append(at)
        round_twice = source.order * 2
        for reading, ats in sorted(starts.items()):
            if len(ats) <= _RUN_WORTH - _SEED:
                continue
            text = readings[reading]
            runs = _runs(text, [(at, round_twice) for at in sorted(ats)])
            yield from _judged(search, source, WAYS[reading], text, runs)


def _groups(text: str) -> Iterator[tuple[str, ...]]:
    """Yield each group of `_SEED` cards in a row; a tuple of the cards costs less than a text."""
    return zip(*(text[skipped:] for skipped in range(_SEED)), strict=False)


def _against_itself(order: str, search: _Search) -> Iterator[Finding]:
    """Find groups that lie in the shoe once more, before the place where they come."""
    source = _Source("itself", "", "")
    last = len(order) - _SEED
    # Where each group lies first, by its cards backwards.
    first = {group: last - at for at, group in enumerate(_groups(order[::-1]))}
    for way in _OF_ITSELF:
        places = []
        for at, group in enumerate(_groups(order)):
            if first.get(group if way.backwards else group[::-1], at) <= at - _SEED:
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
