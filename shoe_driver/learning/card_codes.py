"""Which bytes of the frames name the card, from a deal whose cards are known. Pure.

Frames were lost, and others are no cards. So codes and cards are aligned: a first guess by position
gives each code its likely faces, and the alignment that agrees best with them gives better ones,
until nothing changes. Faces that were not dealt follow from the others where rank and suit stand
apart in the code.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from events.cards import RANKS, Card

__all__ = ["CardCodes", "find_card_codes"]

_WIDEST: Final = 4  # bytes of a code
_CODES: Final = 56  # a deck, and some that damage made
_ROUNDS: Final = 4
_WINDOW: Final = 2  # cards by which a first guess may be off
_AGREE: Final = 0.85
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
    best: CardCodes | None = None
    for kind_at, kind, group in _groups(contents, len(deal)):
        chosen = [contents[number] for number in group]
        places = _places(group, gaps)
        shortest = min(map(len, chosen))
        for width in range(1, _WIDEST + 1):
            for at in range(shortest - width + 1):
                if set(range(at, at + width)) & set(counted):
                    continue
                found = _aligned([content[at : at + width] for content in chosen], places, deal)
                if found is None or (best is not None and found[1] <= best.agree + 0.01):
                    continue
                faces = _filled(found[0])
                best = CardCodes(
                    kind_at=kind_at,
                    kind=kind,
                    at=at,
                    width=width,
                    faces=faces,
                    dealt=frozenset(found[0]),
                    agree=round(found[1], 3),
                )
    return best


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
    different = Counter(codes)
    faces = len(set(deal))
    if not min(faces, 2) <= len(different) <= max(_CODES, faces + 4):
        return None
    if len(codes) == len(deal):
        votes = _votes(zip(codes, deal, strict=True))
    else:
        near = (
            (code, deal[place + off])
            for code, place in zip(codes, places, strict=True)
            for off in range(-_WINDOW, _WINDOW + 1)
            if 0 <= place + off < len(deal)
        )
        votes = _votes(near)
    for _ in range(_ROUNDS):
        pairs = _alignment(codes, deal, votes)
        votes = _votes((codes[a], deal[b]) for a, b in pairs)
    mapping = {code: told.most_common(1)[0][0] for code, told in votes.items() if told}
    agree = sum(mapping.get(codes[a]) == deal[b] for a, b in pairs) / max(len(codes), 1)
    # A code that came once, where another one has its face, is damage.
    owners: dict[Card, bytes] = {}
    for code, face in mapping.items():
        if face not in owners or different[code] > different[owners[face]]:
            owners[face] = code
    kept = {code: face for face, code in owners.items()}
    stray = sum(count for code, count in different.items() if code not in kept)
    if agree < _AGREE or stray > len(codes) * (1 - _AGREE) or len(kept) < faces * _AGREE:
        return None
    return kept, agree - stray / len(codes)


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
