"""Decode JSON that another program sent, with one error for every way in which it can be wrong."""

from typing import Final, TypeVar

import msgspec

from events.errors import MalformedJson

__all__ = ["UNDECODABLE", "decode_json"]

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
