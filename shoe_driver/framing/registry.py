"""The registry of framers by the grammar's names."""

from collections.abc import Callable, Mapping
from typing import Final

from shoe_driver.framing.chunks import ChunkFramer
from shoe_driver.framing.delimited import DelimitedFramer, is_self_marking
from shoe_driver.framing.frames import Framer
from shoe_driver.framing.grammar import FramerKind, WireForm
from shoe_driver.framing.line import LineFramer
from shoe_driver.framing.loose import LooseFramer

__all__ = ["make_framer"]


def _delimited(form: WireForm) -> Framer:
    marked = not form.framer.shape and (form.check.hex or not form.check_bytes)
    strict = marked or (form.framer.shape and is_self_marking(form))
    return DelimitedFramer(form) if strict else LooseFramer(form)


_FRAMERS: Final[Mapping[FramerKind, Callable[[WireForm], Framer]]] = {
    "delimited": _delimited,
    "line": LineFramer,
    "length": LooseFramer,
    "cobs": ChunkFramer,
    "slip": ChunkFramer,
    "fixed": LooseFramer,
}


def make_framer(form: WireForm) -> Framer:
    """Make the framer of a wire form."""
    return _FRAMERS[form.framer.kind](form)
