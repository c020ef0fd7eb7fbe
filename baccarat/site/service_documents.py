"""Read the documents that services publish about themselves. Pure."""

from typing import Any

import msgspec

__all__ = ["read_document"]


def read_document(payload: bytes) -> dict[str, Any]:
    """Return the JSON document in a payload; empty where there is none."""
    try:
        found = msgspec.json.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
