"""A wire profile: the protocol of a site's shoe, as data.

A profile names a framer, a check and a numbering (`shoe_driver.framing.grammar`), how the device
makes sure that a report arrives, the serial line, and the code table. Everything composes with
everything that makes sense; what does not is refused with the reason. Profiles are TOML; the
shipped ones are in `shoe_driver/profiles/`. Every shoe event has the hash of the file's bytes, so
the table that decoded it is known.

    section        the device                                      loss detection at most
    (none)         sends each report once                          weak with a number, else none
    [repeat]       sends each report several times                 weak
    [acknowledge]  sends it again until the host has acknowledged  full
    [poll]         answers when the host asks                      weak with a number, else none
    [resend]       is `ref-crc`: numbered, acknowledged, resent    full

A file without `form` is of form 1, the first one, in which three framers had a check each. It is
read as what it always meant, and brought into form 2 here.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias, TypeVar

from msgspec import Struct, structs

from events.errors import ConfigError
from events.free_text import TextLengths, find_forbidden
from events.toml_form import read_table, read_tree
from shoe_driver.codes.bracket import BracketCodes, BracketTable
from shoe_driver.codes.enq import EnqCodes, EnqTable
from shoe_driver.codes.fields import FieldCodes, FieldTable
from shoe_driver.codes.ref import RefCodes, RefTable
from shoe_driver.codes.scan import ScanCodes, ScanTable
from shoe_driver.framing.delimited import byte_classes
from shoe_driver.framing.grammar import (
    BINARY,
    CHECK_BYTES,
    CRCS,
    FRAME_LIMIT,
    FRAMER_KEYS,
    CheckSpec,
    FramerSpec,
    NumberSpec,
    WireForm,
    check_names,
)
from shoe_driver.profiles.first_form import read_sections

__all__ = [
    "LATE_MS",
    "AcknowledgePolicy",
    "AnyTable",
    "LimitOptions",
    "PollPolicy",
    "Profile",
    "RepeatPolicy",
    "ResendPolicy",
    "SerialOptions",
    "check_wire_form",
    "parse_profile",
    "profile_complaints",
]

LATE_MS: Final = 5_000
"""How long after they were sent bytes may still be read.

An adapter buffers bytes, TCP resends a lost packet after 0.2 s and then ever later, and a process
or its disk may stop for seconds. The bytes of one line still come in order, and their meaning must
not depend on their delay. Five seconds are longer than such a delay, and shorter than the time in
which a table deals the same place of two coups.
"""

_T = TypeVar("_T", bound=Struct)
AnyTable: TypeAlias = EnqTable | BracketTable | ScanTable | RefTable | FieldTable


class SerialOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The serial line.

    Args:
        baud: bits a second; a transport's URL may override it.
        data_bits: of each byte; of seven, the eighth that a reader may see is dropped.
        parity: none, even, odd, mark or space.
        stop_bits: of each byte.
        flow: flow control: by characters, or by the lines RTS and CTS.
        dtr: whether the line DTR is on while the port is open.
        rts: the same of RTS.
        latency_ms: how long the adapter may hold bytes back.
    """

    baud: int
    data_bits: Literal[7, 8] = 8
    parity: Literal["N", "E", "O", "M", "S"] = "N"
    stop_bits: Literal[1, 2] = 1
    flow: Literal["none", "xonxoff", "rtscts"] = "none"
    dtr: bool = True
    rts: bool = True
    latency_ms: int = 16

    @property
    def bits_a_byte(self) -> int:
        """Bits on the line for each byte: start, data, parity, stop."""
        return 1 + self.data_bits + (self.parity != "N") + self.stop_bits


class LimitOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits of time.

    Args:
        partial_ms: an unfinished frame of this age is broken, or `LATE_MS` later if it has a check
            (`Profile.patience_ms`).
        silence_ms: silence that counts as a stall: in mid-deal, or whenever the device has a beat.
    """

    partial_ms: int
    silence_ms: int


class RepeatPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the device repeats its reports.

    Args:
        copies: how often each report is sent.
        window_ms: the device sends the copies of one report within this time of the first. The
            transport may delay them further (`shoe_driver.link.duplicate_filter`).
    """

    copies: int
    window_ms: int


class AcknowledgePolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the host acknowledges a report, and how long the device repeats one that it has not.

    Args:
        ack: the bytes that acknowledge, hex.
        nak: the bytes that ask for the report again, after a frame that was rejected; may be empty.
        resends: how often the device sends a report again.
        window_ms: the time in which it does.
    """

    ack: str
    nak: str = ""
    resends: int
    window_ms: int


class PollPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the host asks.

    Args:
        request: the bytes of a question, hex.
        every_ms: the time between two.
    """

    request: str
    every_ms: int


class ResendPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long a resend may take, by the device's clock, before a missing report counts as lost."""

    repair_ms: int


class Profile(Struct, frozen=True, kw_only=True):
    """One wire profile.

    Args:
        id: its name.
        wire: framer, check and numbering.
        loss_detection: the losses it can prove: `full`, `weak` or `none`.
        disclosure: whether faces come at the draw (`immediate`), in a burst before the result
            (`deferred`), or either way (`auto`).
        result: whether a settlement needs the device's own result.
        serial: the serial line.
        limits: limits of time.
        repeat: how reports are repeated.
        acknowledge: how the host acknowledges them.
        poll: how the host asks for them.
        resend: how reports of `ref-crc` are resent.
        codes: the code table.
        digest: SHA-256 of the file, hex.
        first_names: framer and check in the words of a file of form 1.
    """

    id: str
    wire: WireForm
    loss_detection: Literal["full", "weak", "none"]
    disclosure: Literal["immediate", "deferred", "auto"]
    result: Literal["required", "none"]
    serial: SerialOptions
    limits: LimitOptions
    repeat: RepeatPolicy | None = None
    acknowledge: AcknowledgePolicy | None = None
    poll: PollPolicy | None = None
    resend: ResendPolicy | None = None
    codes: AnyTable
    digest: str
    first_names: tuple[str, str] | None = None

    @property
    def framer(self) -> str:
        """The framer's name, as the file has it."""
        return self.first_names[0] if self.first_names else self.wire.framer.kind

    @property
    def check(self) -> str:
        """The check's name, as the file has it."""
        return self.first_names[1] if self.first_names else self.wire.check.kind

    @property
    def writes(self) -> bool:
        """Whether the driver writes to the device."""
        return bool(self.resend or self.acknowledge or self.poll)

    @property
    def has_beat(self) -> bool:
        """Whether the device sends something even when nothing happens."""
        return bool(self.resend or self.poll)

    @property
    def patience_ms(self) -> int:
        """How long an unfinished frame waits for its rest.

        A wrong rest fails the check, so the right one may come late. Without a check two broken
        lines could form a third, so patience is short there.
        """
        return self.limits.partial_ms + (0 if self.check == "none" else LATE_MS)


