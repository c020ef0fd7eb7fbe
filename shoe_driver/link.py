"""The link's four states, as one table.

    down     the port is not held
    open     held, and nothing is proven about the device: it may be mute, absent or another
    up       a valid frame has come since it was opened
    stalled  silent past the limit where the device ought to speak

A transition that is not in the table is refused and changes nothing. Only a change of state is
reported. What does not fit into a table: whether the device *ought* to speak (the decoder knows,
from the deal) and for how long it has not (the driver's clock; it writes it into the journal).
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final

__all__ = ["TRANSITIONS", "LinkInput", "LinkState", "step"]


class LinkState(Enum):
    """How the link stands; the values are those of `link/shoe`."""

    DOWN = "down"
    OPEN = "open"
    UP = "up"
    STALLED = "stalled"


class LinkInput(Enum):
    """What can happen to a link."""

    OPENED = "opened"
    FRAME = "frame"
    SILENCE = "silence"
    LOST = "lost"
    RESTARTED = "restarted"


TRANSITIONS: Final[Mapping[tuple[LinkState, LinkInput], LinkState]] = {
    (LinkState.DOWN, LinkInput.OPENED): LinkState.OPEN,
    (LinkState.DOWN, LinkInput.RESTARTED): LinkState.DOWN,
    (LinkState.OPEN, LinkInput.FRAME): LinkState.UP,
    (LinkState.OPEN, LinkInput.SILENCE): LinkState.STALLED,
    (LinkState.OPEN, LinkInput.LOST): LinkState.DOWN,
    (LinkState.OPEN, LinkInput.RESTARTED): LinkState.DOWN,
    (LinkState.UP, LinkInput.FRAME): LinkState.UP,
    (LinkState.UP, LinkInput.SILENCE): LinkState.STALLED,
    (LinkState.UP, LinkInput.LOST): LinkState.DOWN,
    (LinkState.UP, LinkInput.RESTARTED): LinkState.DOWN,
    (LinkState.STALLED, LinkInput.FRAME): LinkState.UP,
    (LinkState.STALLED, LinkInput.LOST): LinkState.DOWN,
    (LinkState.STALLED, LinkInput.RESTARTED): LinkState.DOWN,
}


def step(state: LinkState, happening: LinkInput) -> LinkState | None:
    """The next state, or None where the happening is refused."""
    return TRANSITIONS.get((state, happening))
