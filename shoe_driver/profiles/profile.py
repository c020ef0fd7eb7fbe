"""A wire profile: the protocol of a site's shoe, as data.

A profile names a framer and the check that belongs to it, which are code. It adds what the framer
needs: always a code table, and how reports are repeated, resent, or delimited on a line. Profiles
are TOML; the shipped ones are in `shoe_driver/profiles/`. Every shoe event has the hash of the
file's bytes, so the table that decoded it is known.

    framer  check               sections besides serial, limits, codes   loss detection at most
    enq     xor-hex             repeat                                   weak
    line    none                line (optional)                          none
    cobs    crc-16-ccitt-false  resend                                   full
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, structs

from events.errors import ConfigError
from events.free_text import TextLengths, find_forbidden
from events.toml_form import read_table, read_tree
from shoe_driver.codes.bracket import BracketCodes, BracketTable
from shoe_driver.codes.enq import EnqCodes, EnqTable
from shoe_driver.codes.ref import RefCodes, RefTable
from shoe_driver.codes.scan import ScanCodes, ScanTable
from shoe_driver.framing.registry import CHECKS, FRAMERS

__all__ = [
    "DATA_LIMIT",
    "LATE_MS",
    "LINE_LIMIT",
    "AnyTable",
    "LimitOptions",
    "LineOptions",
    "Profile",
    "RepeatPolicy",
    "ResendPolicy",
    "SerialOptions",
    "parse_profile",
    "profile_complaints",
]

DATA_LIMIT: Final = 64  # the most data bytes that a frame may have
LINE_LIMIT: Final = 256  # ... and a line, which is text

LATE_MS: Final = 5_000
"""How long after they were sent bytes may still be read.

An adapter buffers bytes, TCP resends a lost packet after 0.2 s and then ever later, and a process
or its disk may stop for seconds. The bytes of one line still come in order, and their meaning must
not depend on their delay. Five seconds are longer than such a delay, and shorter than the time in
which a table deals the same place of two coups.
"""

AnyTable: TypeAlias = EnqTable | BracketTable | ScanTable | RefTable


class SerialOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The serial line: 8N1 without flow control at `baud`, which a transport's URL may override."""

    baud: int


class LimitOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits of size and time.

    Args:
        data_bytes: the longest data part of a frame, or the longest line; anything longer is no
            frame.
        partial_ms: an unfinished frame of this age is broken, or `LATE_MS` later if it has a check
            (`Profile.patience_ms`).
        silence_ms: silence that counts as a stall: in mid-deal, or whenever the device has a beat.
    """

    data_bytes: int
    partial_ms: int
    silence_ms: int


class RepeatPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the device repeats and numbers its reports.

    Args:
        copies: how often each report is sent.
        window_ms: the device sends the copies of one report within this time of the first. The
            transport may delay them further (`shoe_driver.link.duplicate_filter`).
        boot: the number of a power-up (a `shoe_booted`), and of nothing else.
        cycle: the numbers that follow, in order, then from the first again.
    """

    copies: int
    window_ms: int
    boot: str
    cycle: str


class ResendPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long a resend may take, by the device's clock, before a missing report counts as lost."""

    repair_ms: int


class LineOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The text that a reader is configured to put before and after each line."""

    prefix: str = ""
    suffix: str = ""


class _Sections(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All sections of a profile except its codes."""

    id: str
    framer: str
    check: str
    loss_detection: Literal["full", "weak", "none"]
    disclosure: Literal["immediate", "deferred", "auto"]
    result: Literal["required", "none"]
    serial: SerialOptions
    limits: LimitOptions
    repeat: RepeatPolicy | None = None
    resend: ResendPolicy | None = None
    line: LineOptions | None = None


