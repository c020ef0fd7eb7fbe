"""Which check a guess's frames pass: every check of the grammar, over every usual span. Pure.

A check is believed by the chance that a wrong one passes as often: the number of trials, times the
ways to choose the frames that pass, times the chance of each.
"""

import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from msgspec import Struct

from shoe_driver.framing.checks import check_function
from shoe_driver.framing.grammar import CHECK_BYTES, CRCS, CheckSpec, check_names
from shoe_driver.learning.segments import Segmentation

__all__ = ["CheckFound", "search_checks"]

_SAMPLE: Final = 64  # frames that a check is tried on
_FIRST: Final = 5  # ... and of those, how many must pass before the rest is looked at
_FIRST_PASS: Final = 2
_PASS: Final = 0.6  # of the frames; the others are damaged
_SKIPS: Final = range(5)
_DROPS: Final = range(4)
_LN_CHANCE: Final = -16.0  # e to this: one in ten million
_FEW_VALUES: Final = 4


class CheckFound(Struct, frozen=True, kw_only=True):
    """A check that frames pass.

    Args:
        spec: the check.
        passed: the part of the different frames that pass.
        ln_chance: the logarithm of the chance that a wrong check passes as often.
    """

    spec: CheckSpec
    passed: float
    ln_chance: float

    @property
    def name(self) -> tuple[str, bool]:
        """What it is called: its kind, and whether it is text."""
        return self.spec.kind, self.spec.hex


@cache
def _functions(size: int) -> tuple[tuple[str, str], ...]:
    """Return kind and variant of every check of so many bytes."""
    found = []
    for kind in check_names():
        if CHECK_BYTES[kind] == size:
            found += [(kind, variant) for variant in CRCS.get(kind, {"": None})]
    return tuple(found)


def search_checks(
    guess: Segmentation, only: Sequence[tuple[str, str]] | None = None
) -> list[CheckFound]:
    """Return the checks that a guess's frames pass, the most certain first.

    Args:
        guess: the frames.
        only: checks to try, by kind and variant; None tries all.
    """
    units = list(dict.fromkeys(guess.units))
    step = max(1, len(units) // _SAMPLE)
    sample = units[::step][:_SAMPLE]
    found = [
        each
        for hexed in (True, False)
        for size in (1, 2, 4)
        for each in _of_size(guess, sample, size, hexed=hexed, only=only)
    ]
    return sorted(found, key=lambda each: (each.ln_chance, each.spec.skip + each.spec.drop))


def _of_size(
    guess: Segmentation,
    sample: Sequence[bytes],
    size: int,
    *,
    hexed: bool,
    only: Sequence[tuple[str, str]] | None,
) -> Iterator[CheckFound]:
    width = size * 2 if hexed else size
    if guess.tail not in (0, width):
        return
    end = 0 if guess.tail else guess.trail
    shortest = guess.lead + end + width + 1
    fit = [unit for unit in sample if len(unit) >= shortest]
    fields = [unit[len(unit) - end - width : len(unit) - end] for unit in fit]
    if len(fit) < _PASS * len(sample) or len(set(fields)) < _FEW_VALUES:
        return
    functions = [each for each in _functions(size) if only is None or each in only]
    trials = max(1, len(functions)) * len(_SKIPS) * len(_DROPS) * 8
    for values, order, lower in _values(fields, size, hexed=hexed):
        for start, skip, drop in _spans(guess):
            begin = (0 if start else guess.lead) + skip
            spans = [unit[begin : len(unit) - end - width - drop] for unit in fit]
            for kind, variant in functions:
                passed = _passes(kind, variant, spans, values)
                if passed < _PASS * len(sample):
                    continue
                different = set(zip(spans, values, strict=True))
                right = sum(
                    check_function(kind, variant)(span) == value for span, value in different
                )
                ln_chance = _ln_chance(trials, len(different), right, size)
                if ln_chance < _LN_CHANCE:
                    spec = CheckSpec(
                        kind=kind,
                        variant=variant,
                        hex=hexed,
                        lower=lower,
                        order=order,  # type: ignore[arg-type] # big or little
                        after_end=bool(guess.tail),
                        start=start,
                        skip=skip,
                        drop=drop,
                    )
                    share = passed / len(sample)
                    yield CheckFound(spec=spec, passed=share, ln_chance=ln_chance)


def _values(
    fields: Sequence[bytes], size: int, *, hexed: bool
) -> Iterator[tuple[list[int], str, bool]]:
    """Yield the values of a check's field in each way to read it; -1 where it is none."""
    if not hexed:
        for order in ("big", "little") if size > 1 else ("big",):
            yield [int.from_bytes(field, order) for field in fields], order, False
        return
    for lower, digits in ((False, b"0123456789ABCDEF"), (True, b"0123456789abcdef")):
        legal = [all(byte in digits for byte in field) for field in fields]
        if sum(legal) >= _PASS * len(fields):
            values = [
                int(field, 16) if each else -1 for field, each in zip(fields, legal, strict=True)
            ]
            yield values, "big", lower
            return


def _spans(guess: Segmentation) -> Iterator[tuple[bool, int, int]]:
    for drop in _DROPS:
        if guess.lead:
            yield True, 0, drop
        for skip in _SKIPS:
            yield False, skip, drop


def _passes(kind: str, variant: str, spans: Sequence[bytes], values: Sequence[int]) -> int:
    function = check_function(kind, variant)
    first = sum(
        len(span) > 1 and function(span) == value
        for span, value in zip(spans[:_FIRST], values[:_FIRST], strict=True)
    )
    if first < _FIRST_PASS:
        return 0
    return sum(
        len(span) > 1 and function(span) == value for span, value in zip(spans, values, strict=True)
    )


def _ln_chance(trials: int, frames: int, passed: int, size: int) -> float:
    ways = math.lgamma(frames + 1) - math.lgamma(passed + 1) - math.lgamma(frames - passed + 1)
    return math.log(trials) + ways - passed * size * 8 * math.log(2)
