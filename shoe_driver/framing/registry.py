"""The registry of framers and checks by name, and which go together."""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from shoe_driver.framing.cobs import CobsFramer
from shoe_driver.framing.enq import EnqFramer
from shoe_driver.framing.frames import Check, Framer, crc_holds, unchecked, xor_hex
from shoe_driver.framing.line import LineFramer

__all__ = ["CHECKS", "FRAMERS", "FramerOptions", "make_framer"]


class FramerOptions(Struct, frozen=True, kw_only=True):
    """The settings of a framer.

    Args:
        data_limit: most data bytes in a frame, or most bytes in a line.
        prefix: the text that begins a line.
        suffix: the text that ends a line, before the line end.
    """

    data_limit: int
    prefix: bytes = b""
    suffix: bytes = b""


CHECKS: Final[Mapping[str, Check]] = {
    "xor-hex": xor_hex,
    "none": unchecked,
    "crc-16-ccitt-false": crc_holds,
}
# By framer: the check that belongs to it, and its constructor.
FRAMERS: Final[Mapping[str, tuple[str, Callable[[Check, FramerOptions], Framer]]]] = {
    "enq": ("xor-hex", lambda check, options: EnqFramer(check, options.data_limit)),
    "line": (
        "none",
        lambda _, options: LineFramer(options.data_limit, options.prefix, options.suffix),
    ),
    "cobs": ("crc-16-ccitt-false", lambda check, options: CobsFramer(check, options.data_limit)),
}


def make_framer(framer: str, check: str, options: FramerOptions) -> Framer:
    """Make the framer with the check; both names are in the tables above."""
    return FRAMERS[framer][1](CHECKS[check], options)
