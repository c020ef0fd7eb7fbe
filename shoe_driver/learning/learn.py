"""Propose wire forms for an unknown capture, and say what is sure of each. Pure.

The capture is cut in every way that the grammar knows, each cut is tried with every check, and what
passes is run through the decoder's own framer. A candidate is sure only where nothing else of the
grammar explains the capture as well, and where chance does not either.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from shoe_driver.framing.frames import Frame, Piece, Rejected
from shoe_driver.framing.grammar import CheckSpec, FramerSpec, NumberSpec, WireForm
from shoe_driver.framing.registry import make_framer
from shoe_driver.learning.checks import CheckFound, search_checks
from shoe_driver.learning.numbers import missing_before, search_number
from shoe_driver.learning.segments import Segmentation, is_bare, segmentations

__all__ = ["Candidate", "SerialGuess", "guess_serial", "learn"]

_CANDIDATES: Final = 5
_AS_MUCH: Final = 0.12  # of the bytes: noise costs a framer that may wait for a rest more
_EXPLAINED: Final = 0.82  # of the bytes, at least, by what is sure
_CERTAIN: Final = -25.0  # logarithm of the chance that a wrong check passes
_PARITY: Final = 0.96  # of the bytes have it
_CARDS: Final = 60  # bodies that a device without a check may say, card by card
_COPIES: Final = 0.7  # of the reports came so often
_MOST_COPIES: Final = 5
_MOST_LOST: Final = 20  # reports in a row; a larger jump is a new beginning
# Of two that explain as much, the more special one: whose delimiters could not be there by chance.
_RANK: Final = {"line": 0, "cobs": 1, "slip": 2, "length": 3, "delimited": 4, "fixed": 6}


class SerialGuess(Struct, frozen=True, kw_only=True):
    """What the bytes say of the serial line; their baud rate leaves no trace in them.

    Args:
        data_bits: of each byte.
        parity: `N`, `E`, `O`, `M` or `S`.
        sure: the bytes show it.
    """

    data_bits: int
    parity: str
    sure: bool


class Candidate(Struct, frozen=True, kw_only=True):
    """A wire form that explains a capture.

    Args:
        wire: framer, check and numbering.
        explained: the part of the bytes in frames that pass.
        copies: how often the device sends each report.
        notes: what is guessed, and what capture would decide it; empty where all is sure.
        bodies: contents of the frames, in order, without copies.
        gaps: for each of them, the frames that may be missing before it.
    """

    wire: WireForm
    explained: float
    copies: int
    notes: tuple[str, ...]
    bodies: tuple[bytes, ...]
    gaps: tuple[int, ...]

    @property
    def sure(self) -> bool:
        """Whether nothing is guessed."""
        return not self.notes


class _Judged(Struct, frozen=True, kw_only=True):
    """A cut with the best of its checks, as far as the decoder's framer confirms it."""

    guess: Segmentation
    wire: WireForm
    checks: tuple[CheckFound, ...]
    explained: float
    pieces: tuple[Piece, ...]

    @property
    def order(self) -> tuple[Any, ...]:
        rank = _RANK[self.guess.framer.kind]
        if self.guess.framer.kind == "length" and not self.guess.varies:
            rank = 5 if self.guess.natural else 9
        if self.guess.framer.kind == "fixed" and not self.guess.framer.start:
            rank = 7
        checked = bool(self.checks)
        start = self.guess.begins or self.guess.framer.kind in ("line", "cobs", "slip")
        return (
            not checked,
            is_bare(self.guess) and not checked,
            not start,
            rank,
            -self.explained,
            len(self.guess.framer.start),
        )


def guess_serial(data: bytes) -> SerialGuess:
    """Return data bits and parity, by the eighth bit of the bytes that 8N1 shows."""
    high = sum(byte >> 7 for byte in data)
    if not data or not high:
        return SerialGuess(data_bits=8, parity="N", sure=False)
    even = sum(byte.bit_count() % 2 == 0 for byte in data)
    low = {byte & 0x7F for byte in data}
    for parity, count in (("E", even), ("O", len(data) - even), ("M", high)):
        if count >= _PARITY * len(data) and len(low) > 8:  # noqa: PLR2004 - values that could have shown another
            return SerialGuess(data_bits=7, parity=parity, sure=True)
    return SerialGuess(data_bits=8, parity="N", sure=True)


