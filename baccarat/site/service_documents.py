"""Read the documents that services publish about themselves. Pure."""

from typing import Any

from events.errors import MalformedJson
from events.json_form import decode_json

__all__ = ["read_document"]


def read_document(payload: bytes) -> dict[str, Any]:
    """Return the JSON document in a payload; empty where there is none."""
    try:
        return decode_json(payload, dict[str, Any])
    except MalformedJson:
        return {}
