"""Codes of cards of which every frame was damaged, from the damaged bytes. Pure.

Where one card of the deal is missing between two that are known, its bytes lie between their
frames. Every change of one byte that makes them a valid frame again names a code. The code is taken
only if all changes that fit name the same one: the number counts on, the bits that all known codes
share are the same, and no other face has the code.
"""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Final

from msgspec.structs import replace

from events.cards import Card
from shoe_driver.framing.frames import Frame
from shoe_driver.framing.grammar import NumberSpec, WireForm
from shoe_driver.framing.registry import make_framer
from shoe_driver.learning.card_codes import CardCodes, looks_like
from shoe_driver.learning.numbers import missing_before

__all__ = ["with_damaged_frames"]

_LONGEST: Final = 48  # bytes between two frames that are looked into
_FEW: Final = 12  # unknown faces; of more, something else is wrong, and each takes up to a second
_AFTER: Final = 3  # bytes behind a frame that end it
_BYTES: Final = 256


def with_damaged_frames(
    data: bytes, wire: WireForm, codes: CardCodes, deal: Sequence[Card]
) -> CardCodes:
    """Return the codes with those that damaged frames decide.

    Args:
        data: the capture, of a device that sends each report once.
        wire: its form, with a check.
        codes: found in whole frames.
        deal: the cards, in the order in which they were dealt.
    """
    if not 0 < len(codes.unknown) <= _FEW:
        return codes
    plain = replace(wire, number=None)
    framer = make_framer(plain)
    pieces = (*framer.feed(data), *framer.flush())
    frames = [piece for piece in pieces if isinstance(piece, Frame)]
    may_be: dict[Card, set[bytes]] = {}
    for face, before, after in _gaps(frames, codes, deal):
        found = set(_mended(data, plain, wire.number, codes, before, after))
        may_be[face] = found & may_be.get(face, found)
    decided = {next(iter(found)): face for face, found in may_be.items() if len(found) == 1}
    if len(decided) < sum(len(found) == 1 for found in may_be.values()):
        return codes  # two faces claim one code
    return replace(
        codes,
        faces={**codes.faces, **decided},
        dealt=codes.dealt | decided.keys(),
        unknown=codes.unknown - set(decided.values()),
        guessed=codes.guessed | set(decided.values()),
    )


def _code(codes: CardCodes, frame: Frame) -> bytes | None:
    """Return the code of a card's frame; None of another report."""
    body = frame.body
    at = codes.kind_at
    if at is not None and body[at : at + 1] != codes.kind:
        return None
    if codes.field is None:
        return body[codes.at : codes.at + codes.width]
    fields = body.split(codes.separator.encode())
    return fields[codes.field] if codes.field < len(fields) else None


def _gaps(
    frames: Sequence[Frame], codes: CardCodes, deal: Sequence[Card]
) -> Iterator[tuple[Card, Frame, Frame]]:
    """Yield unknown faces of which one card is missing between two frames that are known."""
    cards = [(frame, code) for frame in frames if (code := _code(codes, frame)) is not None]
    told = [codes.faces.get(code) for _, code in cards]
    same = SequenceMatcher(None, told, deal, autojunk=False).get_matching_blocks()
    for (at, place, size), (follows, card, more) in pairwise(same):
        missing = at + size == follows and place + size + 1 == card
        if missing and min(size, more) > 1 and deal[card - 1] in codes.unknown:
            yield deal[card - 1], cards[follows - 1][0], cards[follows][0]


def _mended(
    data: bytes, wire: WireForm, number: NumberSpec | None, codes: CardCodes,
    before: Frame, after: Frame,
) -> Iterator[bytes]:  # fmt: skip
    """Yield the new code of each change of one byte between two frames that makes a frame."""
    first, last = before.offset, after.offset + len(after.raw) + _AFTER
    begin = before.offset + len(before.raw)
    if after.offset - begin > _LONGEST:
        return
    for at in range(begin, after.offset + 1):
        head = data[first:at]
        tails = [data[at + 1 : last]]  # a byte too many
        for byte in range(_BYTES):
            tails.append(bytes([byte]) + data[at + 1 : last])
            tails.append(bytes([byte]) + data[at:last])  # a byte that was lost
        for tail in tails:
            framer = make_framer(wire)
            pieces = (*framer.feed(head + tail), *framer.flush())
            frames = [piece for piece in pieces if isinstance(piece, Frame)]
            found = [code for frame in frames if (code := _code(codes, frame)) is not None]
            if len(found) != 3:  # noqa: PLR2004 - the card before, the one that is looked for, and the next
                continue
            counted = missing_before([frame.body for frame in frames], number) if number else []
            if not any(counted[1:]) and looks_like(found[1], codes.faces):
                yield found[1]
