"""Which part of the frames counts up by one: the counter, its base, its width and where it wraps.

Only frames that follow one another directly are compared: between them nothing was lost.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from shoe_driver.framing.checks import number_digits, number_in
from shoe_driver.framing.grammar import BINARY, DECIMAL, NumberSpec, Order

__all__ = ["NumberFound", "missing_before", "search_number"]

_AGREE: Final = 0.85  # of the pairs count up
_FEWEST: Final = 8
_WRAPS: Final = 2  # to a first number above one that was seen
_POSITIONS: Final = 40
_LETTERS: Final = DECIMAL + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_WIDEST: Final = 6
_BINARY_WIDEST: Final = 4


class NumberFound(Struct, frozen=True, kw_only=True):
    """A counter.

    Args:
        spec: the numbering.
        agree: the part of the pairs that count up by one.
        sure: the capture shows its width: a carry, or a wrap without one.
    """

    spec: NumberSpec
    agree: float
    sure: bool


_Pairs = Sequence[tuple[bytes, bytes]]


def search_number(contents: Sequence[bytes], adjacent: Sequence[bool]) -> NumberFound | None:
    """Return the counter of frames, or None if nothing counts.

    Args:
        contents: of the frames, in order, copies left out.
        adjacent: whether each frame follows the one before it directly.
    """
    pairs = [
        pair for pair, follows in zip(pairwise(contents), adjacent[1:], strict=True) if follows
    ]
    # A length that is rare is a frame that was damaged, where there is no check to tell.
    sizes = Counter(len(content) for pair in pairs for content in pair)
    rare = {size for size, count in sizes.items() if count < len(pairs) / 16}
    pairs = [(a, b) for a, b in pairs if not {len(a), len(b)} & rare]
    if len(pairs) < _FEWEST:
        return None
    least = _shortest(pairs)
    every = [(a, b) for a, b in pairwise(contents) if min(len(a), len(b)) >= least]
    found = [*_text_numbers(pairs, every), *_fields(pairs)] or [*_binary_numbers(pairs, every)]
    best = max(found, key=lambda each: (each.spec.width, each.agree), default=None)
    if best is None or not best.spec.first:
        return best
    seen = {_value_of(text, best.spec) for each in contents if (text := number_in(each, best.spec))}
    boot = best.spec.first - 1
    return replace(best, spec=replace(best.spec, boot=boot)) if boot in seen else best


def _agree(pairs: Sequence[tuple[int | None, int | None]]) -> tuple[float, int, int, bool]:
    """Return the part of the pairs that count up, the ends of the range, and whether it wraps."""
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    if len(known) < _AGREE * len(pairs):
        return 0.0, 0, 0, False
    up = [(a, b) for a, b in known if b == a + 1]
    if not up:
        return 0.0, 0, 0, False
    least, most = min(a for a, _ in up), max(b for _, b in up)
    steps = Counter((a, b) for a, b in known if b < a and a >= most)
    (last, first), wraps = steps.most_common(1)[0] if steps else ((0, 0), 0)
    # A number below the first comes only at a power-up, and so less often than the wrap.
    if first > least and (wraps < _WRAPS or wraps <= sum(b < first for _, b in known)):
        wraps = 0
    return (len(up) + wraps) / len(pairs), first, last, bool(wraps)


def _text_numbers(pairs: _Pairs, every: _Pairs) -> Iterator[NumberFound]:
    for at in range(_shortest(pairs)):
        seen = Counter(content[at] for content, _ in pairs)
        usual = {chr(byte) for byte, count in seen.items() if count >= max(2, len(pairs) // 25)}
        for digits in (_LETTERS, _LETTERS.lower()):
            if len(usual) > 1 and usual <= set(digits):
                found = _text_number(pairs, every, at, digits, max(map(digits.index, usual)))
                if found is not None:
                    yield found
                break


def _text_number(
    pairs: _Pairs, every: _Pairs, at: int, digits: str, most: int
) -> NumberFound | None:
    base = next((usual for usual in (10, 16, 36) if most < usual), 36)
    # Digits that never come are none of the base, if the next digit goes on where they would.
    if most + 1 not in (10, 16, 36) and at and _carried(every, at, at, digits[: most + 1])[1]:
        base = most + 1
    alphabet = digits[:base]
    agree, first, last, wraps = _agree(_valued(pairs, at, at, alphabet))
    if agree < _AGREE:
        return None
    width, sure = 1, False
    while width < _WIDEST and at - width >= 0:
        rolled, carried = _carried(every, at - width + 1, at, alphabet)
        sure = rolled
        still = chr(_constant(pairs, at - width) or 0)
        # Where nothing went round, a digit that never changes belongs to it; a letter may not.
        if not carried and (rolled or still not in DECIMAL):
            break
        width += 1
    if width > 1:
        agree, first, last, wraps = _agree(_valued(pairs, at - width + 1, at, alphabet))
    whole = not wraps or last == base**width - 1
    spec = NumberSpec(
        base=base,
        width=width,
        at=at - width + 1,
        digits="" if alphabet == _LETTERS[:base] else alphabet,
        first=first if wraps else 0,
        last=None if whole else last,
    )
    return NumberFound(spec=spec, agree=agree, sure=sure)


def _valued(
    pairs: _Pairs, start: int, end: int, alphabet: str
) -> list[tuple[int | None, int | None]]:
    """Return the values of the digits at these places."""

    def value(content: bytes) -> int | None:
        text = content[start : end + 1].decode("latin-1")
        if len(text) != end + 1 - start or any(each not in alphabet for each in text):
            return None
        number = 0
        for digit in text:
            number = number * len(alphabet) + alphabet.index(digit)
        return number

    return [(value(a), value(b)) for a, b in pairs]


def _carried(every: _Pairs, start: int, end: int, alphabet: str) -> tuple[bool, bool]:
    """Return whether the digits at these places went round, and whether the one before went on."""
    rolled = [
        (alphabet.find(chr(a[start - 1])), alphabet.find(chr(b[start - 1])))
        for (a, b), (low, high) in zip(every, _valued(every, start, end, alphabet), strict=True)
        if low is not None and high is not None and high < low and start
    ]
    on = sum(a >= 0 and (b - a) % len(alphabet) == 1 for a, b in rolled)
    stays = sum(a[start - 1] == b[start - 1] for a, b in every)
    return bool(rolled), on * 2 > len(rolled) and stays + len(rolled) > _AGREE * len(every)


def _binary_numbers(pairs: _Pairs, every: _Pairs) -> Iterator[NumberFound]:
    for at in range(_shortest(pairs)):
        low = [(a[at], b[at]) for a, b in pairs]
        agree, first, last, wraps = _agree([*low])
        if agree >= _AGREE and len({a for a, _ in low}) >= _FEWEST // 2:
            whole = not wraps or last == BINARY - 1
            order, width, decided = _binary_width(pairs, every, at) if whole else ("big", 1, False)
            spec = NumberSpec(
                base=BINARY,
                width=width,
                at=at - width + 1 if order == "big" else at,
                order=order,
                first=0 if whole else first,
                last=None if whole else last,
            )
            yield NumberFound(spec=spec, agree=agree, sure=decided)


def _binary_width(pairs: _Pairs, every: _Pairs, at: int) -> tuple[Order, int, bool]:
    """Return order and width of the number whose low byte is at `at`, and whether it was shown.

    When a low byte goes round, the next one goes on, or there is none, even if frames were lost in
    between. Where none went round, a byte that never changes may be a digit all the same.
    """
    end = _shortest(every)
    constants = sum(_constant(pairs, place) is not None for place in range(end))
    decided = False
    best: tuple[Order, int, bool] = ("big", 1, False)
    ways: tuple[tuple[Order, int], ...] = (("big", -1), ("little", 1))
    for order, step in ways:
        width, shown = 1, False
        while width < _BINARY_WIDEST and 0 <= (place := at + step * width) < end:
            nearer = at + step * (width - 1)
            rolled = [(a[place], b[place]) for a, b in every if b[nearer] < a[nearer]]
            shown = bool(rolled)
            still = _constant(pairs, place)
            carried = sum((b - a) % BINARY == 1 for a, b in rolled) * 2 > len(rolled)
            stays = sum(a[place] == b[place] for a, b in every)
            carried = carried and stays + len(rolled) > _AGREE * len(every)
            # One byte that never changes may be the kind of report; of two, the nearer is a digit.
            guessed = not rolled and (still == 0 or (width == 1 and constants > 1))
            if not carried and not (guessed and still is not None):
                break
            decided = decided or carried
            width += 1
        width = width if width in (1, 2, 4) else 2
        if width > best[1]:
            best = (order, width, decided)
        decided = shown or decided
    return best if best[1] > 1 else ("big", 1, decided)


def _constant(pairs: _Pairs, place: int) -> int | None:
    """Return the byte that stands at a place in almost every frame, or None."""
    (usual, count), *_ = Counter(a[place] for a, _ in pairs).most_common(1)
    return usual if count > _AGREE * len(pairs) else None


def _shortest(pairs: _Pairs) -> int:
    return min(_POSITIONS, *(len(content) for pair in pairs for content in pair))


def _fields(pairs: _Pairs) -> Iterator[NumberFound]:
    """Yield a counter in a field of text between separators, without leading zeros."""
    sizes = {len(content) for content, _ in pairs}
    for separator in b",;:|/ ":
        counts = Counter(content.count(separator) for content, _ in pairs)
        (several, count), *_ = counts.most_common(1)
        if len(sizes) < 2 or not several or count < _AGREE * len(pairs):  # noqa: PLR2004 - lengths
            continue
        for field in range(several + 1):
            values = [
                tuple(_decimal(content, separator, field) for content in pair) for pair in pairs
            ]
            agree, first, last, wraps = _agree(values)  # type: ignore[arg-type] # pairs of two
            texts = [
                a.split(bytes([separator]))[field] for a, _ in pairs if a.count(separator) >= field
            ]
            lengths = Counter(map(len, texts))
            usual = [size for size, count in lengths.items() if count > len(texts) / 50]
            if agree < _AGREE or len(usual) < 2:  # noqa: PLR2004 - lengths
                continue
            width = max(usual)
            spec = NumberSpec(
                base=10,
                width=width,
                field=field,
                separator=chr(separator),
                first=first if wraps else 0,
                last=last if wraps and last != 10**width - 1 else None,
            )
            yield NumberFound(spec=spec, agree=agree, sure=wraps)


def _decimal(content: bytes, separator: int, field: int) -> int | None:
    fields = content.split(bytes([separator]))
    text = fields[field] if field < len(fields) else b""
    return int(text) if text.isdigit() and len(text) < _WIDEST and text[:1] != b"+" else None


def missing_before(contents: Sequence[bytes], spec: NumberSpec) -> list[int | None]:
    """Return how many numbers are missing before each frame; None where it cannot be said."""
    missing: list[int | None] = []
    before: int | None = None
    around = spec.greatest - spec.first + 1
    for content in contents:
        text = number_in(content, spec)
        value = None if text is None else _value_of(text, spec)
        known = value is not None and before is not None
        missing.append((value - before - 1) % around if known else None)  # type: ignore[operator] # known
        before = value
    return missing


def _value_of(text: str, spec: NumberSpec) -> int:
    if spec.base == BINARY:
        return int(text)
    value, digits = 0, number_digits(spec)
    for digit in text:
        value = value * spec.base + digits.index(digit)
    return value
