"""A state as bytes and back, exactly, and the books that vouch for it. Pure.

The bytes are JSON in one order only (fields as the types have them, keys and sets sorted), so that
equal states have equal bytes and one hash says which state is meant. They are a cache for the build
that wrote them: nothing else reads them, and nothing is trusted in them but what hashes to what the
log's own `books_closed` says.
"""

import hashlib
import re
from collections.abc import Sequence
from enum import Enum
from fractions import Fraction
from functools import cache
from types import GenericAlias
from typing import Any, Final, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from events.errors import UnreadableEvent
from events.types.snapshot_anchor import BooksClosed
from table_core.fold.dispatch import FOLD_VERSION
from table_core.persistent_list import Trail
from table_core.state.table import TableState

__all__ = ["books_at", "comparable", "decode_state", "encode_state", "shape_of_state", "state_hash"]

_SHAPE_DIGITS: Final = 16
# The first builds digested the names of modules, too: the same types, by today's digest and theirs.
_SHAPES_OF_010: Final = {"91d339706092f488": "0e224b54fff5baa0"}


def encode_state(state: TableState) -> bytes:
    """The state's bytes; equal states have equal ones."""
    # In two steps: the encoder itself puts nothing in order that has other keys than texts.
    plain = msgspec.to_builtins(state, enc_hook=_plain, order="deterministic", str_keys=True)
    return msgspec.json.encode(plain)


def decode_state(data: bytes) -> TableState:
    """The state that `encode_state` made these bytes of.

    Raises:
        UnreadableEvent: the bytes are no state of this build.
    """
    try:
        return _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise UnreadableEvent(f"not a state: {error}") from error


def state_hash(data: bytes) -> str:
    """SHA-256 of an encoded state, hex."""
    return hashlib.sha256(data).hexdigest()


def books_at(
    state: TableState, encoded: bytes, *, shoe: str, chain: bytes, peaks: Sequence[bytes]
) -> BooksClosed:
    """The books as of `state`.

    Args:
        state: the table.
        encoded: its bytes.
        shoe: the last one that ended.
        chain: the chain's hash at the state's position.
        peaks: of the tree over all events up to there.
    """
    return BooksClosed(
        shoe=shoe,
        size=state.position,
        chain=chain.hex(),
        peaks=tuple(peak.hex() for peak in peaks),
        fold=FOLD_VERSION,
        shape=shape_of_state(),
        state=state_hash(encoded),
    )


def comparable(books: BooksClosed) -> bool:
    """Whether this build's fold must come to the very state that these books name."""
    ours = shape_of_state()
    return books.fold == FOLD_VERSION and books.shape in {ours, _SHAPES_OF_010.get(ours)}


@cache
def shape_of_state() -> str:
    """A digest of every type that a state is made of: fields, their types and their order.

    A fold whose author forgot to raise `FOLD_VERSION` when the state got a field is another fold
    all the same. Names of types and modules do not count: another name is the same state.
    """
    shapes: dict[str, str] = {}
    _describe(TableState, shapes)
    text = "\n".join(shapes.values())
    for number, name in enumerate(shapes):
        text = re.sub(rf"\b{re.escape(name)}\b", f"type {number}", text)
    return hashlib.sha256(text.encode()).hexdigest()[:_SHAPE_DIGITS]


def _describe(kind: Any, shapes: dict[str, str]) -> None:
    """Put each type that `kind` is made of into `shapes`, in the order of discovery."""
    for argument in get_args(kind):
        _describe(argument, shapes)
    if not isinstance(kind, type) or (name := f"{kind.__module__}.{kind.__qualname__}") in shapes:
        return
    if issubclass(kind, Enum):
        shapes[name] = repr([(each.name, each.value) for each in kind])
    elif issubclass(kind, Struct):
        hints, fields = get_type_hints(kind), kind.__struct_fields__
        shapes[name] = repr([(field, str(hints[field])) for field in fields])
        for field in fields:
            _describe(hints[field], shapes)


def _plain(value: object) -> object:
    """What msgspec has no form of its own for."""
    if isinstance(value, Trail):
        return list(value)
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    raise NotImplementedError(f"{type(value).__name__} has no form in a snapshot")


def _restored(kind: Any, value: Any) -> object:
    if get_origin(kind) is Trail:
        (item,) = get_args(kind)
        trail: Trail[Any] = Trail()
        for each in msgspec.convert(value, GenericAlias(list, item), dec_hook=_restored):
            trail = trail.append(each)
        return trail
    if kind is Fraction and isinstance(value, str):
        return Fraction(value)
    raise NotImplementedError(f"{kind} has no form in a snapshot")


_decoder: Final = msgspec.json.Decoder(TableState, dec_hook=_restored)
