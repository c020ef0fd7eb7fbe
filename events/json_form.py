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
    try:
        _FINDER.decode(document if isinstance(document, str) else document.decode())
    except _RepeatedKey as found:
        return str(found)
    except RecursionError as error:
        raise MalformedJson(str(error)) from error
    return None


class _RepeatedKey(Exception):  # noqa: N818 - no error: what was looked for
    """A key that an object holds twice."""


def _require_once(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise _RepeatedKey(next(key for key, count in counts.items() if count > 1))


_FINDER: Final = json.JSONDecoder(object_pairs_hook=_require_once, parse_int=str, parse_float=str)
