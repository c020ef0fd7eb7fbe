"""Decode JSON that another program sent, with one error for every way in which it can be wrong."""

import json
import re
from collections import Counter
from typing import Any, Final, TypeVar

import msgspec

from events.errors import MalformedJson

__all__ = [
    "UNDECODABLE",
    "decode_json",
    "decode_json_once",
    "malformed",
    "repeated_key",
    "replace_lone_surrogates",
]

_T = TypeVar("_T")

# What msgspec's decoders raise: bytes that are no UTF-8 and deep nesting are no MsgspecError.
UNDECODABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
# One escape, or the two of a surrogate pair. In `\\ud800` it is the two backslashes.
_ESCAPE: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)


def decode_json(data: bytes | str, kind: type[_T]) -> _T:
    """Decode JSON as `kind`.

    Raises:
        MalformedJson: the data is not JSON, or not of this kind.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except UNDECODABLE as error:
        raise malformed(data, error) from error


def decode_json_once(data: bytes | str, kind: type[_T]) -> _T:
    """Decode JSON as `kind` that a person or a program wrote: no key may be there twice.

    Raises:
        MalformedJson: as `decode_json`, or an object holds a key twice.
    """
    read, key = decode_json(data, kind), repeated_key(data)
    if key is not None:
        raise MalformedJson(f"the key {key!r:.40} is there twice; write it once")
    return read


def malformed(data: bytes | str, error: Exception) -> MalformedJson:
    """Return why this is no JSON, where msgspec's decoders raised `error`."""
    text = data if isinstance(data, str) else data.decode("utf-8", "replace")
    if not text.strip():
        return MalformedJson("it is empty")
    if isinstance(error, msgspec.ValidationError):
        return MalformedJson(str(error))
    for escape in _ESCAPE.finditer(text):
        if escape["lone"]:
            return MalformedJson(f"{escape[0]} is half of a character; write the whole of it")
    return MalformedJson(str(error))


def replace_lone_surrogates(document: str) -> str:
    r"""Return a JSON document with `\ufffd` in place of the escape of each lone surrogate.

    The grammar of JSON allows such an escape. No UTF-8 can hold it, and `decode_json` refuses it.
    """
    return _ESCAPE.sub(lambda escape: r"\ufffd" if escape["lone"] else escape[0], document)


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
