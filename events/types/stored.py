"""Rows of a table's log, as values. Pure."""

from typing import NamedTuple

__all__ = ["AcceptedRequest", "Pending", "Stored"]


class Pending(NamedTuple):
    """An event to append, encoded by `events.types.envelope.encode_envelope`, and its columns."""

    type: str
    version: int
    at: str
    stored: bytes


class Stored(NamedTuple):
    """A stored event. `stored` is the truth; `hash` is the chain's hash up to and including it."""

    position: int
    type: str
    version: int
    at: str
    stored: bytes
    hash: bytes


class AcceptedRequest(NamedTuple):
    """An accepted request: its body, and the position of the last event it caused."""

    body: bytes
    position: int
