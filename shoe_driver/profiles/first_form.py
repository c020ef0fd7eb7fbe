"""Form 1 of a wire profile, which had three framers with a check each, as what it means in form 2.

Journals and sites hold such files for ever. Nothing new is written in this form.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal

from msgspec import Struct

from events.toml_form import read_table
from shoe_driver.codes.bracket import BracketTable
from shoe_driver.codes.enq import EnqTable
from shoe_driver.codes.ref import RefTable
from shoe_driver.codes.scan import ScanTable
from shoe_driver.framing.grammar import BINARY, DECIMAL, CheckSpec, FramerSpec, NumberSpec, WireForm

__all__ = ["DATA_LIMIT", "LINE_LIMIT", "FirstForm", "read_sections"]

DATA_LIMIT: Final = 64  # the most data bytes that a frame may have
LINE_LIMIT: Final = 256  # ... and a line, which is text
_HEADER_BYTES: Final = 13  # of `ref-crc`, with the check


class _Serial(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """8N1 without flow control."""

    baud: int


class _Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits; `data_bytes` is the longest data part of a frame, or the longest line."""

    data_bytes: int
    partial_ms: int
    silence_ms: int


class _Repeat(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Copies, and the characters that number reports."""

    copies: int
    window_ms: int
    boot: str
    cycle: str


class _Resend(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The resend window."""

    repair_ms: int


class _Line(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The text around a line."""

    prefix: str = ""
    suffix: str = ""


class FirstForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A profile's file, of form 1."""

    id: str
    framer: str
    check: str
    loss_detection: Literal["full", "weak", "none"]
    disclosure: Literal["immediate", "deferred", "auto"]
    result: Literal["required", "none"]
    serial: _Serial
    limits: _Limits
    repeat: _Repeat | None = None
    resend: _Resend | None = None
    line: _Line | None = None
    codes: dict[str, Any]

    @property
    def wire(self) -> WireForm:
        """Its framer, check and numbering in the grammar."""
        return _WIRES[self.framer](self)


def read_sections(
    table: dict[str, Any], complain: Callable[[str], None]
) -> tuple[FirstForm, Any] | None:
    """Return a file's sections and its code table, or None after a complaint.

    Args:
        table: the file.
        complain: called with each mistake.
    """
    file = read_table(FirstForm, table, "", complain)
    codes = _read_codes(table, complain)
    if file is None or codes is None:
        return None
    wrong = tuple(_faults(file))
    for complaint in wrong:
        complain(complaint)
    return None if wrong else (file, codes)


_CHECKS: Final = {"enq": "xor-hex", "line": "none", "cobs": "crc-16-ccitt-false"}
_LINE_CODES: Final[Mapping[str, type[Any]]] = {"bracket": BracketTable, "scan": ScanTable}


def _read_codes(table: dict[str, Any], complain: Callable[[str], None]) -> Any:
    framer, codes = table.get("framer"), table.get("codes")
    if not isinstance(codes, dict):
        return None  # already reported
    if not isinstance(framer, str) or framer not in _CHECKS:
        complain(f"no framer {framer!r}; there are {', '.join(sorted(_CHECKS))}")
        return None
    variant = codes.get("variant")
    kinds: dict[str, type[Any] | None] = {
        "enq": EnqTable,
        "line": _LINE_CODES.get(variant) if isinstance(variant, str) else None,
        "cobs": RefTable,
    }
    kind = kinds[framer]
    if kind is None:
        complain(f"codes.variant: use {' or '.join(sorted(_LINE_CODES))}")
        return None
    return read_table(kind, codes, "codes", complain)


# By framer: the section it needs, and why the other sections make no sense with it.
_UNASKED: Final = "nothing is written to such a shoe, so nothing can be asked for again"
_SECTIONS: Final[Mapping[str, tuple[str | None, Mapping[str, str]]]] = {
    "enq": ("repeat", {"resend": _UNASKED, "line": "its frames are no lines"}),
    "line": (
        None,
        {
            "repeat": "a line has no number, so a copy cannot be told from a second card",
            "resend": "a line has no number, so none can be asked for again",
        },
    ),
    "cobs": (
        "resend",
        {
            "repeat": "its reports are acknowledged and resent, not sent in copies",
            "line": "its frames are no lines",
        },
    ),
}


def _faults(file: FirstForm) -> Iterator[str]:
    """Yield what form 2 could not say of it."""
    checks, repeat = set(_CHECKS.values()), file.repeat
    if file.check not in checks:
        yield f"no check {file.check!r}; there are {', '.join(sorted(checks))}"
    elif file.check != _CHECKS[file.framer]:
        check = _CHECKS[file.framer]
        yield f"check: framer {file.framer!r} goes with {check!r}, not with {file.check!r}"
    least, most = (1, LINE_LIMIT) if file.framer == "line" else (0, DATA_LIMIT)
    if not least <= file.limits.data_bytes <= most:
        yield f"limits.data_bytes is {file.limits.data_bytes}; use {least} to {most}"
    if repeat and (
        len(set(repeat.boot + repeat.cycle)) != 1 + len(repeat.cycle)
        or not (repeat.cycle and (repeat.boot + repeat.cycle).isascii())
    ):
        yield "repeat.boot is one character of ASCII, repeat.cycle some others, each once"
    needed, senseless = _SECTIONS[file.framer]
    if needed and getattr(file, needed) is None:
        yield f"[{needed}] is missing, which framer {file.framer!r} needs"
    for section, why in senseless.items():
        if getattr(file, section) is not None:
            yield f"[{section}] makes no sense with framer {file.framer!r}: {why}"


def _enq(file: FirstForm) -> WireForm:
    assert file.repeat is not None  # noqa: S101 - `_faults` has looked
    boot, cycle = file.repeat.boot, file.repeat.cycle
    if boot.isdecimal() and cycle in DECIMAL:
        numbers = NumberSpec(
            base=10, width=1, first=int(cycle[0]), last=int(cycle[-1]), boot=int(boot)
        )
    else:
        digits = boot + cycle
        numbers = NumberSpec(base=len(digits), width=1, digits=digits, first=1, boot=0)
    framer = FramerSpec(
        kind="delimited",
        most=file.limits.data_bytes + 6,
        start="05",
        end="03",
        shape=("30-39", "20-7E", "80-FF*"),
    )
    return WireForm(
        framer=framer, check=CheckSpec(kind="xor8", hex=True, after_end=True), number=numbers
    )


def _line(file: FirstForm) -> WireForm:
    around = file.line or _Line()
    most = file.limits.data_bytes
    return WireForm(
        framer=FramerSpec(kind="line", most=most, prefix=around.prefix, suffix=around.suffix)
    )


def _cobs(file: FirstForm) -> WireForm:
    framer = FramerSpec(
        kind="cobs", most=file.limits.data_bytes + _HEADER_BYTES, at=10, adds=_HEADER_BYTES
    )
    number = NumberSpec(base=BINARY, width=2, at=4)
    return WireForm(framer=framer, check=CheckSpec(kind="crc16-ccitt-false"), number=number)


_WIRES: Final[Mapping[str, Callable[[FirstForm], WireForm]]] = {
    "enq": _enq,
    "line": _line,
    "cobs": _cobs,
}
