"""The checks of the grammar as functions, and what a frame's parts are once it is found."""

from collections.abc import Callable, Mapping
from functools import cache, lru_cache, reduce
from operator import xor
from typing import Final

import anycrc  # type: ignore[import-untyped] # it has no types

from shoe_driver.framing.grammar import (
    BINARY,
    CRC_NAMES,
    CRCS,
    DECIMAL,
    NumberSpec,
    WireForm,
)

__all__ = ["check_function", "layout_of", "number_digits", "number_in"]

_CheckFunction = Callable[[bytes], int]
_REMEMBERED: Final = 4096  # frames whose parts are cached; a shoe repeats some hundred
_LAYOUTS: Final = 64  # a driver has one, a log few
_LETTERS: Final = DECIMAL + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _xor8(data: bytes) -> int:
    return reduce(xor, data, 0)


_PLAIN: Final[Mapping[str, _CheckFunction]] = {
    "none": lambda _: 0,
    "sum8": lambda data: sum(data) & 0xFF,
    "xor8": _xor8,
    "lrc": lambda data: -sum(data) & 0xFF,
}


@cache
def check_function(kind: str, variant: str = "") -> _CheckFunction:
    """Return the function that computes a check.

    Args:
        kind: its name in the grammar.
        variant: of `crc8` and `crc32`; by itself the most usual.

    Raises:
        KeyError: the grammar has no such check.
    """
    if kind in _PLAIN:
        return _PLAIN[kind]
    family, _, name = kind.partition("-")
    usual = next(iter(CRCS[family]))
    crc = CRCS[family][CRC_NAMES.get(name, name) or variant or usual]
    made = anycrc.CRC(crc.width, crc.poly, crc.init, crc.reflected, crc.reflected, crc.xorout)
    calculate: _CheckFunction = made.calc
    return calculate


def number_digits(spec: NumberSpec) -> str:
    """Return the digits of a number in text."""
    return spec.digits or _LETTERS[: spec.base]


class _FrameLayout:
    """Takes frames apart, and checks them.

    Args:
        form: the wire form.
        lead: bytes before the content.
        trail: bytes after the content and what follows it: `end`, or a line's suffix.
    """

    def __init__(self, form: WireForm, lead: int, trail: int) -> None:
        check, number = form.check, form.number
        self._check = check
        self._value = check_function(check.kind, check.variant)
        self._size = form.check_bytes
        self._lead = lead
        # The check's end, and the content's, counted from the frame's end.
        self._after = 0 if check.after_end else trail
        self._content_end = trail + self._size
        self._from = (0 if check.start else lead) + check.skip
        self._format = b"%%0%d%s" % (self._size, b"x" if check.lower else b"X")
        self._number = number
        # A number that leads is no part of what a report says.
        self._taken = number.width if number and number.field is None and number.at == 0 else 0
        self._known: dict[bytes, tuple[str, bytes] | str] = {}

    @property
    def least(self) -> int:
        """Bytes of the shortest frame."""
        return self._lead + self._content_end + 1

    def take_apart(self, frame: bytes) -> tuple[str, bytes] | str:
        """Return a frame's number and body, or why it is none: `bad_check` or `bad_number`."""
        known = self._known.get(frame)
        if known is None:
            known = self._taken_apart(frame)
            if len(self._known) < _REMEMBERED:
                self._known[frame] = known
        return known

    def _taken_apart(self, frame: bytes) -> tuple[str, bytes] | str:
        if self._size and not self._holds(frame):
            return "bad_check"
        content = frame[self._lead : len(frame) - self._content_end]
        if self._number is None:
            return "", content
        seq = number_in(content, self._number)
        return "bad_number" if seq is None else (seq, content[self._taken :])

    def _holds(self, frame: bytes) -> bool:
        end = len(frame) - self._after
        at = end - self._size
        span = frame[self._from : at - self._check.drop] if at >= self._from else b""
        value = self._value(span)
        if self._check.hex:
            return frame[at:end] == self._format % value
        return int.from_bytes(frame[at:end], self._check.order) == value


@lru_cache(_LAYOUTS)
def layout_of(form: WireForm, lead: int, trail: int) -> _FrameLayout:
    """Return what takes a wire form's frames apart; the arguments are the class's."""
    return _FrameLayout(form, lead, trail)


def number_in(content: bytes, spec: NumberSpec) -> str | None:
    """Return a content's number as text; None if there is none."""
    digits = number_digits(spec)
    if spec.field is not None:
        fields = content.split(spec.separator.encode())
        found = fields[spec.field] if spec.field < len(fields) else b""
        text = found.decode("ascii", "replace")
        return text if 0 < len(found) <= spec.width and not text.strip(digits) else None
    found = content[spec.at : spec.at + spec.width]
    if len(found) < spec.width:
        return None
    if spec.base == BINARY:
        return str(int.from_bytes(found, spec.order))
    text = found.decode("ascii", "replace")
    return None if text.strip(digits) else text
