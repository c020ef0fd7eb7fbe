"""A candidate as a wire profile: a tree for machines, and a commented file for a person. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from shoe_driver.codes.fields import FieldSpec
from shoe_driver.framing.grammar import BINARY, NumberSpec
from shoe_driver.learning.card_codes import CardCodes
from shoe_driver.learning.learn import Candidate, SerialGuess
from shoe_driver.learning.timing import Timing

__all__ = ["counted_bytes", "profile_file", "profile_tree"]

_USUAL_BAUD: Final = 9600
_PARTIAL_MS: Final = 500
_SILENCE_MS: Final = 60_000
_COPIES_MS: Final = 250


def counted_bytes(number: NumberSpec | None) -> range:
    """Return the positions of a number; none where it is counted in fields."""
    if number is None or number.field is not None:
        return range(0)
    return range(number.at, number.at + number.width)


def profile_tree(
    candidate: Candidate,
    serial: SerialGuess,
    codes: CardCodes | None,
    *,
    baud: int | None = None,
    timing: Timing | None = None,
) -> dict[str, Any]:
    """Return the profile of a candidate, as its file's tables.

    Args:
        candidate: framer, check and numbering.
        serial: the line.
        codes: the cards, if they were dealt by a list.
        baud: of the line, if it is known.
        timing: of a journal.
    """
    wire, number = candidate.wire, candidate.wire.number
    tree: dict[str, Any] = {
        "form": 2,
        "id": "learned",
        "loss_detection": "none" if number is None else "weak",
        "disclosure": "immediate",
        "result": "none",
        "framer": _changed(wire.framer, ("kind", "most")),
        "check": _changed(wire.check, ("kind",)),
    }
    if number is not None:
        tree["number"] = _changed(number, ("base", "width"))
        if candidate.copies > 1:
            window = timing and timing.window_ms
            tree["repeat"] = {"copies": candidate.copies, "window_ms": window or _COPIES_MS}
    tree["serial"] = {"baud": baud or _USUAL_BAUD}
    if serial.parity != "N":
        tree["serial"] |= {"data_bits": serial.data_bits, "parity": serial.parity}
    partial_ms = timing.partial_ms if timing else _PARTIAL_MS
    tree["limits"] = {"partial_ms": partial_ms, "silence_ms": _SILENCE_MS}
    tree["codes"] = _codes(candidate, codes)
    return tree


def _changed(value: msgspec.Struct, always: Sequence[str]) -> dict[str, Any]:
    """Return the fields that are not what they are by themselves."""
    kept = {}
    for field in msgspec.structs.fields(type(value)):
        found = getattr(value, field.name)
        if field.name in always or (not field.required and found != field.default):
            kept[field.name] = list(found) if isinstance(found, tuple) else found
    return kept


def _codes(candidate: Candidate, codes: CardCodes | None) -> dict[str, Any]:
    text = all(
        all(0x20 <= byte < 0x7F for byte in body)  # noqa: PLR2004 - printable ASCII
        for body in candidate.bodies[:50]
    )

    def written(data: bytes) -> str:
        return data.decode("ascii", "replace") if text else data.hex().upper()

    if codes is None:
        # Every frame is a card that could not be read, until somebody has dealt by a list.
        fields = {"card": {"at": _first_free(candidate.wire.number)}}
        return {
            "variant": "fields",
            "text": text,
            "fields": fields,
            "kinds": {"": {"report": "card_drawn"}},
            "faces": {},
        }
    if codes.field is None:
        fields = {"card": _changed(FieldSpec(at=codes.at, width=codes.width), ("at",))}
    else:
        fields = {"card": {"field": codes.field}}
    kind = ""
    if codes.kind_at is not None:
        fields["kind"] = {"at": codes.kind_at}
        kind = written(codes.kind)
    faces = sorted(codes.faces.items(), key=lambda item: item[0])
    return {
        "variant": "fields",
        "text": text,
        "fields": fields,
        "kinds": {kind: {"report": "card_drawn"}},
        "faces": {written(code): face.value for code, face in faces},
    }


def _first_free(number: NumberSpec | None) -> int:
    counted = counted_bytes(number)
    return next(at for at in range(len(counted) + 1) if at not in counted)


def profile_file(
    tree: Mapping[str, Any],
    candidate: Candidate,
    serial: SerialGuess,
    codes: CardCodes | None,
    timing: Timing | None = None,
) -> str:
    """Return a commented file: what is sure, what is guessed, and what capture would decide it."""
    sure = "sure" if candidate.sure else "a guess; see below"
    lines = [
        "# Wire profile proposed by `baccarat shoe learn` from a capture. Read it, then check it:",
        "#     baccarat shoe profiles --check FILE",
        "#     baccarat shoe conform CAPTURE --profile FILE",
        f"# Framer, check and numbering are {sure}.",
        f"# They explain {candidate.explained:.1%} of the capture's bytes.",
        *(f"# Guessed: {note}" for note in candidate.notes),
        *_remarks(candidate, serial, codes),
        *_of_times(timing),
        "",
        *_toml(tree, ""),
    ]
    return "\n".join(lines) + "\n"


def _remarks(candidate: Candidate, serial: SerialGuess, codes: CardCodes | None) -> Iterator[str]:
    number = candidate.wire.number
    yield "# Guessed: serial.baud; bytes leave no trace of it. Set it to what the capture ran at."
    if not serial.sure:
        yield "# Guessed: 8N1; no byte of the capture has its eighth bit set."
    if number is not None and number.base == BINARY and number.last is None:
        yield "# The number goes round after the greatest that fits, as far as the capture shows."
    yield "# Guessed: limits.silence_ms; a capture says nothing of it."
    if codes is None:
        yield "# Not known: card codes. Capture a deal of known cards, and name them by --deal."
    elif (follows := len(codes.faces) - len(codes.dealt)) > 0:
        yield f"# Guessed: {follows} faces that were not dealt; they follow from the others."
    if codes is not None and codes.guessed:
        faces = ", ".join(sorted(face.value for face in codes.guessed))
        yield f"# Guessed: {faces}, each from one frame; deal them again to be sure."


def _of_times(timing: Timing | None) -> Iterator[str]:
    if timing is None:
        yield "# Guessed: limits.partial_ms, repeat.window_ms; bare bytes have no times."
        return
    yield f"# From the times: a frame takes {timing.frame_ms} ms at most, so partial_ms."
    if timing.copies_ms is not None:
        yield (
            f"# From the times: a report's copies come within {timing.copies_ms} ms, "
            f"one every {timing.every_ms} ms, so window_ms."
        )
    if timing.waits:
        yield "# Guessed: such slow and even copies may wait for an answer; see [acknowledge]."


def _toml(tree: Mapping[str, Any], path: str) -> Iterator[str]:
    for key, value in tree.items():
        if not isinstance(value, dict):
            yield f"{_key(key)} = {_value(value)}"
    for key, value in tree.items():
        if isinstance(value, dict):
            within = f"{path}.{_key(key)}" if path else _key(key)
            yield ""
            yield f"[{within}]"
            yield from _toml(value, within)


def _key(key: str) -> str:
    plain = key and all(each.isascii() and (each.isalnum() or each in "-_") for each in key)
    return key if plain else _value(key)


def _value(value: object) -> str:
    # JSON's text, numbers, booleans and lists are TOML's.
    return msgspec.json.encode(value).decode()
