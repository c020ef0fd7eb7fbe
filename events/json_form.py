"""Decode JSON that another program sent, with one error for every way in which it can be wrong."""

import json
from collections import Counter
from typing import Any, Final, TypeVar

import msgspec

from events.errors import MalformedJson

__all__ = ["UNDECODABLE", "decode_json", "repeated_key"]

_T = TypeVar("_T")

# What msgspec's decoders raise: bytes that are no UTF-8 and deep nesting are no MsgspecError.
UNDECODABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def decode_json(data: bytes | str, kind: type[_T]) -> _T:
    """Decode JSON as `kind`.

    Raises:
        MalformedJson: the data is not JSON, or not of this kind.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except UNDECODABLE as error:
        raise MalformedJson(str(error)) from error


def repeated_key(document: bytes | str) -> str | None:
    """Return a key that one object of a JSON document holds twice, or None.

    JSON leaves open which of two values counts, and readers differ: what one program checks, the
    next need not see. `decode_json` takes the last.

    Args:
        document: valid JSON.

    Raises:
        MalformedJson: it is nested too deeply.
    """
    twice: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> None:
        if len(dict(pairs)) < len(pairs):
            twice.extend((Counter(key for key, _ in pairs) - Counter(dict(pairs).keys())).keys())

    try:
        json.loads(document, object_pairs_hook=note, parse_int=str, parse_float=str)
    except RecursionError as error:
        raise MalformedJson(str(error)) from error
    return twice[0] if twice else None
