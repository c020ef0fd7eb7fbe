"""The snapshot: a state as bytes and back, exactly, and the event that anchors it in the log. Pure.

The bytes are JSON in one order only: fields in declaration order, keys and sets sorted. So equal
states have equal bytes, and one hash identifies a state. The bytes are a cache for the build that
wrote them, and no other build reads them. A reader trusts them only where their hash is the one in
the log's own `books_closed`.
"""

import hashlib
import re
from collections.abc import Sequence
from enum import Enum
from fractions import Fraction
from functools import cache
from types import GenericAlias, MappingProxyType
from typing import Any, Final, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from events.errors import UnreadableEvent
from events.json_form import UNDECODABLE
from events.types import BooksClosed, Wager
from table_core.fold.dispatch import FOLD_VERSION
from table_core.persistent_list import PersistentList
from table_core.state.table import TableState, by_id

__all__ = [
    "as_plain",
    "decode_state",
    "encode_state",
    "from_plain",
    "is_comparable",
    "snapshot_anchor",
    "state_hash",
    "state_shape",
]

_SHAPE_DIGITS: Final = 16


def encode_state(state: TableState) -> bytes:
    """Return the state's bytes; equal states have equal bytes."""
    # In two steps: the encoder itself sorts only the keys that are texts.
    plain = msgspec.to_builtins(state, enc_hook=as_plain, order="deterministic", str_keys=True)
    return msgspec.json.encode(plain)


def decode_state(data: bytes) -> TableState:
    """Decode a state from the bytes that `encode_state` made.

    Raises:
        UnreadableEvent: the bytes are not a state of this build.
    """
    try:
        return _decoder.decode(data)
    except (*UNDECODABLE, ValueError) as error:
        raise UnreadableEvent(f"not a state: {error}") from error


def state_hash(data: bytes) -> str:
    """Return the SHA-256 of an encoded state, hex."""
    return hashlib.sha256(data).hexdigest()


def snapshot_anchor(
    state: TableState, encoded: bytes, *, shoe: str, chain: bytes, peaks: Sequence[bytes]
) -> BooksClosed:
    """Return the `books_closed` event that anchors a snapshot of `state`.

    Args:
        state: the table.
        encoded: its bytes.
        shoe: the last shoe that ended.
        chain: the chain's hash at the state's position.
        peaks: of the Merkle tree over all events up to there.
    """
    return BooksClosed(
        shoe=shoe,
        size=state.position,
        chain=chain.hex(),
        peaks=tuple(peak.hex() for peak in peaks),
        fold=FOLD_VERSION,
        shape=state_shape(),
        state=state_hash(encoded),
    )


def is_comparable(books: BooksClosed) -> bool:
    """Return whether this build's fold must come to the very state that this event names."""
    return (books.fold, books.shape) == (FOLD_VERSION, state_shape())


@cache
def state_shape() -> str:
    """Return a digest of every type in a state: its fields, their types and their order.

    A state with a new field has another fold, even where its author forgot to raise `FOLD_VERSION`.
    The digest ignores the names of types and modules: a renamed type is the same state.
    """
    shapes: dict[str, str] = {}
    _describe(TableState, shapes)
    text = "\n".join(shapes.values())
    for number, name in enumerate(shapes):
        text = re.sub(rf"\b{re.escape(name)}\b", f"type {number}", text)
    return hashlib.sha256(text.encode()).hexdigest()[:_SHAPE_DIGITS]


def _describe(kind: Any, shapes: dict[str, str]) -> None:
    """Add each type that `kind` is made of to `shapes`, in the order of discovery."""
    for argument in get_args(kind):
        _describe(argument, shapes)
    kind = get_origin(kind) or kind
    if not isinstance(kind, type) or (name := f"{kind.__module__}.{kind.__qualname__}") in shapes:
        return
    if issubclass(kind, Enum):
        shapes[name] = repr([(each.name, each.value) for each in kind])
    elif issubclass(kind, Struct):
        hints, fields = get_type_hints(kind), kind.__struct_fields__
        shapes[name] = repr([(field, str(hints[field])) for field in fields])
        for field in fields:
            _describe(hints[field], shapes)
    elif kind is PersistentList:
        shapes[name] = "list"


def as_plain(value: object) -> object:
    """Return the form of a value of a state that msgspec cannot encode by itself."""
    if isinstance(value, PersistentList):
        return list(value)
    if isinstance(value, MappingProxyType):
        return list(value.values())
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    raise NotImplementedError(f"{type(value).__name__} has no form in a snapshot")


def from_plain(kind: Any, value: Any) -> object:
    """Return the value of a state that `as_plain` gave this form."""
    if get_origin(kind) is PersistentList:
        (item,) = get_args(kind)
        trail: PersistentList[Any] = PersistentList()
        for each in msgspec.convert(value, GenericAlias(list, item), dec_hook=from_plain):
            trail = trail.append(each)
        return trail
    if get_origin(kind) is MappingProxyType:
        return by_id(msgspec.convert(value, list[Wager]))
    if kind is Fraction and isinstance(value, str):
        return Fraction(value)
    raise NotImplementedError(f"{kind} has no form in a snapshot")


_decoder: Final = msgspec.json.Decoder(TableState, dec_hook=from_plain)
