"""Which bytes of the frames name the card, from a deal whose cards are known. Pure.

Frames were lost, and others are no cards. So codes and cards are aligned: a first guess by position
gives each code its likely faces, and the alignment that agrees best with them gives better ones.
A face is named only where the capture decides it: by two cards at least, by one whose place in the
deal is certain, or because rank and suit add up to the code for all others. The rest stay unknown.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import reduce
from itertools import accumulate, pairwise
from operator import or_
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct

from events.cards import SUITS, Card
from shoe_driver.codes.reports import face_of

__all__ = ["CardCodes", "find_card_codes", "looks_like", "printed_codes"]

_WIDEST: Final = 4  # bytes of a code
_CODES: Final = 56  # a deck, and some that damage made
_ROUNDS: Final = 5
_ALIGNED: Final = 6  # guesses that are aligned, which takes long
_WINDOWS: Final = (4, 10)  # cards by which a first guess may be off
_BAND: Final = 16  # ... and those by which an alignment may be
_AGREE: Final = 0.85
_USUAL: Final = 1 / 30  # of the frames have a size; a rarer one is damage
_PRINTED: Final = 0.75  # of the frames are cards that a person can read ...
_PRINTED_LEAST: Final = 6  # ... of so many different codes
_SKIP: Final = -1.0  # what it costs to leave a frame or a card out
_WRONG: Final = -2.0
_MOVED: Final = 4  # frames that may be missing between two captures, unnoticed
_TWICE: Final = 2  # cards that decide what a code means
_FITTED: Final = 18  # faces that add up, so that the others do too; 16 can be made to
_MISFITS: Final = 0.05  # of them


class CardCodes(Struct, frozen=True, kw_only=True):
    """The codes of cards.

    Args:
        kind_at: position of the byte that tells cards from other reports, or None.
        kind: its value for cards; empty where only longer reports have that byte.
        at: position of the code.
        width: its bytes.
        field: the field that is the code, between `separator`s, or None.
        separator: one character.
        faces: the card of each code.
        dealt: the codes that were dealt; the others follow from them.
        unknown: faces that were dealt, and whose code is not certain.
        guessed: faces that hang on one frame: of a device without a check, or a damaged one.
    """

    kind_at: int | None
    kind: bytes
    at: int = 0
    width: int = 1
    field: int | None = None
    separator: str = ","
    faces: dict[bytes, Card]
    dealt: frozenset[bytes]
    unknown: frozenset[Card] = frozenset()
    guessed: frozenset[Card] = frozenset()


class _Try(NamedTuple):
    """One guess where the code stands."""

    kind_at: int | None
    kind: bytes
    at: int
    width: int
    field: int | None
    codes: list[bytes]
    places: list[int]
    lost: list[int]  # frames that are missing between a frame and the one before


_Pairs: TypeAlias = list[tuple[int, int]]


def find_card_codes(
    contents: Sequence[bytes],
    gaps: Sequence[int],
    deal: Sequence[Card],
    counted: range,
    *,
    checked: bool,
    numbered: bool = False,
    separator: str = "",
) -> CardCodes | None:
    """Return the codes of a deal's cards, or None if no bytes agree with it.

    Args:
        contents: of the frames, in order, without copies.
        gaps: for each of them, the frames that may be missing before it.
        deal: the cards, in the order in which they were dealt.
        counted: positions of the number, which names no card.
        checked: a check tells frames that were damaged.
        numbered: numbers tell what is missing.
        separator: what stands between fields that are counted; empty if positions are.
    """
    best: tuple[float, _Try, dict[bytes, Card], _Pairs] | None = None
    for each in _likely(_tries(contents, gaps, len(deal), counted, separator), deal):
        pairs = _best_alignment(each, deal)
        named, agree = _certain(each, pairs, deal, checked=checked, numbered=numbered)
        score = agree + len(set(named.values())) / len(set(deal))
        if agree >= _AGREE and named and (best is None or score > best[0] + 0.02):
            best = (score, each, named, pairs)
    if best is None:
        return None
    _, each, named, pairs = best
    other = _said_otherwise(contents, each)
    faces = {code: face for code, face in _completed(named).items() if code not in other}
    once = {} if checked else _seen_once(each, pairs, deal, faces, numbered=numbered)
    faces |= {code: face for code, face in once.items() if code not in other}
    return CardCodes(
        kind_at=each.kind_at,
        kind=each.kind,
        at=each.at,
        width=each.width,
        field=each.field,
        separator=separator or ",",
        faces=faces,
        dealt=frozenset(set(each.codes) & set(faces)),
        unknown=frozenset(set(deal) - set(faces.values())),
        guessed=frozenset(once.values()) & set(faces.values()),
    )


def looks_like(code: bytes, faces: Mapping[bytes, Card]) -> bool:
    """Report whether bytes can be a new code: bits that all known codes share are the same."""
    some = next(iter(faces), b"")
    if code in faces or len(code) != len(some):
        return False
    alike = [known for known in faces if len(known) == len(some)]
    differ = [reduce(or_, (known[at] ^ some[at] for known in alike)) for at in range(len(some))]
    return all(not (a ^ b) & ~bits for a, b, bits in zip(code, some, differ, strict=True))


def printed_codes(
    contents: Sequence[bytes], counted: range, deal: Sequence[Card] | None = None
) -> CardCodes | None:
    """Return the codes of a device that writes rank and suit as people do, or None.

    Args:
        contents: of the frames, in order, without copies.
        counted: positions of the number, which names no card.
        deal: the cards, in order, which must then be what the frames say; or None.
    """
    found = []
    for at in range(_shortest(contents) - 1):
        if {at, at + 1} & set(counted):
            continue
        codes = Counter(content[at : at + 2] for content in contents)
        faces = {code: face_of(code.decode("latin-1")) for code in codes}
        known = {code for code in codes if faces[code] is not None}
        read = sum(codes[code] for code in known)
        if read >= _PRINTED * len(contents) and len(known) >= _PRINTED_LEAST:
            found.append((len(set(map(faces.get, known))), at, known))
    found.sort(reverse=True)
    if not found or (len(found) > 1 and found[0][0] == found[1][0]):
        return None
    _, at, known = found[0]
    suit_first = Counter(chr(code[0]) in SUITS for code in known).most_common(1)[0][0]
    every = {(c.suit + c.rank if suit_first else c.rank + c.suit).encode(): c for c in Card}
    if deal is not None:
        read_faces = [
            every[code] for content in contents if (code := content[at : at + 2]) in every
        ]
        same = SequenceMatcher(None, read_faces, deal, autojunk=False).get_matching_blocks()
        if sum(block.size for block in same) < _PRINTED * len(deal):
            return None
    seen = frozenset(code for code in known if code in every)
    return CardCodes(kind_at=None, kind=b"", at=at, width=2, faces=every, dealt=seen)


def _usual(contents: Sequence[bytes]) -> list[int]:
    """Return the sizes of frames that are no damage."""
    sizes = Counter(map(len, contents))
    return sorted(size for size, count in sizes.items() if count >= _USUAL * len(contents))


def _shortest(contents: Sequence[bytes]) -> int:
    return min(_usual(contents), default=0)


def _tries(
    contents: Sequence[bytes], gaps: Sequence[int], cards: int, counted: range, separator: str
) -> Iterator[_Try]:
    known = set()
    for kind_at, kind, group in _groups(contents, cards, counted):
        chosen = [contents[number] for number in group]
        places, lost = _places(group, gaps, cards)
        for at, width, field, codes in _fields(chosen, counted, separator):
            first: dict[bytes, int] = {}
            cut = (tuple(group), tuple(first.setdefault(code, len(first)) for code in codes))
            if cut not in known:
                known.add(cut)
                yield _Try(kind_at, kind, at, width, field, codes, places, lost)


def _fields(
    chosen: Sequence[bytes], counted: range, separator: str
) -> Iterator[tuple[int, int, int | None, list[bytes]]]:
    """Yield where a code may stand, narrow ones first, with the codes of all frames."""
    if separator:
        split = [content.split(separator.encode()) for content in chosen]
        for field in range(min(map(len, split))):
            yield 0, 1, field, [parts[field] for parts in split]
        return
    for width in range(1, _WIDEST + 1):
        for at in range(_shortest(chosen) - width + 1):
            if not set(range(at, at + width)) & set(counted):
                yield at, width, None, [content[at : at + width] for content in chosen]


def _groups(
    contents: Sequence[bytes], cards: int, counted: range
) -> Iterator[tuple[int | None, bytes, list[int]]]:
    """Yield the frames that may be the cards: all, those with one byte, those of one length."""
    few, many = cards * 0.6, cards * 1.15 + 2
    if few <= len(contents) <= many:
        yield None, b"", list(range(len(contents)))
    for at in range(_shortest(contents)):
        if at in counted:
            continue
        for byte, count in Counter(content[at : at + 1] for content in contents).items():
            if byte and few <= count <= many and count < len(contents):
                group = [n for n, content in enumerate(contents) if content[at : at + 1] == byte]
                yield at, byte, group
    usual = _usual(contents)
    for size in usual:
        group = [n for n, content in enumerate(contents) if len(content) == size]
        if few <= len(group) <= many and len(group) < len(contents):
            longer = len(usual) > 1 and size == usual[0]
            yield size if longer else None, b"", group


def _places(group: Sequence[int], gaps: Sequence[int], cards: int) -> tuple[list[int], list[int]]:
    """Return about which card each frame of a group is, and what is missing before it."""
    places: list[int] = []
    before: list[int] = []
    lost = since = 0
    wanted = set(group)
    # Of what is missing, so much were cards.
    share = max(0.0, min(1.0, (cards - len(group)) / max(1, sum(gaps))))
    for number, gap in enumerate(gaps):
        lost += gap
        since += gap
        if number in wanted:
            before.append(since)
            places.append(round(len(places) + lost * share))
            since = 0
    return places, before


def _likely(tries: Iterator[_Try], deal: Sequence[Card]) -> list[_Try]:
    """Return the guesses to align, by how often a code comes again near its face."""
    faces = len(set(deal))
    scored = []
    for each in tries:
        times = Counter(each.codes)
        if not min(faces, 2) <= len(times) <= max(_CODES, faces + 4) + len(each.codes) // 12:
            continue
        votes = _first_votes(each, deal, _WINDOWS[0])
        met = sum(min(max(votes[code].values(), default=0), times[code]) for code in times)
        exact = sum(
            max(Counter(deal[p] for c, p in zip(each.codes, each.places, strict=True)
                        if c == code and p < len(deal)).values(), default=0) - 1
            for code in times
        )  # fmt: skip
        scored.append((met + exact + len(times), -each.width, each))
    scored.sort(key=lambda item: item[:2], reverse=True)
    return [each for _, _, each in scored[:_ALIGNED]]


def _first_votes(each: _Try, deal: Sequence[Card], window: int) -> dict[bytes, Counter[Card]]:
    return _votes(
        (code, deal[place + off])
        for code, place in zip(each.codes, each.places, strict=True)
        for off in range(-window, window + 1)
        if 0 <= place + off < len(deal)
    )


def _best_alignment(each: _Try, deal: Sequence[Card]) -> _Pairs:
    """Return the best: from what stands near each code, and from where it is itself."""
    exact = [(at, place) for at, place in enumerate(each.places) if place < len(deal)]
    found = []
    for begin in (
        *(_first_votes(each, deal, window) for window in _WINDOWS),
        _votes((each.codes[a], deal[b]) for a, b in exact),
    ):
        votes, pairs = begin, list[tuple[int, int]]()
        for _ in range(_ROUNDS):
            before, pairs = pairs, _alignment(each, deal, votes)
            votes = _votes((each.codes[a], deal[b]) for a, b in pairs)
            if pairs == before:
                break
        met = sum(max(told.values()) for told in votes.values())
        found.append((met - len(votes), pairs))
    return max(found)[1]


def _certain(
    each: _Try, pairs: _Pairs, deal: Sequence[Card], *, checked: bool, numbered: bool
) -> tuple[dict[bytes, Card], float]:
    """Return the faces that the alignment decides, and the part of the frames that agree."""
    codes = each.codes
    votes = _votes((codes[a], deal[b]) for a, b in pairs)
    likely = {code: told.most_common(1)[0] for code, told in votes.items()}
    count_of = {code: count for code, (_, count) in likely.items()}
    agree = sum(count for _, count in likely.values()) / max(len(codes), 1)
    twice = {
        code: face
        for code, (face, count) in likely.items()
        if count >= _TWICE and count >= sum(votes[code].values()) * 0.7
    }
    if len(codes) + sum(each.lost) != len(deal):
        for code in _movable(pairs, each, deal, twice):
            del twice[code]
    whole = not any(each.lost) and len(codes) == len(deal) == len(pairs) and agree == 1
    named = dict(twice)
    if checked or whole:
        pinned = dict(pairs) if whole else _pinned(each, pairs, deal, twice, numbered=numbered)
        for a, b in pinned.items():
            if sum(votes[codes[a]].values()) <= 1:
                named[codes[a]] = deal[b]
    claims: dict[Card, list[bytes]] = defaultdict(list)
    for code, face in named.items():
        claims[face].append(code)
    kept = {}
    for face, owners in claims.items():
        owners.sort(key=lambda code: count_of.get(code, 1), reverse=True)
        if len(owners) == 1 or count_of.get(owners[0], 1) > 2 * count_of.get(owners[1], 1):
            kept[owners[0]] = face
    return _left_over(each, pairs, deal, kept) if checked else kept, agree


def _movable(
    pairs: _Pairs, each: _Try, deal: Sequence[Card], named: Mapping[bytes, Card]
) -> set[bytes]:
    """Return the codes that would name another face if some frames more or fewer were missing.

    Such codes alternate in a short deal, as in `2H,6H,2H,6H`. A code does not count as such if the
    other face is surely another code's.
    """
    places: dict[bytes, list[int]] = defaultdict(list)
    for a, b in pairs:
        if named.get(each.codes[a]) == deal[b]:
            places[each.codes[a]].append(b)
    others: dict[bytes, set[Card]] = defaultdict(set)
    for code, at in places.items():
        for step in range(max(-_MOVED, -min(at)), min(_MOVED, len(deal) - 1 - max(at)) + 1):
            faces = {deal[b + step] for b in at}
            if len(faces) == 1:
                others[code] |= faces - {named[code]}
    firm = {face for code, face in named.items() if not others[code]}
    return {code for code, faces in others.items() if not faces <= firm}


def _left_over(
    each: _Try, pairs: _Pairs, deal: Sequence[Card], named: dict[bytes, Card]
) -> dict[bytes, Card]:
    """Return also the codes for which only one face is left, of the cards around each of them."""
    named = dict(named)
    for _ in range(_ROUNDS):
        place = {a: b for a, b in pairs if named.get(each.codes[a]) == deal[b]}
        strong = [
            (a, b)
            for a, b in place.items()
            if place.get(a - 1) == b - 1 or place.get(a + 1) == b + 1
        ]
        taken = set(named.values())
        may_be: dict[bytes, set[Card]] = {}
        for (a, b), (after, card) in pairwise(
            [(-1, -1), *sorted(strong), (len(each.codes), len(deal))]
        ):
            here = set(deal[b + 1 : card]) - taken
            for code in set(each.codes[a + 1 : after]) - set(named):
                may_be[code] = may_be.get(code, here) & here
        found = {code: next(iter(faces)) for code, faces in may_be.items() if len(faces) == 1}
        times = Counter(found.values())
        more = {code: face for code, face in found.items() if times[face] == 1}
        if not more:
            break
        named |= more
    return named


def _seen_once(
    each: _Try, pairs: _Pairs, deal: Sequence[Card], faces: Mapping[bytes, Card], *, numbered: bool
) -> dict[bytes, Card]:
    """Return faces that were read once, at a certain place, by a device without a check."""
    pinned = _pinned(each, pairs, deal, faces, numbered=numbered)
    times = Counter(each.codes)
    found: dict[Card, set[bytes]] = defaultdict(set)
    for a, b in pinned.items():
        if deal[b] not in faces.values():
            found[deal[b]].add(each.codes[a])
    return {
        code: face
        for face, codes in found.items()
        if len(codes) == 1 and times[code := next(iter(codes))] == 1 and looks_like(code, faces)
    }


def _pinned(
    each: _Try, pairs: _Pairs, deal: Sequence[Card], known: Mapping[bytes, Card], *, numbered: bool
) -> dict[int, int]:
    """Return the frames whose card is certain: what is missing up to a known one is known too."""
    place = dict(pairs)
    anchors = {a for a, b in pairs if known.get(each.codes[a]) == deal[b]}
    found = {}
    for step in (1, -1):
        reach: int | None = None  # the frame's card, if it hangs on an anchor
        order = range(len(each.codes)) if step == 1 else range(len(each.codes) - 1, -1, -1)
        for a in order:
            lost = each.lost[a if step == 1 else min(a + 1, len(each.codes) - 1)]
            reach = reach + step if reach is not None and not lost else None
            if a in anchors:
                reach = place[a]
            elif reach is not None and place.get(a) == reach:
                found[a] = reach
    edges = [(-1, -1), *sorted((a, place[a]) for a in anchors), (len(each.codes), len(deal))]
    for (a, b), (after, card) in pairwise(edges):
        between = range(a + 1, after)
        if after - a == card - b:
            found |= {at: b + at - a for at in between}
        elif numbered and a >= 0 and after < len(each.codes):
            gone = list(accumulate(each.lost[a + 1 : after + 1]))
            if after - a + gone[-1] == card - b:  # all that is missing were cards
                found |= {at: b + at - a + lost for at, lost in zip(between, gone, strict=False)}
    return found


def _votes(pairs: Iterator[tuple[bytes, Card]]) -> dict[bytes, Counter[Card]]:
    votes: dict[bytes, Counter[Card]] = defaultdict(Counter)
    for code, face in pairs:
        votes[code][face] += 1
    return votes


def _alignment(each: _Try, deal: Sequence[Card], votes: Mapping[bytes, Counter[Card]]) -> _Pairs:
    """Return the pairs of the best alignment of codes and cards (Needleman and Wunsch, 1970)."""
    width = len(deal) + 1
    never = float("-inf")
    above = [_SKIP * at for at in range(width)]
    steps: list[bytearray] = []
    for row, code in enumerate(each.codes, start=1):
        told = votes.get(code, Counter())
        most = max(told.values(), default=1)
        middle = min(each.places[row - 1] + 1, len(deal))
        low, high = max(1, middle - _BAND), min(len(deal), middle + _BAND)
        line = [never] * width
        line[0] = _SKIP * row
        step = bytearray(b"\1" * width)
        for at in range(low, high + 1):
            count = told.get(deal[at - 1], 0)
            both = above[at - 1] + (2.0 * (count / most) ** 2 if count else _WRONG)
            line[at], step[at] = max((both, 0), (above[at] + _SKIP, 1), (line[at - 1] + _SKIP, 2))
        for at in range(high + 1, width):
            line[at] = line[at - 1] + _SKIP
            step[at] = 2
        steps.append(step)
        above = line
    pairs = []
    row, at = len(each.codes), len(deal)
    while row and at:
        way = steps[row - 1][at]
        if way == 0:
            pairs.append((row - 1, at - 1))
        row -= way != 2  # noqa: PLR2004 - a card without a frame
        at -= way != 1
    return pairs[::-1]


def _said_otherwise(contents: Sequence[bytes], each: _Try) -> set[bytes]:
    """Return codes that stand in reports of another size too, where no kind tells them apart."""
    if each.kind_at is not None or each.field is not None:
        return set()
    sizes = _usual(contents)
    found: dict[int, Counter[bytes]] = {size: Counter() for size in sizes}
    for content in contents:
        if len(content) in found:
            found[len(content)][content[each.at : each.at + each.width]] += 1
    card = max(sizes, key=lambda size: len(found[size]), default=0)
    return {
        code
        for size, codes in found.items()
        if size != card
        for code, count in codes.items()
        if count >= _TWICE
    }


def _values(width: int) -> Iterator[tuple[Callable[[bytes], int | None], Callable[[int], bytes]]]:
    """Yield the ways to read a code as a value, and to write it."""

    def written(text: str, value: int) -> bytes:
        made = (text % (width, value)).encode() if value >= 0 else b""
        return made if len(made) == width else b""

    def read(code: bytes, base: int) -> int | None:
        try:
            return int(code, base) if code.isalnum() else None
        except ValueError:
            return None

    most = 256**width
    yield (
        lambda code: int.from_bytes(code, "big"),
        lambda value: value.to_bytes(width, "big") if 0 <= value < most else b"",
    )
    yield lambda code: read(code, 10), lambda value: written("%0*d", value)
    yield lambda code: read(code, 16), lambda value: written("%0*X", value)


def _completed(named: Mapping[bytes, Card]) -> dict[bytes, Card]:
    """Return the codes of all cards, where a code is a part of the rank and a part of the suit."""
    sizes = {len(code) for code in named}
    if len(sizes) != 1 or len(named) < _FITTED:
        return dict(named)
    for read, write in _values(sizes.pop()):
        values = {face: read(code) for code, face in named.items()}
        known = {face: value for face, value in values.items() if value is not None}
        if len(known) < _FITTED:
            continue
        parts = _sums(known)
        told = {face: sum(parts[p] for p in (face.rank, face.suit))
                for face in Card if face.rank in parts and face.suit in parts}  # fmt: skip
        misfits = sum(told.get(face) != value for face, value in values.items())
        if misfits > _MISFITS * len(named):
            continue
        made = {write(value): face for face, value in told.items()}
        if b"" not in made and len(made) == len(told):
            return made
    return dict(named)


def _sums(known: Mapping[Card, int]) -> dict[str, int]:
    """Return a part for each rank and each suit; of several, the one that most faces agree on."""
    suit = Counter(face.suit for face in known).most_common(1)[0][0]
    parts = {suit: 0}
    for _ in range(4):
        votes: dict[str, Counter[int]] = defaultdict(Counter)
        for face, value in known.items():
            for mine, other in ((face.rank, face.suit), (face.suit, face.rank)):
                if other in parts:
                    votes[mine][value - parts[other]] += 1
        parts |= {name: told.most_common(1)[0][0] for name, told in votes.items() if name != suit}
    return parts
