"""Ways to cut an unknown capture into frames, one for each guess at a framer. Pure.

A guess costs little and may be wrong: it is judged by the bytes that its frames cover, and then by
the checks that they pass (`shoe_driver.learning.checks`).
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from shoe_driver.framing.chunks import STUFFINGS
from shoe_driver.framing.grammar import FramerSpec

__all__ = ["Segmentation", "is_bare", "segmentations"]

_AS_MUCH: Final = 0.05  # of the bytes
_FEWEST: Final = 8  # frames in a capture that says anything
_COVERED: Final = 0.55  # of the bytes, by the frames of a guess that is looked into
_PRINTABLE: Final = 0.92
_LONGEST: Final = 96  # bytes of a frame that is looked for
_GUESSES: Final = 14  # bytes that are tried as a delimiter
_COMMON: Final = 0.5  # of the frames have it
_EACH: Final = 24  # guesses of each kind that are looked into
_TAILS: Final = (0, 1, 2, 4, 8)  # bytes that a check after the end may have
_SIZES: Final = range(3, 41)
_PLAIN: Final = frozenset(b"\r\n") | frozenset(range(ord(" "), ord("~") + 1))
_TEXT: Final = re.compile(rb"[ -~]+")


class Segmentation(Struct, frozen=True, kw_only=True):
    """A capture, cut.

    Args:
        framer: the guess.
        units: the frames, in order: whole, unstuffed, a line without its end.
        covered: the part of the bytes that they cover.
        tail: bytes after the end; a check of so many.
        varies: frames of several lengths are explained.
        natural: a length that is always the same counts what lengths usually count.
        begins: the capture begins with a frame.
    """

    framer: FramerSpec
    units: tuple[bytes, ...]
    covered: float
    tail: int = 0
    varies: bool = False
    natural: bool = False
    begins: bool = False

    @property
    def lead(self) -> int:
        """Bytes before the content."""
        return len(bytes.fromhex(self.framer.start)) + len(self.framer.prefix)

    @property
    def trail(self) -> int:
        """Bytes of the end, or of a line's suffix."""
        return len(bytes.fromhex(self.framer.end)) + len(self.framer.suffix)


def segmentations(data: bytes) -> list[Segmentation]:
    """Return the guesses that cover much of a capture; those last that almost any bytes fit."""
    found = [
        sorted(
            (
                guess
                for guess in guesses(data)
                if guess.covered >= _COVERED and len(guess.units) >= _FEWEST
            ),
            key=lambda guess: (
                is_bare(guess),
                not guess.begins,
                guess.framer.kind == "length" and not (guess.varies or guess.natural),
                -guess.covered,
            ),
        )[:_EACH]
        for guesses in (_lines, _chunks, _by_length, _delimited, _fixed)
    ]
    every = [guess for guesses in found for guess in guesses]
    return sorted(every, key=is_bare) + list(_bare(data))


def is_bare(guess: Segmentation) -> bool:
    """Report whether nothing but lengths marks the frames, so that almost any bytes fit."""
    return guess.framer.kind in ("length", "fixed") and not guess.framer.start


def _bare(data: bytes) -> Iterator[Segmentation]:
    for size in _SIZES:
        yield _in_steps(data, b"", size)


