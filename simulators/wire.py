"""What a bad line makes of a report's copies: lost, flipped and conflicting ones. Pure."""

from collections.abc import Collection, Mapping

from simulators.enq_bcc import Copies, frame

__all__ = ["conflicting", "flipped", "kept"]

_SEQ, _KIND, _DATA = 1, 2, slice(3, -3)  # of a frame


def kept(copies: Copies, which: Collection[int]) -> Copies:
    """Only the copies of these numbers, from 0, arrive; with none the whole report is lost."""
    return tuple(copy for number, copy in enumerate(copies) if number in which)


def flipped(copies: Copies, bits: Mapping[int, int]) -> Copies:
    """One bit of some copies arrives turned over: every single one fails the check.

    Args:
        copies: as they were sent.
        bits: by the copy's number, which bit, counted from the frame's first (modulo its length).
    """
    return tuple(
        _turn(copy, bits[number]) if number in bits else copy for number, copy in enumerate(copies)
    )


def conflicting(copies: Copies, which: int, card: int) -> Copies:
    """One copy arrives with another card and a check that is right: two bodies under one seq.

    Args:
        copies: of a report whose last data byte is a card.
        which: the copy's number.
        card: the card byte that it arrives with.
    """
    return tuple(
        _with_card(copy, card) if number == which else copy for number, copy in enumerate(copies)
    )


def _turn(copy: bytes, bit: int) -> bytes:
    byte, place = divmod(bit % (8 * len(copy)), 8)
    return copy[:byte] + bytes([copy[byte] ^ 1 << place]) + copy[byte + 1 :]


def _with_card(copy: bytes, card: int) -> bytes:
    data = copy[_DATA][:-1] + bytes([card])
    return frame(int(chr(copy[_SEQ])), chr(copy[_KIND]), data)
