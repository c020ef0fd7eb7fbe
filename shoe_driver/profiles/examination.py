"""What is wrong with a profile that can be read, and what the table cannot promise with it. Pure.

A profile may be of the right form and still lose cards: a face without a code, a code that no frame
can hold, copies that the line is too slow for. All of it is found at once.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from events.cards import RANKS, SUITS, Card
from events.toml_form import FileFault
from shoe_driver.codes.enq import EnqTable
from shoe_driver.codes.fields import WITHHELD, FieldSpec, FieldTable
from shoe_driver.codes.reports import face_of
from shoe_driver.codes.scan import ScanTable, checked_pattern
from shoe_driver.framing.checks import number_digits
from shoe_driver.framing.delimited import byte_classes
from shoe_driver.framing.grammar import BINARY
from shoe_driver.profiles.profile import Profile

__all__ = ["cannot_promise", "examine"]

_DAMAGED: Final = 0.001  # of the frames, on a line that is called good
_BITS_3, _BITS_6 = 7, 63  # the greatest values of three and of six bits
_DATA_BYTE: Final = 0x80


def examine(profile: Profile) -> Iterator[FileFault]:
    """Yield every fault of a profile that can be read."""
    codes = profile.codes
    if isinstance(codes, EnqTable):
        yield from _kinds(profile, codes)
    elif isinstance(codes, FieldTable):
        yield from _fields(codes)
    elif isinstance(codes, ScanTable):
        yield from _scans(codes)
    yield from _times(profile)
    yield from _room(profile)


def cannot_promise(profile: Profile) -> Iterator[str]:
    """Yield what the table cannot promise with this profile, with the chances of it."""
    wire, number = profile.wire, profile.wire.number
    bits = wire.check_bytes * (4 if wire.check.hex else 8)
    if not bits:
        yield "a damaged frame that is still legible is taken for what it says: there is no check"
    else:
        yield f"one damaged frame in {2**bits:,} passes its check by chance"
    copies = profile.repeat.copies if profile.repeat else 1
    if number is None:
        yield "a report that never came leaves no trace: a card may be missing from a coup"
    elif not (profile.acknowledge or profile.resend):
        around = number.greatest - number.first + 1
        exponent = round(-math.log10(_DAMAGED) * copies * around)
        yield (
            f"{around} reports lost in a row leave no trace; where one frame in a thousand is "
            f"lost, that is one chance in 10^{exponent} a report"
        )
        yield "a report that is lost is known to be lost, and a person enters its card"
    if profile.result == "none":
        yield "no result of the shoe confirms the cards: a coup settles on its last card due"
    if not _tells_places(profile):
        yield "no place comes with a card: a card that is missed moves all that follow it"
    if profile.disclosure == "immediate" and profile.result == "none":
        yield "a squeeze is not shown by the shoe: each face is known as its card is drawn"


def _tells_places(profile: Profile) -> bool:
    codes = profile.codes
    if isinstance(codes, FieldTable):
        return {"hand", "number"} <= set(codes.fields)
    return not isinstance(codes, ScanTable) and profile.framer != "line"


def _missing(where: str, known: set[Card]) -> Iterator[FileFault]:
    missing = [card.value for card in Card if card not in known]
    if missing:
        yield FileFault(
            where=where,
            code="missing_faces",
            text=f"{len(missing)} of 52 faces have no code: {', '.join(missing)}",
            remedy="give each a code; a card without one cannot be read",
        )


def _unreachable(where: str, text: str, remedy: str) -> FileFault:
    return FileFault(where=where, code="unreachable", text=text, remedy=remedy)


def _kinds(profile: Profile, codes: EnqTable) -> Iterator[FileFault]:
    named = {
        face
        for suit in codes.suits.values()
        for rank in codes.ranks.values()
        if rank in RANKS and suit in SUITS and (face := face_of(rank + suit)) is not None
    }
    yield from _missing("codes.suits, codes.ranks", named)
    values: dict[int, list[str]] = defaultdict(list)
    for suit, letter in codes.suits.items():
        for rank, digit in codes.ranks.items():
            values[(suit << 4 | rank) & 0x7F].append(digit + letter)
    for value, faces in sorted(values.items()):
        if len(faces) > 1:
            yield _ambiguous("codes.suits, codes.ranks", f"{value | _DATA_BYTE:02X}", faces)
    if 0 in values:
        yield _ambiguous("codes.suits, codes.ranks", "80", [values[0][0], "a face withheld"])
    yield from _unreachable_kinds(profile, codes)


def _unreachable_kinds(profile: Profile, codes: EnqTable) -> Iterator[FileFault]:
    for where, table, most in (
        ("codes.targets", codes.targets, _BITS_3),
        ("codes.results", codes.results, _BITS_3),
        ("codes.errors", codes.errors, _BITS_6),
    ):
        for code in table:
            if not 0 <= code <= most:
                yield _unreachable(f"{where}.{code}", "no frame can say this", f"use 0 to {most}")
    shape = byte_classes(profile.wire.framer.shape)
    position = 1 if profile.wire.number is not None else 0
    for kind in codes.kinds:
        if len(shape) > position and ord(kind[0]) not in shape[position][0]:
            text = "framer.shape does not allow this kind"
            yield _unreachable(f"codes.kinds.{kind}", text, "widen the shape")


def _ambiguous(where: str, code: str, meanings: list[str]) -> FileFault:
    return FileFault(
        where=where,
        code="ambiguous",
        text=f"code {code} means {' and '.join(meanings)}",
        remedy="give each a code of its own",
    )


def _fields(codes: FieldTable) -> Iterator[FileFault]:
    known = {face for text in codes.faces.values() if (face := face_of(text)) is not None}
    yield from _missing("codes.faces", known)
    tables: tuple[tuple[str, str, Mapping[str, object]], ...] = (
        ("kind", "kinds", codes.kinds),
        ("card", "faces", codes.faces),
        ("hand", "hands", codes.hands),
        ("result", "results", codes.results),
        ("error", "errors", codes.errors),
    )
    for name, where, table in tables:
        spec = codes.fields.get(name)  # type: ignore[call-overload] # one of the names
        for key in table:
            if spec is None and key:
                text = f"there is no field {name}"
                yield _unreachable(f"codes.{where}.{key}", text, f"name it in codes.fields.{name}")
            elif spec is not None and not _fits(key, spec, text=codes.text):
                yield _unreachable(
                    f"codes.{where}.{key}",
                    f"it is not as long as the field {name}",
                    f"write {spec.width} {'characters' if codes.text else 'bytes in hex'}",
                )
    used = Counter(text for text in codes.faces.values() if text != WITHHELD)
    for text, count in used.items():
        if count > 1:
            named = [code for code, face in codes.faces.items() if face == text]
            yield FileFault(
                where="codes.faces",
                code="ambiguous",
                text=f"{text} has {count} codes: {', '.join(named)}",
                remedy="give each face one code, as the shoe does",
            )


def _fits(key: str, spec: FieldSpec, *, text: bool) -> bool:
    if spec.field is not None:
        return bool(key)
    if text:
        return len(key) == spec.width
    try:
        return len(bytes.fromhex(key)) == spec.width and key == key.upper()
    except ValueError:
        return False


def _scans(codes: ScanTable) -> Iterator[FileFault]:
    known = {face for text in codes.faces.values() if (face := face_of(text)) is not None}
    yield from _missing("codes.faces", known)
    pattern = checked_pattern("codes.pattern", codes.pattern)
    if "face" not in pattern.groupindex:
        for code in codes.faces:
            if not pattern.fullmatch(code):
                text = "codes.pattern does not match this code"
                yield _unreachable(f"codes.faces.{code}", text, "widen the pattern")
    for line in codes.lines:
        if line in codes.faces:
            yield _ambiguous("codes.lines", line, [codes.faces[line], codes.lines[line].report])


def _times(profile: Profile) -> Iterator[FileFault]:
    """Yield the windows that the line cannot keep at its baud rate."""
    serial, framer = profile.serial, profile.wire.framer
    frame_ms = framer.most * serial.bits_a_byte * 1_000 / serial.baud
    windows = [("limits.partial_ms", 1, profile.limits.partial_ms)]
    if profile.repeat:
        windows.append(("repeat.window_ms", profile.repeat.copies, profile.repeat.window_ms))
    if profile.acknowledge:
        sendings = 1 + profile.acknowledge.resends
        windows.append(("acknowledge.window_ms", sendings, profile.acknowledge.window_ms))
    if profile.poll:
        windows.append(("poll.every_ms", 1, profile.poll.every_ms))
    for where, count, window_ms in windows:
        least = math.ceil(frame_ms * count)
        if window_ms < least:
            frames = "a frame" if count == 1 else f"{count} frames"
            yield FileFault(
                where=where,
                code="too_fast",
                text=f"{frames} of {framer.most} bytes take {least} ms at {serial.baud} baud",
                remedy=f"use {least} or more, or a faster line",
            )


def _room(profile: Profile) -> Iterator[FileFault]:
    """Yield what a frame has no room for, or what its bytes cannot hold."""
    wire, number = profile.wire, profile.wire.number
    if number is not None and number.field is None:
        needed = number.at + number.width + wire.check_bytes
        if needed > wire.framer.most:
            yield FileFault(
                where="number",
                code="no_room",
                text=f"number and check need {needed} bytes, and a frame has {wire.framer.most}",
                remedy="move the number, or raise framer.most",
            )
        shape = byte_classes(wire.framer.shape)
        if number.base != BINARY and len(shape) > number.at and not shape[number.at][1]:
            wanted = {ord(digit) for digit in number_digits(number)}
            if not wanted <= shape[number.at][0]:
                yield _unreachable(
                    "number", "framer.shape does not allow all digits", "widen the shape"
                )
    binary = wire.check_bytes and not wire.check.hex
    if profile.serial.data_bits < 8 and (binary or (number and number.base == BINARY)):  # noqa: PLR2004 - bits of a byte
        yield FileFault(
            where="serial.data_bits",
            code="too_few_bits",
            text="a binary check or number needs all eight bits of a byte",
            remedy="use data_bits = 8, or a check and a number in text",
        )
