"""Upcasting: decode events of older versions and convert them to the newest. Pure.

Nothing stored is rewritten. A type has a name and an integer version. Stored bytes stay for ever,
and so does the class that describes them, their *shape*. When a type changes, the new class takes
the next version, and an upcast converts the fields of the old version to those of the new. Each
upcast goes up by exactly one version, so a chain has neither branches nor circles. It begins at
version 1 and ends at the class that the rest of the product knows. A reader checks all this when it
is made, before it reads anything.

Every version is decoded strictly, by its own shape: a field that the version did not have is
refused, even if a later version has one of that name. The result of an upcast is checked against
the next shape.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from events.errors import OurBug, UnreadableEvent
from events.json_form import UNDECODABLE
from events.types.table import TableEvent

__all__ = ["EventReader", "Upcast"]

# A type's name is independent of Python names, so moving code cannot make it untrue.
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*\Z")

_Decoder = msgspec.json.Decoder[TableEvent]


class Upcast(Struct, frozen=True):
    """The conversion of one version of a type to the next.

    Args:
        shape: the class of the older version, with the `TYPE` and `VERSION` that it had.
        up: converts its fields, as JSON has them, to those of the next version. A field at its
            default may be missing. The dictionary is the upcast's own.
    """

    shape: type[TableEvent]
    up: Callable[[dict[str, Any]], dict[str, Any]]


class EventReader:
    """Decodes the events of a set of types, in every version that they ever had.

    Args:
        kinds: the newest class of each type.
        upcasts: from every older version, in any order.

    Raises:
        OurBug: a type occurs twice or has a bad name; an upcast is missing, occurs twice, or leads
            nowhere; a class accepts unknown fields.
    """

    def __init__(self, kinds: Iterable[type[TableEvent]], upcasts: Iterable[Upcast] = ()) -> None:
        self._newest = _by_name(kinds)
        steps = _by_version(upcasts, self._newest)
        chains = {
            name: tuple(_step(steps, name, version) for version in range(1, kind.VERSION))
            for name, kind in self._newest.items()
        }
        # By name and version; the newest version has none.
        self._chains = {
            (name, version): chain[version - 1 :]
            for name, chain in chains.items()
            for version in range(1, len(chain) + 1)
        }
        shapes = {(name, kind.VERSION): kind for name, kind in self._newest.items()}
        shapes |= {key: step.shape for key, step in steps.items()}
        self._decoders: Mapping[tuple[str, int], _Decoder] = {
            key: msgspec.json.Decoder(shape) for key, shape in shapes.items()
        }

    def read(self, name: str, version: int, data: bytes | msgspec.Raw) -> TableEvent:
        """Decode one event from the JSON of its fields.

        Raises:
            UnreadableEvent: unknown type, newer version, or fields that are not the version's.
        """
        decoder = self._decoders.get((name, version))
        if decoder is None:
            kind = self._newest.get(name)
            if kind is not None and version > kind.VERSION:
                raise UnreadableEvent(
                    f"{name} version {version} is newer than this build knows ({kind.VERSION})"
                )
            raise UnreadableEvent(f"unknown event type {name!r} version {version}")
        at = version
        try:
            event = decoder.decode(data)
            for upcast in self._chains.get((name, version), ()):
                at, data = at + 1, msgspec.json.encode(upcast.up(msgspec.json.decode(data)))
                event = self._decoders[name, at].decode(data)
        except UNDECODABLE as error:
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