def learn(data: bytes) -> list[Candidate]:
    """Return the wire forms that explain a capture, best first; none where nothing does.

    Args:
        data: the bytes, without the parity bit.
    """
    if not data:
        return []
    judged = list(_judged(data))
    most = max((each.explained for each in judged if each.checks), default=0.0)
    marked = (each.explained for each in judged if not is_bare(each.guess))
    most = most or max(marked, default=0.0)
    judged.sort(key=lambda each: (each.explained < most - _AS_MUCH, each.order))
    best: dict[tuple[object, ...], _Judged] = {}
    for each in judged:
        check = each.wire.check
        best.setdefault((each.guess.framer.kind, check.kind, check.hex), each)
    kept = list(best.values())[:_CANDIDATES]
    return [_candidate(each, kept) for each in kept]


def _judged(data: bytes) -> Iterator[_Judged]:
    known: list[tuple[str, str]] | None = None
    for guess in segmentations(data):
        if known is not None and is_bare(guess):
            continue
        found = search_checks(guess, known)
        if not found:
            yield from _confirmed(data, guess, CheckSpec(), ())
            continue
        for judged in _confirmed(data, guess, found[0].spec, tuple(found)):
            yield judged
            if known is None and judged.explained > _EXPLAINED and found[0].ln_chance < _CERTAIN:
                known = list({(each.spec.kind, each.spec.variant) for each in found})


def _confirmed(
    data: bytes, guess: Segmentation, check: CheckSpec, found: tuple[CheckFound, ...]
) -> Iterator[_Judged]:
    if not found and guess.tail:
        return
    wire = WireForm(framer=_framer(guess, check), check=check)
    framer = make_framer(wire)
    pieces = (*framer.feed(data), *framer.flush())
    rejected = sum(piece.length for piece in pieces if isinstance(piece, Rejected))
    explained = 1 - rejected / len(data)
    if any(isinstance(piece, Frame) for piece in pieces):
        yield _Judged(guess=guess, wire=wire, checks=found, explained=explained, pieces=pieces)


def _framer(guess: Segmentation, check: CheckSpec) -> FramerSpec:
    """Return the guess's framer, for content that may hold a delimiter where it does."""
    framer = guess.framer
    if framer.kind != "delimited":
        return framer
    start, end = bytes.fromhex(framer.start)[0], bytes.fromhex(framer.end)[0]
    after = guess.tail + 1
    inner = Counter(
        byte in (start, end) for unit in guess.units for byte in unit[1 : len(unit) - after]
    )
    loose = check.kind != "none" and inner[True] > len(guess.units) / 50
    return replace(framer, shape=("00-FF*",)) if loose else framer


def _candidate(each: _Judged, others: Sequence[_Judged]) -> Candidate:
    frames, adjacent, gaps = _in_order(each)
    copies, kept = _copies(frames)
    contents = [frames[at].body for at in kept]
    follows = [all(adjacent[kept[number - 1] + 1 : at + 1]) if number else True
               for number, at in enumerate(kept)]  # fmt: skip
    found = search_number(contents, follows)
    number = found.spec if found else None
    wire = replace(each.wire, number=number)
    notes = [*_doubts(each, others, contents, number)]
    if found is not None and not found.sure:
        notes.append(
            "numbering: no carry or wrap of the last digit seen; "
            "a capture of more reports shows its width"
        )
    if each.explained < _EXPLAINED:
        notes.append(f"framer: {1 - each.explained:.0%} of the bytes are in no frame")
    missing = [sum(gaps[kept[number - 1] + 1 : at + 1]) if number else gaps[0]
               for number, at in enumerate(kept)]  # fmt: skip
    if number is not None:
        told = missing_before(contents, number)
        missing = [
            gap if known is None or known > _MOST_LOST else known
            for gap, known in zip(missing, told, strict=True)
        ]
    return Candidate(
        wire=wire,
        explained=round(each.explained, 4),
        copies=copies,
        notes=tuple(notes),
        bodies=tuple(contents),
        gaps=tuple(missing),
    )


