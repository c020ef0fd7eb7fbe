"""Messages of the bus, as values. Pure."""

from typing import NamedTuple

__all__ = ["Message", "Publication"]


class Message(NamedTuple):
    """A received message. `retain` is true if the broker had stored it, and false if it is live."""

    topic: str
    payload: bytes
    retain: bool


class Publication(NamedTuple):
    """A message to publish, now or as a Will."""

    topic: str
    payload: bytes
    retain: bool = False
