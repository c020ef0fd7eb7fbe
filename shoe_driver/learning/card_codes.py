"""Which bytes of the frames name the card, from a deal whose cards are known. Pure.

Frames were lost, and others are no cards. So codes and cards are aligned: a first guess by position
gives each code its likely faces, and the alignment that agrees best with them gives better ones,
until nothing changes. Faces that were not dealt follow from the others where rank and suit stand
apart in the code.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from events.cards import RANKS, SUITS, Card
from shoe_driver.codes.reports import face_of

__all__ = ["CardCodes", "find_card_codes", "printed_codes"]

_WIDEST: Final = 4  # bytes of a code
_CODES: Final = 56  # a deck, and some that damage made
_ROUNDS: Final = 5
_ALIGNED: Final = 6  # guesses that are aligned, which takes long
_OPEN_END: Final = 3  # cards after the last frame that was whole
_WINDOW: Final = 5  # cards by which a first guess may be off
_AGREE: Final = 0.85
_PRINTED: Final = 0.75  # of the frames are cards that a person can read ...
_PRINTED_LEAST: Final = 6  # ... of so many different codes
_SKIP: Final = -1.0  # what it costs to leave a frame or a card out
_WRONG: Final = -2.0


class CardCodes(Struct, frozen=True, kw_only=True):
    """The codes of cards.

    Args:
        kind_at: position of the byte that tells cards from other reports, or None.
        kind: its value for cards.
        at: position of the code.
        width: its bytes.
        faces: the card of each code.
        dealt: the codes that were dealt; the others follow from them.
        agree: the part of the frames that agree.
    """

    kind_at: int | None
    kind: bytes
    at: int
    width: int
    faces: dict[bytes, Card]
    dealt: frozenset[bytes]
    agree: float


def find_card_codes(
    contents: Sequence[bytes], gaps: Sequence[int], deal: Sequence[Card], counted: range
) -> CardCodes | None:
    """Return the codes of a deal's cards, or None if no bytes agree with it.

    Args:
        contents: of the frames, in order, without copies.
        gaps: for each of them, the frames that may be missing before it.
        deal: the cards, in the order in which they were dealt.
        counted: positions of the number, which names no card.
    """
    tries: list[_Try] = []
    for kind_at, kind, group in _groups(contents, len(deal)):
        chosen = [contents[number] for number in group]
        places = _places(group, gaps)
        shortest = min(map(len, chosen))
        for width in range(1, _WIDEST + 1):
            for at in range(shortest - width + 1):
                if not set(range(at, at + width)) & set(counted):
                    codes = [content[at : at + width] for content in chosen]
                    tries.append(_Try(kind_at, kind, at, width, codes, places))
    found = _best(tries, deal)
    if found is None:
        return None
    each, seen, agree = found
    return CardCodes(
        kind_at=each.kind_at,
        kind=each.kind,
        at=each.at,
        width=each.width,
        faces=_filled(seen),
        dealt=frozenset(seen),
        agree=round(agree, 3),
    )


def printed_codes(contents: Sequence[bytes], counted: range) -> CardCodes | None:
    """Return the codes of a device that writes rank and suit as people do, or None."""
    shortest = min(map(len, contents), default=0)
    for at in range(shortest - 1):
        if {at, at + 1} & set(counted):
            continue
        codes = Counter(content[at : at + 2] for content in contents)
        faces = {code: face_of(code.decode("latin-1")) for code in codes}
        read = sum(count for code, count in codes.items() if faces[code] is not None)
        if read < _PRINTED * len(contents) or len(codes) < _PRINTED_LEAST:
            continue
        suit_first = Counter(chr(code[0]) in SUITS for code in codes).most_common(1)[0][0]
        every = {(c.suit + c.rank if suit_first else c.rank + c.suit).encode(): c for c in Card}
        seen = frozenset(code for code in codes if code in every)
        return CardCodes(kind_at=None, kind=b"", at=at, width=2, faces=every, dealt=seen, agree=1.0)
    return None


class _Try(NamedTuple):
    """One guess where the code stands."""

    kind_at: int | None
    kind: bytes
    at: int
    width: int
    codes: list[bytes]
    places: list[int]


def _best(
    tries: Sequence[_Try], deal: Sequence[Card]
) -> tuple[_Try, dict[bytes, Card], float] | None:
    """Return the guess that agrees best: by position, else by an alignment."""
    faces = len(set(deal))
    likely = []
    for each in tries:
        different = len(set(each.codes))
        if min(faces, 2) <= different <= max(_CODES, faces + 4):
            direct = _by_place(each, deal)
            likely.append((direct[1] if direct else 0.0, min(different, faces), each, direct))
    likely.sort(key=lambda item: (item[0], item[1], -item[2].width), reverse=True)
    best: tuple[_Try, dict[bytes, Card], float] | None = None
    for agree, _, each, direct in likely:
        if direct is not None and (best is None or agree > best[2] + 0.01):
            best = (each, direct[0], agree)
    if best is not None or max(Counter(deal).values()) == 1:
        # Where no face comes twice, nothing but its position says which card a frame is.
        return best
    by_codes = sorted(likely, key=lambda item: (-item[1], item[2].width))
    for _, _, each, _ in by_codes[:_ALIGNED]:
        found = _aligned(each.codes, each.places, deal)
        if found is not None and (best is None or found[1] > best[2] + 0.01):
            best = (each, *found)
    return best


def _by_place(each: _Try, deal: Sequence[Card]) -> tuple[dict[bytes, Card], float] | None:
    """Return the codes if every frame is the card whose turn it is."""
    if each.places[-1] >= len(deal) or each.places[-1] < len(deal) - 1 - _OPEN_END:
        return None
    once = max(Counter(deal).values()) == 1
    if once and each.places[-1] != len(deal) - 1 and len(each.codes) != len(deal):
        return None
    pairs = [(code, deal[place]) for code, place in zip(each.codes, each.places, strict=True)]
    return _mapped(pairs, each.codes, len(set(deal)))


def _groups(contents: Sequence[bytes], cards: int) -> Iterator[tuple[int | None, bytes, list[int]]]:
    """Yield the frames that may be the cards: all, those of one length, those with one byte."""
    few, many = cards * 0.6, cards * 1.15 + 2
    if few <= len(contents) <= many:
        yield None, b"", list(range(len(contents)))
    shortest = min(map(len, contents), default=0)
    for at in range(shortest):
        for byte, count in Counter(content[at] for content in contents).items():
            if few <= count <= many and count < len(contents):
                group = [n for n, content in enumerate(contents) if content[at] == byte]
                yield at, bytes([byte]), group
    for size, count in Counter(map(len, contents)).items():
        if few <= count <= many and count < len(contents):
            yield None, b"", [n for n, content in enumerate(contents) if len(content) == size]


def _places(group: Sequence[int], gaps: Sequence[int]) -> list[int]:
    """Return about which card each frame of a group is."""
    places, lost, taken = [], 0, 0
    wanted = set(group)
    for number, gap in enumerate(gaps):
        lost += gap
        if number in wanted:
            places.append(taken + lost)
            taken += 1
    return places


def _aligned(
    codes: Sequence[bytes], places: Sequence[int], deal: Sequence[Card]
) -> tuple[dict[bytes, Card], float] | None:
    votes = _votes(
        (code, deal[place + off])
        for code, place in zip(codes, places, strict=True)
        for off in range(-_WINDOW, _WINDOW + 1)
        if 0 <= place + off < len(deal)
    )
    pairs: list[tuple[int, int]] = []
    for _ in range(_ROUNDS):
        pairs = _alignment(codes, deal, votes)
        votes = _votes((codes[a], deal[b]) for a, b in pairs)
    named = [(codes[a], deal[b]) for a, b in pairs]
    return _mapped(named, codes, len(set(deal)))


def _mapped(
    pairs: Sequence[tuple[bytes, Card]], codes: Sequence[bytes], faces: int
) -> tuple[dict[bytes, Card], float] | None:
    """Return the face of each code, and the part of the frames that agree."""
    votes = _votes(iter(pairs))
    mapping = {code: told.most_common(1)[0][0] for code, told in votes.items()}
    agree = sum(mapping[code] == face for code, face in pairs) / max(len(codes), 1)
    # A code that came once, where another one has its face, is damage.
    different = Counter(codes)
    owners: dict[Card, bytes] = {}
    for code, face in mapping.items():
        if face not in owners or different[code] > different[owners[face]]:
            owners[face] = code
    kept = {code: face for face, code in owners.items() if _outvoted(votes[code])}
    stray = sum(count for code, count in different.items() if code not in kept)
    if agree < _AGREE or stray > len(codes) * (1 - _AGREE) or len(kept) < faces * _AGREE:
        return None
    return kept, agree - stray / len(codes)


def _outvoted(told: Counter[Card]) -> bool:
    """Report whether one face has more votes than all others."""
    return told.most_common(1)[0][1] * 2 > sum(told.values())


def _votes(pairs: Iterator[tuple[bytes, Card]]) -> dict[bytes, Counter[Card]]:
    votes: dict[bytes, Counter[Card]] = defaultdict(Counter)
    for code, face in pairs:
        votes[code][face] += 1
    return votes


def _alignment(
    codes: Sequence[bytes], deal: Sequence[Card], votes: Mapping[bytes, Counter[Card]]
) -> list[tuple[int, int]]:
    """Return the pairs of the best alignment of codes and cards (Needleman and Wunsch, 1970)."""
    totals = {code: sum(told.values()) for code, told in votes.items()}
    width = len(deal) + 1
    above = [_SKIP * at for at in range(width)]
    steps: list[bytearray] = []
    for row, code in enumerate(codes, start=1):
        told, total = votes.get(code, Counter()), totals.get(code, 0) or 1
        line = [_SKIP * row]
        step = bytearray(width)
        for at, face in enumerate(deal, start=1):
            count = told.get(face, 0)
            both = above[at - 1] + (2.0 * count / total if count else _WRONG)
            best, way = max((both, 0), (above[at] + _SKIP, 1), (line[at - 1] + _SKIP, 2))
            line.append(best)
            step[at] = way
        steps.append(step)
        above = line
    pairs = []
    row, at = len(codes), len(deal)
    while row and at:
        way = steps[row - 1][at]
        if way == 0:
            pairs.append((row - 1, at - 1))
        row -= way != 2  # noqa: PLR2004 - a card without a frame
        at -= way != 1
    return pairs[::-1]


def _filled(seen: Mapping[bytes, Card]) -> dict[bytes, Card]:
    """Return the codes of all cards, where each half byte follows from the rank or the suit."""
    halves = {bytes.fromhex(code.hex()): code.hex() for code in seen}
    size = len(next(iter(halves.values())))
    parts: list[Mapping[str, str]] = []
    for at in range(size):
        by_rank = _function((face.rank, halves[code][at]) for code, face in seen.items())
        by_suit = _function((face.suit, halves[code][at]) for code, face in seen.items())
        part = by_rank if by_rank is not None and len(by_rank) == len(RANKS) else by_suit
        if part is None:
            return dict(seen)
        parts.append(part)
    filled = dict(seen)
    known = set(seen.values())
    for face in Card:
        if face in known:
            continue
        digits = [part.get(face.rank) or part.get(face.suit) for part in parts]
        code = bytes.fromhex("".join(map(str, digits))) if all(digits) else b""
        if code and code not in filled:
            filled[code] = face
    return filled


def _function(pairs: Iterator[tuple[str, str]]) -> dict[str, str] | None:
    """Return a table if every first value always has the same second one, else None."""
    table: dict[str, str] = {}
    for first, second in pairs:
        if table.setdefault(first, second) != second:
            return None
    return table
