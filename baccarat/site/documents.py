"""What a service says of itself on the bus, for whoever looks at a table from beside it. Pure."""

from typing import Any

import msgspec

__all__ = ["read_document"]


def read_document(payload: bytes) -> dict[str, Any]:
    """The JSON document in a payload; empty where it holds none."""
    try:
        found = msgspec.json.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
