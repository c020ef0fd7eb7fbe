"""Which number follows which, in a device's own writing."""

from functools import lru_cache
from typing import Final

from shoe_driver.framing.checks import number_digits
from shoe_driver.framing.grammar import BINARY, NumberSpec

__all__ = ["Numbering", "numbering_of"]

_REMEMBERED: Final = 64  # a driver has one, a log few


class Numbering:
    """The numbers of a device, as the framer returns them: decimal, or the text of the frame.

    Args:
        spec: of the profile.

    Attributes:
        first: the number after the last.
        boot: the number of a power-up, or None if it has none of its own.
    """

    def __init__(self, spec: NumberSpec) -> None:
        self._spec = spec
        self._digits = number_digits(spec) if spec.base != BINARY else ""
        self.first = self._written(spec.first)
        self.boot = None if spec.boot is None else self._written(spec.boot)

    def after(self, seq: str) -> str:
        """Return the number that follows; after an unknown one, the first."""
        value = self._value(seq)
        follows = value is not None and self._spec.first <= value < self._spec.greatest
        if value is None or (not follows and value != self._spec.boot):
            return self.first
        return self.first if value == self._spec.boot else self._written(value + 1)

    def _value(self, seq: str) -> int | None:
        if self._spec.base == BINARY:
            return int(seq) if seq.isdecimal() else None
        value = 0
        for digit in seq:
            if digit not in self._digits:
                return None
            value = value * self._spec.base + self._digits.index(digit)
        return value

    def _written(self, value: int) -> str:
        if self._spec.base == BINARY:
            return str(value)
        text, digits = "", self._digits
        while value or not text:
            value, digit = divmod(value, self._spec.base)
            text = digits[digit] + text
        return text if self._spec.field is not None else text.rjust(self._spec.width, digits[0])


@lru_cache(_REMEMBERED)
def numbering_of(spec: NumberSpec) -> Numbering:
    """Return the numbering of a profile, which holds no state."""
    return Numbering(spec)