class _File(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A profile's file, of form 2."""

    form: Literal[2]
    id: str
    framer: FramerSpec
    check: CheckSpec = CheckSpec()
    number: NumberSpec | None = None
    loss_detection: Literal["full", "weak", "none"]
    disclosure: Literal["immediate", "deferred", "auto"]
    result: Literal["required", "none"]
    serial: SerialOptions
    limits: LimitOptions
    repeat: RepeatPolicy | None = None
    acknowledge: AcknowledgePolicy | None = None
    poll: PollPolicy | None = None
    resend: ResendPolicy | None = None
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
    """Return everything for which a profile's file is refused; empty if nothing is wrong."""
    complaints: list[str] = []
    _read(text, complaints.append)
    return tuple(complaints)


def _read(text: bytes, complain: Callable[[str], None]) -> Profile | None:
    try:
        table = read_tree(text)
    except ValueError as error:
        complain(str(error))
        return None
    digest = hashlib.sha256(text).hexdigest()
    if "form" not in table:
        return _read_first_form(table, digest, complain)
    file = read_table(_File, table, "", complain)
    codes = _read_codes(table, complain)
    if file is None or codes is None:
        for complaint in _of_the_rest(table, codes):
            complain(complaint)
        return None
    sections = structs.asdict(file)
    wire = WireForm(framer=file.framer, check=file.check, number=file.number)
    for key in ("form", "framer", "check", "number", "codes"):
        del sections[key]
    profile = Profile(**sections, wire=wire, codes=codes, digest=digest)
    given = table["framer"] if isinstance(table["framer"], dict) else {}
    for complaint in (*_wrong_keys(file.framer, set(given)), *_profile_faults(profile)):
        complain(complaint)
    return profile


def _of_the_rest(table: dict[str, Any], codes: AnyTable | None) -> Iterator[str]:
    """Yield what is wrong with the sections that could be read, where others could not."""

    def section(kind: type[_T], key: str, otherwise: _T) -> _T:
        unheard: list[str] = []
        found = read_table(kind, table.get(key, {}), key, unheard.append)
        return otherwise if found is None else found

    framer = section(FramerSpec, "framer", FramerSpec(kind="line", most=1))
    check = section(CheckSpec, "check", CheckSpec())
    number = section(NumberSpec, "number", NumberSpec(base=10, width=1))
    yield from check_wire_form(WireForm(framer=framer, check=check, number=number))
    given = table.get("framer")
    if isinstance(given, dict) and "kind" in given and framer.most > 1:
        yield from _wrong_keys(framer, set(given))
    if codes is not None:
        yield from _wrong_codes(codes)


def _wrong_codes(codes: AnyTable) -> Iterator[str]:
    for key, what in find_forbidden(codes, "codes", _WORDS):
        yield f"{key}: {what}"
    try:
        _TRIED[type(codes)](codes)
    except ConfigError as error:
        yield str(error)


def _read_first_form(
    table: dict[str, Any], digest: str, complain: Callable[[str], None]
) -> Profile | None:
    found = read_sections(table, complain)
    if found is None:
        return None
    file, codes = found
    repeat, resend = file.repeat, file.resend
    profile = Profile(
        id=file.id,
        wire=file.wire,
        loss_detection=file.loss_detection,
        disclosure=file.disclosure,
        result=file.result,
        serial=SerialOptions(baud=file.serial.baud),
        limits=LimitOptions(partial_ms=file.limits.partial_ms, silence_ms=file.limits.silence_ms),
        repeat=None
        if repeat is None
        else RepeatPolicy(copies=repeat.copies, window_ms=repeat.window_ms),
        resend=None if resend is None else ResendPolicy(repair_ms=resend.repair_ms),
        codes=codes,
        digest=digest,
        first_names=(file.framer, file.check),
    )
    for complaint in _profile_faults(profile):
        for now, then in _FIRST_KEYS.items():
            complaint = complaint.replace(now, then)  # noqa: PLW2901 - in the file's own words
        complain(complaint)
    return profile


_FIRST_KEYS: Final[Mapping[str, str]] = {
    "framer.prefix, framer.suffix": "line.prefix, line.suffix",
    "framer.most": "limits.data_bytes",
}
_VARIANTS: Final[Mapping[str, type[AnyTable]]] = {
    "bracket": BracketTable,
    "fields": FieldTable,
    "kinds": EnqTable,
    "ref": RefTable,
    "scan": ScanTable,
}


def _read_codes(table: dict[str, Any], complain: Callable[[str], None]) -> AnyTable | None:
    """Convert the code table by its variant."""
    codes = table.get("codes")
    if not isinstance(codes, dict):
        return None  # already reported
    variant = codes.get("variant")
    kind = _VARIANTS.get(variant) if isinstance(variant, str) else None
    if kind is None:
        complain(f"codes.variant: use {', '.join(_VARIANTS)}")
        return None
    if kind in (EnqTable, RefTable):
        codes = {key: value for key, value in codes.items() if key != "variant"}
    return read_table(kind, codes, "codes", complain)


def _wrong_keys(framer: FramerSpec, given: set[str]) -> Iterator[str]:
    needed, optional = FRAMER_KEYS[framer.kind]
    for key in sorted(needed - given):
        yield f"framer.{key} is missing, which framer {framer.kind!r} needs"
    for key in sorted(given - needed - optional - {"kind", "most"}):
        yield f"framer.{key} makes no sense with framer {framer.kind!r}"


def _profile_faults(profile: Profile) -> Iterator[str]:
    """Yield everything for which a profile is refused."""
    if not profile.id.isprintable() or not profile.id or " " in profile.id:
        yield "id: use a short name without spaces, such as site-shoe"
    for key, what in find_forbidden(profile.id, "id", _NAME):
        yield f"{key}: {what}"
    wrong_form = tuple(check_wire_form(profile.wire))
    yield from wrong_form
    yield from _wrong_numbers(profile)
    yield from _wrong_links(profile)
    yield from _wrong_promises(profile)
    yield from _wrong_codes(profile.codes)


# Of a device's words, which alarms and screens show.
_ID_MOST: Final = 64
_NAME: Final = TextLengths(_ID_MOST)
_WORDS: Final = TextLengths(500)

# Building the codes finds anything else that is wrong with a code table.
_TRIED: Final[Mapping[type, Callable[[Any], object]]] = {
    EnqTable: EnqCodes,
    BracketTable: BracketCodes,
    ScanTable: ScanCodes,
    RefTable: RefCodes,
    FieldTable: FieldCodes,
}


def check_wire_form(wire: WireForm) -> Iterator[str]:
    """Yield what is wrong with framer, check and numbering."""
    yield from _wrong_framer(wire)
    yield from _wrong_check(wire.check)
    if wire.number is not None:
        yield from _wrong_numbering(wire.number)


def _wrong_framer(wire: WireForm) -> Iterator[str]:
    framer = wire.framer
    if not 1 <= framer.most <= FRAME_LIMIT:
        yield f"framer.most is {framer.most}; use 1 to {FRAME_LIMIT}"
    for key, text in (("start", framer.start), ("end", framer.end)):
        try:
            size = len(bytes.fromhex(text))
        except ValueError:
            yield f"framer.{key}: {text!r} is no hex, such as 02"
            continue
        if not size and framer.kind == "delimited":
            yield f"framer.{key} is empty; name at least one byte"
    try:
        byte_classes(framer.shape)
    except ValueError as error:
        yield f"framer.shape: {error}"
    around = framer.prefix + framer.suffix
    if not around.isascii() or set(around) & set("\r\n"):
        yield "framer.prefix, framer.suffix: use ASCII without line ends"
    if len(around) >= framer.most:
        yield "framer.most: prefix and suffix leave no room in a line"
    if framer.width not in (1, 2, 3, 4) or framer.at < 0 or framer.adds < 0:
        yield "framer: use at 0 or more, width 1 to 4, adds 0 or more"
    if framer.kind == "fixed" and not 1 <= framer.size <= framer.most:
        yield f"framer.size is {framer.size}; use 1 to framer.most, {framer.most}"


def _wrong_check(check: CheckSpec) -> Iterator[str]:
    if check.kind not in CHECK_BYTES:
        yield f"no check {check.kind!r}; there are {', '.join(check_names())}"
    elif check.variant and check.variant not in CRCS.get(check.kind, {}):
        known = ", ".join(CRCS.get(check.kind, {})) or "none"
        yield f"check.variant: {check.kind} has no {check.variant!r}; there are {known}"
    if min(check.skip, check.drop) < 0:
        yield "check.skip, check.drop: use 0 or more"


def _wrong_numbering(number: NumberSpec) -> Iterator[str]:
    if number.base != BINARY and not 2 <= number.base <= _BASES:  # noqa: PLR2004 - two digits at least
        yield f"number.base is {number.base}; use 2 to {_BASES} for text, {BINARY} for binary"
        return
    most = _BINARY_WIDTH if number.base == BINARY else _TEXT_WIDTH
    if not 1 <= number.width <= most:
        yield f"number.width is {number.width}; use 1 to {most}"
        return
    if number.digits and len(set(number.digits)) != number.base:
        yield f"number.digits: use {number.base} characters, each once"
    if len(number.separator) != 1:
        yield "number.separator: use one character"
    fits = number.base**number.width - 1
    if not 0 <= number.first <= number.greatest <= fits or number.at < 0:
        yield f"number: use 0 <= first <= last <= {fits}, at 0 or more"
    boot = number.boot
    if boot is not None and (number.first <= boot <= number.greatest or not 0 <= boot <= fits):
        yield "number.boot: use a number outside first to last, which nothing else has"


_BASES: Final = 36
_BINARY_WIDTH: Final = 4
_TEXT_WIDTH: Final = 9


def _wrong_numbers(profile: Profile) -> Iterator[str]:
    limits, repeat, resend = profile.limits, profile.repeat, profile.resend
    acknowledge, poll = profile.acknowledge, profile.poll
    for key, value in (
        ("serial.baud", profile.serial.baud),
        ("limits.partial_ms", limits.partial_ms),
        ("limits.silence_ms", limits.silence_ms),
        ("repeat.copies", repeat.copies if repeat else 1),
        ("repeat.window_ms", repeat.window_ms if repeat else 1),
        ("acknowledge.resends", acknowledge.resends if acknowledge else 1),
        ("acknowledge.window_ms", acknowledge.window_ms if acknowledge else 1),
        ("poll.every_ms", poll.every_ms if poll else 1),
        ("resend.repair_ms", resend.repair_ms if resend else 1),
    ):
        if value < 1:
            yield f"{key} is {value}; use 1 or more"
    for key, text in (
        ("acknowledge.ack", acknowledge.ack if acknowledge else "06"),
        ("acknowledge.nak", acknowledge.nak if acknowledge else ""),
        ("poll.request", poll.request if poll else "05"),
    ):
        try:
            empty = not bytes.fromhex(text) and key != "acknowledge.nak"
        except ValueError:
            empty = True
        if empty:
            yield f"{key}: {text!r} is no hex, such as 06"


def _wrong_links(profile: Profile) -> Iterator[str]:
    """What keeps a report from being lost must be able to tell a copy from a second card."""
    numbered = profile.wire.number is not None
    told = [
        name for name in ("repeat", "acknowledge", "resend") if getattr(profile, name) is not None
    ]
    if len(told) > 1:
        yield f"[{told[0]}] makes no sense with [{told[1]}]: a device does one of them"
    for name in told:
        if not numbered:
            why = "a report has no number, so a copy cannot be told from a second card"
            yield f"[{name}] makes no sense without [number]: {why}"
    if isinstance(profile.codes, RefTable) != (profile.resend is not None):
        yield "[resend] and the codes `ref` go together: both are the protocol `ref-crc`"
    if isinstance(profile.codes, ScanTable | BracketTable) and profile.framer != "line":
        yield "codes.variant: bracket and scan are lines; use framer line, or the codes fields"


def _wrong_promises(profile: Profile) -> Iterator[str]:
    numbered = profile.wire.number is not None
    at_most = "none"
    if numbered:
        at_most = "full" if profile.resend or profile.acknowledge else "weak"
    order = ("none", "weak", "full")
    if order.index(profile.loss_detection) > order.index(at_most):
        why = {
            "none": "reports have no number",
            "weak": "numbers without an acknowledgement are 'weak' at most",
        }[at_most]
        yield f"loss_detection: {why}; use {at_most!r}"
    if isinstance(profile.codes, ScanTable | BracketTable):
        if profile.result != "none":
            yield "result: no line tells a result, so no coup would settle; use 'none'"
        if profile.disclosure != "immediate":
            yield "disclosure: a line brings its face at once; use 'immediate'"