def _most(units: Sequence[bytes]) -> int:
    """Return a limit that fits the frames and leaves little room for a damaged length."""
    sizes = Counter(map(len, units))
    common = [size for size, count in sizes.items() if count >= max(1, len(units) // 50)]
    return max(common) + 8 if len(common) > 1 else max(common) + 2


def _several(units: Sequence[bytes]) -> bool:
    counts = Counter(map(len, units)).most_common(2)
    return len(counts) > 1 and counts[1][1] >= max(3, len(units) // 25)


def _lines(data: bytes) -> Iterator[Segmentation]:
    plain = sum(byte in _PLAIN for byte in data)
    if plain < _PRINTABLE * len(data) * 0.95:
        return
    lines = [line for line in re.split(rb"[\r\n]+", data) if line]
    prefix, suffix = (_control(lines, at) for at in (0, -1))
    within = [line for line in lines if line.startswith(prefix) and line.endswith(suffix)]
    lead, trail = len(prefix), len(suffix)
    units = [line for line in within if _TEXT.fullmatch(line, lead, len(line) - trail)]
    if not units:
        return
    covered = sum(map(len, units)) + len(re.findall(rb"[\r\n]", data))
    framer = FramerSpec(
        kind="line", most=_most(units), prefix=prefix.decode("latin-1"), suffix=suffix.decode()
    )
    yield Segmentation(
        framer=framer, units=tuple(units), covered=covered / len(data), varies=True, begins=True
    )


def _control(lines: Sequence[bytes], at: int) -> bytes:
    """Return the control character that begins, or ends, most lines."""
    (byte, count), *_ = Counter(line[at] for line in lines).most_common(1)
    return bytes([byte]) if byte not in _PLAIN and count > _COMMON * len(lines) else b""


def _chunks(data: bytes) -> Iterator[Segmentation]:
    for kind, stuffing in STUFFINGS.items():
        chunks = [chunk for chunk in data.split(stuffing.delimiter) if chunk]
        whole = [(chunk, stuffing.decode(chunk)) for chunk in chunks if len(chunk) <= _LONGEST]
        units = [decoded for _, decoded in whole if decoded]
        if len(units) < _FEWEST or (kind == "slip" and data.count(stuffing.delimiter) < len(units)):
            continue
        covered = sum(len(chunk) for chunk, decoded in whole if decoded)
        covered += data.count(stuffing.delimiter)
        escaped = any(chunk != decoded for chunk, decoded in whole) if kind == "slip" else True
        yield Segmentation(
            framer=FramerSpec(kind=kind, most=_most(units)),  # type: ignore[arg-type] # cobs or slip
            units=tuple(units),
            covered=covered / len(data),
            varies=_several(units),
            natural=escaped,
            begins=True,
        )


def _frequent(data: bytes) -> list[int]:
    """Return the bytes that may be delimiters: the most frequent ones, the first one before all."""
    counts = Counter(data)
    common = [byte for byte, count in counts.most_common(_GUESSES) if count >= _FEWEST]
    return sorted(common, key=lambda byte: byte != data[0])


def _delimited(data: bytes) -> Iterator[Segmentation]:
    for start in _frequent(data):
        places = [at for at, byte in enumerate(data) if byte == start and at]
        for tail in _TAILS:
            before = Counter(data[at - 1 - tail] for at in places if at > tail)
            for end, count in before.most_common(2):
                if end == start or count < _COMMON * len(places) * 0.6:
                    continue
                guess = _between(data, start, end, tail)
                if guess is not None:
                    yield guess


def _between(data: bytes, start: int, end: int, tail: int) -> Segmentation | None:
    first, last = re.escape(bytes([start])), re.escape(bytes([end]))
    pattern = first + rb"[\s\S]{1,%d}?" % _LONGEST + last + rb"[\s\S]{%d}" % tail
    pattern += rb"(?=" + first + rb"|\Z)"
    units = re.findall(pattern, data)
    if len(units) < _FEWEST:
        return None
    framer = FramerSpec(kind="delimited", most=_most(units), start=f"{start:02X}", end=f"{end:02X}")
    return Segmentation(
        framer=framer,
        units=tuple(units),
        covered=sum(map(len, units)) / len(data),
        tail=tail,
        varies=_several(units),
        begins=data[0] == start,
    )


def _by_length(data: bytes) -> Iterator[Segmentation]:
    for start in (*_frequent(data)[:6], None):
        for at, width, order in (
            (0, 1, "big"), (1, 1, "big"), (2, 1, "big"), (0, 2, "big"), (0, 2, "little"),
            (1, 2, "big"), (1, 2, "little"),
        ):  # fmt: skip
            lead = 0 if start is None else 1
            for adds in _adds(data, start, lead + at, width, order):
                framer = FramerSpec(
                    kind="length",
                    most=_LONGEST,
                    start="" if start is None else f"{start:02X}",
                    at=at,
                    width=width,
                    order=order,  # type: ignore[arg-type] # big or little
                    adds=adds,
                )
                guess = _chained(data, framer, lead + at)
                if guess is not None:
                    yield guess


def _adds(data: bytes, start: int | None, at: int, width: int, order: str) -> list[int]:
    """Return what lengths may leave out, by the distances between starts."""
    if start is None:
        return list(range(at + width + 6))
    votes: Counter[int] = Counter()
    places = [place for place, byte in enumerate(data) if byte == start]
    for number, place in enumerate(places):
        told = int.from_bytes(data[place + at : place + at + width], order)  # type: ignore[arg-type] # big or little
        if told <= _LONGEST:
            votes.update(after - place - told for after in places[number + 1 : number + 4])
    fits = [
        (adds, count)
        for adds, count in votes.most_common(2)
        if 0 <= adds <= at + width + 8 and count >= _FEWEST
    ]
    return [adds for adds, _ in fits]


def _chained(data: bytes, framer: FramerSpec, length_at: int) -> Segmentation | None:
    """Follow lengths from frame to frame; after damage, from the next start."""
    units, at, bad = [], 0, 0
    start = bytes.fromhex(framer.start)
    end_of_field = length_at + framer.width
    while at < len(data):
        if not data.startswith(start, at):
            at, bad = at + 1, bad + 1
            continue
        told = int.from_bytes(data[at + length_at : at + end_of_field], framer.order)
        size = told + framer.adds
        follows = at + size
        fits = end_of_field < size <= _LONGEST and follows <= len(data)
        if not fits or (start and follows < len(data) and not data.startswith(start, follows)):
            at, bad = at + 1, bad + 1
            if not start and bad > len(data) * (1 - _COVERED):
                return None
            continue
        units.append(data[at:follows])
        at = follows
    if len(units) < _FEWEST:
        return None
    most = _most(units)
    covered = sum(map(len, units)) / len(data)
    sizes = Counter(map(len, units)).most_common(1)[0][0]
    told = sizes - framer.adds
    rest = sizes - end_of_field
    return Segmentation(
        framer=FramerSpec(
            kind="length",
            most=most,
            start=framer.start,
            at=framer.at,
            width=framer.width,
            order=framer.order,
            adds=framer.adds,
        ),
        units=tuple(units),
        covered=covered,
        varies=_several(units),
        natural=told in (rest, sizes, sizes - len(start), rest - 1, rest - 2, rest - 4),
        begins=data.startswith(start),
    )


def _fixed(data: bytes) -> Iterator[Segmentation]:
    for start in _frequent(data):
        places = [at for at, byte in enumerate(data) if byte == start]
        gaps = Counter(
            after - at
            for number, at in enumerate(places)
            for after in places[number + 1 : number + 3]
        )
        found = [
            _in_steps(data, bytes([start]), size)
            for size, count in gaps.most_common(2)
            if count >= _FEWEST and size in _SIZES
        ]
        yield from (guess for guess in found if not any(_halves(guess, each) for each in found))


def _halves(guess: Segmentation, other: Segmentation) -> bool:
    """Report whether the frames of a guess are several of another that explains about as much."""
    size, part = guess.framer.size, other.framer.size
    return part < size and size % part == 0 and other.covered > guess.covered - _AS_MUCH


def _in_steps(data: bytes, start: bytes, size: int) -> Segmentation:
    units, at = [], 0
    while at + size <= len(data):
        follows = at + size
        next_too = follows == len(data) or data.startswith(start, follows)
        if start and not (data.startswith(start, at) and next_too):
            at += 1
            continue
        units.append(data[at:follows])
        at = follows
    return Segmentation(
        framer=FramerSpec(kind="fixed", most=size, start=start.hex().upper(), size=size),
        units=tuple(units),
        covered=size * len(units) / max(1, len(data)),
        begins=data.startswith(start),
    )