class Profile(_Sections, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One wire profile.

    Args:
        id: its name.
        framer: the framer that cuts the stream.
        check: the check that a frame must pass.
        loss_detection: the losses it can prove: `full`, `weak` or `none`.
        disclosure: whether faces come at the draw (`immediate`), in a burst before the result
            (`deferred`), or either way (`auto`).
        result: whether a settlement needs the device's own result.
        serial: the serial line.
        limits: limits of size and time.
        repeat: how reports are repeated.
        resend: how reports are resent.
        line: the text around a line.
        codes: the code table.
        digest: SHA-256 of the file, hex.
    """

    codes: AnyTable
    digest: str

    @property
    def has_beat(self) -> bool:
        """Whether the device sends a beat even when nothing happens."""
        return self.resend is not None

    @property
    def patience_ms(self) -> int:
        """How long an unfinished frame waits for its rest.

        A wrong rest fails the check, so the right one may come late. Without a check two broken
        lines could form a third, so patience is short there.
        """
        return self.limits.partial_ms + (0 if self.check == "none" else LATE_MS)


class _File(_Sections, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A profile's file."""

    codes: dict[str, Any]


def parse_profile(text: bytes, *, source: str) -> Profile:
    """Parse a profile from its file's bytes.

    Args:
        text: the bytes of the TOML file.
        source: its name, for messages.

    Raises:
        ConfigError: not TOML, or not a profile; names the file, and each key with its reason.
    """
    complaints: list[str] = []
    profile = _read(text, complaints.append)
    if profile is None or complaints:
        raise ConfigError(f"profile {source}: {'; '.join(complaints)}")
    return profile


def profile_complaints(text: bytes) -> tuple[str, ...]:
    """Return everything that is wrong with a profile's file; empty if nothing is."""
    complaints: list[str] = []
    _read(text, complaints.append)
    return tuple(complaints)


def _read(text: bytes, complain: Callable[[str], None]) -> Profile | None:
    try:
        table = read_tree(text)
    except ValueError as error:
        complain(str(error))
        return None
    file = read_table(_File, table, "", complain)
    codes = _read_codes(table, complain)
    if file is None or codes is None:
        return None
    sections = structs.asdict(file) | {"codes": codes}
    profile = Profile(**sections, digest=hashlib.sha256(text).hexdigest())
    for complaint in _complaints(profile):
        complain(complaint)
    return profile


_VARIANTS: Final[Mapping[str, type[AnyTable]]] = {"bracket": BracketTable, "scan": ScanTable}


def _read_codes(table: dict[str, Any], complain: Callable[[str], None]) -> AnyTable | None:
    """Convert the code table; the framer and the variant determine its type."""
    framer, codes = table.get("framer"), table.get("codes")
    if not isinstance(codes, dict):
        return None  # already reported
    variant = codes.get("variant")
    kinds: dict[str, type[AnyTable] | None] = {
        "enq": EnqTable,
        "line": _VARIANTS.get(variant) if isinstance(variant, str) else None,
        "cobs": RefTable,
    }
    if not isinstance(framer, str) or framer not in FRAMERS:
        complain(f"no framer {framer!r}; there are {', '.join(sorted(FRAMERS))}")
        return None
    kind = kinds[framer]
    if kind is None:
        complain(f"codes.variant: use {' or '.join(sorted(map(str, _VARIANTS)))}")
        return None
    return read_table(kind, codes, "codes", complain)


def _complaints(profile: Profile) -> Iterator[str]:
    yield from _wrong_names(profile)
    yield from _wrong_numbers(profile)
    yield from _wrong_sections(profile)
    for key, what in find_forbidden(profile.codes, "codes", _WORDS):
        yield f"{key}: {what}"
    try:
        _TRIED[type(profile.codes)](profile.codes)
    except ConfigError as error:
        yield str(error)


# Of a device's words, which alarms and screens show.
_WORDS: Final = TextLengths(500)

# Building the codes finds anything else that is wrong with a code table.
_TRIED: Final[Mapping[type, Callable[[Any], object]]] = {
    EnqTable: EnqCodes,
    BracketTable: BracketCodes,
    ScanTable: ScanCodes,
    RefTable: RefCodes,
}


def _wrong_names(profile: Profile) -> Iterator[str]:
    if not profile.id.isprintable() or not profile.id or " " in profile.id:
        yield "id: use a short name without spaces, such as site-shoe"
    check = FRAMERS[profile.framer][0]
    if profile.check not in CHECKS:
        yield f"no check {profile.check!r}; there are {', '.join(sorted(CHECKS))}"
    elif profile.check != check:
        yield f"check: framer {profile.framer!r} goes with {check!r}, not with {profile.check!r}"


def _wrong_numbers(profile: Profile) -> Iterator[str]:
    limits, repeat, resend = profile.limits, profile.repeat, profile.resend
    for key, value in (
        ("serial.baud", profile.serial.baud),
        ("limits.partial_ms", limits.partial_ms),
        ("limits.silence_ms", limits.silence_ms),
        ("repeat.copies", repeat.copies if repeat else 1),
        ("repeat.window_ms", repeat.window_ms if repeat else 1),
        ("resend.repair_ms", resend.repair_ms if resend else 1),
    ):
        if value < 1:
            yield f"{key} is {value}; use 1 or more"
    least, most = (1, LINE_LIMIT) if profile.framer == "line" else (0, DATA_LIMIT)
    if not least <= limits.data_bytes <= most:
        yield f"limits.data_bytes is {limits.data_bytes}; use {least} to {most}"
    if repeat and (
        len(set(repeat.boot + repeat.cycle)) != 1 + len(repeat.cycle) or not repeat.cycle
    ):
        yield "repeat.boot is one character, repeat.cycle some others, each once"


# By framer: the section it needs, and why the other sections make no sense with it.
_SECTIONS: Final[Mapping[str, tuple[str | None, Mapping[str, str]]]] = {
    "enq": (
        "repeat",
        {
            "resend": "nothing is written to such a shoe, so nothing can be asked for again",
            "line": "its frames are no lines",
        },
    ),
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


def _wrong_sections(profile: Profile) -> Iterator[str]:
    framer = profile.framer
    needed, senseless = _SECTIONS[framer]
    if needed and getattr(profile, needed) is None:
        yield f"[{needed}] is missing, which framer {framer!r} needs"
    for section, why in senseless.items():
        if getattr(profile, section) is not None:
            yield f"[{section}] makes no sense with framer {framer!r}: {why}"
    if framer == "enq" and profile.loss_detection == "full":
        yield "loss_detection: ten numbers and no resend are 'weak' at most"
    if framer == "line":
        yield from _wrong_for_lines(profile)


def _wrong_for_lines(profile: Profile) -> Iterator[str]:
    if profile.loss_detection != "none":
        yield "loss_detection: a line has neither check nor number, so it is 'none'"
    if profile.result != "none":
        yield "result: no line tells a result, so no coup would settle; use 'none'"
    if profile.disclosure != "immediate":
        yield "disclosure: a line brings its face at once; use 'immediate'"
    around = profile.line or LineOptions()
    text = around.prefix + around.suffix
    if not text.isascii() or set(text) & set("\r\n"):
        yield "line.prefix, line.suffix: use ASCII without line ends"
    if len(text) >= profile.limits.data_bytes:
        yield "limits.data_bytes: prefix and suffix leave no room in a line"