def _in_order(each: _Judged) -> tuple[list[Frame], list[bool], list[int]]:
    """Return the frames, whether each follows the one before directly, and what may be missing."""
    frames: list[Frame] = []
    adjacent: list[bool] = []
    gaps: list[int] = []
    lost = 0
    sizes = [len(piece.raw) for piece in each.pieces if isinstance(piece, Frame)]
    around = {"line": 1.5, "cobs": 1, "slip": 2}.get(each.guess.framer.kind, 0)
    usual = sum(sizes) / max(1, len(sizes)) + around
    for piece in each.pieces:
        if isinstance(piece, Rejected):
            lost += max(1, round(piece.length / usual))
            continue
        frames.append(piece)
        adjacent.append(lost == 0)
        gaps.append(lost)
        lost = 0
    return frames, adjacent, gaps


def _copies(frames: Sequence[Frame]) -> tuple[int, list[int]]:
    """Return how often reports come, and the index of the first of each."""
    runs: list[int] = []
    first: list[int] = []
    for at, frame in enumerate(frames):
        if at and frame.raw == frames[at - 1].raw:
            runs[-1] += 1
        else:
            runs.append(1)
            first.append(at)
    (usual, count), *_ = Counter(runs).most_common(1)
    if 1 < usual <= _MOST_COPIES and count >= _COPIES * len(runs):
        return usual, first
    return 1, list(range(len(frames)))


def _doubts(
    each: _Judged,
    others: Sequence[_Judged],
    contents: Sequence[bytes],
    number: NumberSpec | None,
) -> Iterator[str]:
    """Yield what is guessed of framer and check."""
    mine = each.guess.framer.kind
    as_good = {
        other.guess.framer.kind
        for other in others
        if bool(other.checks) == bool(each.checks)
        and other.explained > each.explained - _AS_MUCH
        and (other.guess.framer.kind != "length" or other.guess.varies or other.guess.natural)
    } - {mine}
    shown = each.guess.varies
    if mine == "slip" and not each.guess.natural:
        yield "framer: no escape of SLIP seen; a capture in which a body holds C0 or DB shows it"
    elif mine in ("line", "cobs"):
        pass  # text with line ends, and chunks that all unstuff, are no accident
    elif as_good and not (shown and as_good <= {"fixed"}):
        told = ", ".join(sorted(as_good))
        yield f"framer: {told} explains as much; a capture with frames of several lengths decides"
    elif not shown and mine not in {"fixed", "slip"}:
        yield "framer: all frames have one length; a capture with another report decides"
    if mine == "fixed" and _may_be_a_length(each.guess):
        yield "framer: a byte that never changes may be a length; capture another report"
    names = {found.name for found in each.checks}
    if len(names) > 1:
        alike = ", ".join(sorted(name for name, _ in names))
        yield f"check: {alike} pass alike; a capture of more different reports decides"
    elif each.checks and each.checks[0].ln_chance > _CERTAIN:
        yield "check: too few different reports to tell it from chance; capture more of them"
    elif not each.checks:
        yield from _unchecked(contents, number)


def _may_be_a_length(guess: Segmentation) -> bool:
    """Report whether one of the first bytes is always what a length would be."""
    size = guess.framer.size
    for at in range(guess.lead, min(guess.lead + 4, size)):
        (byte, count), *_ = Counter(unit[at] for unit in guess.units).most_common(1)
        if count > _COPIES * len(guess.units) and size - at - 6 <= byte <= size:
            return True
    return False


def _unchecked(contents: Sequence[bytes], number: NumberSpec | None) -> Iterator[str]:
    """Yield why there may be a check that the grammar does not have."""
    shortest = min(map(len, contents), default=0)
    if number is None or number.field is not None:
        yield "check: none of the grammar passes; there may be another"
        return
    counted = range(number.at, number.at + number.width)
    varying = [
        at
        for at in range(shortest)
        if at not in counted and len({content[at] for content in contents}) > 1
    ]
    bodies = Counter(
        content[: number.at] + content[number.at + number.width :] for content in contents
    )
    usual = [body for body, count in bodies.items() if count > 1]
    few = len(usual) <= _CARDS and sum(bodies[body] for body in usual) > len(contents) / 2
    if len(varying) > 2 or not few:  # noqa: PLR2004 - a card is one byte, or rank and suit
        yield "check: none of the grammar passes; there may be another"
