"""Events of older versions, brought up to the newest on reading. Pure; nothing stored is rewritten.

A type has a name and an integer version. What was stored stays as it is for ever, and so does the
class that describes it: its *shape*. Where a type changes, the new class takes the next version,
and an upcast says how the fields of the one become those of the other. Each goes up by exactly one,
so that a chain has neither branches nor circles; a type's chain begins at version 1 and ends at the
class that the rest of the product knows. All this is checked when a reader is made, before anything
is read.

Every version is read strictly, by its own shape: a field that it did not have is refused, even
where a later version has one of that name. What an upcast makes is held against the next shape.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from events.errors import OurBug, UnreadableEvent
from events.types.table import TableEvent

__all__ = ["EventReader", "Upcast"]

# A name is a word of its own: nothing that a move of Python code could make untrue.
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*\Z")

_Decoder = msgspec.json.Decoder[TableEvent]
_NO_JSON: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class Upcast(Struct, frozen=True):
    """How one version of a type becomes the next.

    Args:
        shape: the class of that version, with the `TYPE` and `VERSION` that it had.
        up: its fields, as JSON has them, to those of the next version. A field that has its default
            may be missing. The dictionary is the upcast's own.
    """

    shape: type[TableEvent]
    up: Callable[[dict[str, Any]], dict[str, Any]]


class EventReader:
    """Reads the events of a set of types, in every version that they ever had.

    Args:
        kinds: the newest class of each type.
        upcasts: from every older version, in any order.

    Raises:
        OurBug: a type is there twice, or its name is none; an upcast is missing, is there twice,
            or leads nowhere; a class takes fields that it does not know.
    """

    def __init__(self, kinds: Iterable[type[TableEvent]], upcasts: Iterable[Upcast] = ()) -> None:
        self._newest = _by_name(kinds)
        steps = _by_version(upcasts, self._newest)
        self._chains = {
            name: tuple(_step(steps, name, version) for version in range(1, kind.VERSION))
            for name, kind in self._newest.items()
        }
        shapes = {(name, kind.VERSION): kind for name, kind in self._newest.items()}
        shapes |= {key: step.shape for key, step in steps.items()}
        self._decoders: Mapping[tuple[str, int], _Decoder] = {
            key: msgspec.json.Decoder(shape) for key, shape in shapes.items()
        }

    def read(self, name: str, version: int, data: bytes | msgspec.Raw) -> TableEvent:
        """One event from the JSON of its fields.

        Raises:
            UnreadableEvent: unknown type, newer version, or fields that are not the version's.
        """
        kind, decoder = self._newest.get(name), self._decoders.get((name, version))
        if kind is not None and version > kind.VERSION:
            raise UnreadableEvent(
                f"{name} version {version} is newer than this build knows ({kind.VERSION})"
            )
        if kind is None or decoder is None:
            raise UnreadableEvent(f"unknown event type {name!r} version {version}")
        at = version
        try:
            event = decoder.decode(data)
            for upcast in self._chains[name][version - 1 :]:
                at, data = at + 1, msgspec.json.encode(upcast.up(msgspec.json.decode(data)))
                event = self._decoders[name, at].decode(data)
        except _NO_JSON as error:
            brought = f", brought up to {at}" if at > version else ""
            raise UnreadableEvent(f"{name} version {version}{brought}: {error}") from error
        return event


def _by_name(kinds: Iterable[type[TableEvent]]) -> dict[str, type[TableEvent]]:
    found: dict[str, type[TableEvent]] = {}
    for kind in kinds:
        if kind.TYPE in found:
            raise OurBug(f"event type {kind.TYPE} is registered twice")
        if not _NAME.match(kind.TYPE):
            raise OurBug(f"event type {kind.TYPE!r}: a name has letters, digits and _ only")
        _check_shape(kind)
        found[kind.TYPE] = kind
    return found


def _by_version(
    upcasts: Iterable[Upcast], newest: Mapping[str, type[TableEvent]]
) -> dict[tuple[str, int], Upcast]:
    found: dict[tuple[str, int], Upcast] = {}
    for upcast in upcasts:
        name, version = key = upcast.shape.TYPE, upcast.shape.VERSION
        if name not in newest:
            raise OurBug(f"{name} version {version} is brought up to a type that is not registered")
        if version >= newest[name].VERSION:
            raise OurBug(
                f"{name} version {version} is brought up, but version {newest[name].VERSION} is "
                "the newest class"
            )
        if key in found:
            raise OurBug(f"{name} version {version} is brought up in two ways")
        _check_shape(upcast.shape)
        found[key] = upcast
    return found


def _step(steps: Mapping[tuple[str, int], Upcast], name: str, version: int) -> Upcast:
    step = steps.get((name, version))
    if step is None:
        raise OurBug(f"{name} version {version} is not brought up to version {version + 1}")
    return step


def _check_shape(kind: type[TableEvent]) -> None:
    if kind.VERSION < 1:
        raise OurBug(f"{kind.TYPE}: versions are counted from 1, not {kind.VERSION}")
    if not kind.__struct_config__.forbid_unknown_fields:
        raise OurBug(f"{kind.TYPE} version {kind.VERSION} takes fields that it does not know")
