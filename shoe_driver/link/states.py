"""The link's four states, as one table of transitions.

    down     the port is closed
    open     the port is open, but nothing proves the device: it may be mute, absent or another
    up       a valid frame has come since the port was opened
    stalled  silent past the limit although the device should send

A transition that is not in the table is refused and changes nothing. Only a change of state is
reported. Tables also define what a state allows, and which transitions break continuity. The core
judges by the reports, with the same rules: after a break nothing continues what came before, and a
coup in progress is misaligned. (Misaligned is a state of the coup, not of the link.)

The table does not define whether the device *should* send (in a deal, or at any time if the profile
has a beat: `Decoder.device_should_send`), nor for how long it has not. The driver's clock measures
that, and the driver writes the silence into its journal.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final

from msgspec import Struct

__all__ = [
    "ALLOWS",
    "BREAKS",
    "TRANSITIONS",
    "LinkInput",
    "LinkPermissions",
    "LinkState",
    "next_state",
]


class LinkState(Enum):
    """The state of the link; the values are those of `link/shoe`."""

    DOWN = "down"
    OPEN = "open"
    UP = "up"
    STALLED = "stalled"


class LinkInput(Enum):
    """An event on the link."""

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


class LinkPermissions(Struct, frozen=True, kw_only=True):
    """The permissions of a state of the link.

    Args:
        betting: betting may be opened.
        cards: a card may come. If not, the frame that brings one changes the state first.
    """

    betting: bool
    cards: bool


ALLOWS: Final[Mapping[LinkState, LinkPermissions]] = {
    LinkState.DOWN: LinkPermissions(betting=False, cards=False),
    LinkState.OPEN: LinkPermissions(betting=True, cards=False),
    LinkState.UP: LinkPermissions(betting=True, cards=True),
    LinkState.STALLED: LinkPermissions(betting=False, cards=False),
}

# After these, what arrives continues nothing: reports may have been missed. Silence is not among
# them, nor is its end: later reports come in order, only late, and are reported as they are.
BREAKS: Final[frozenset[tuple[LinkState, LinkInput]]] = frozenset(
    (state, happening)
    for state, happening in TRANSITIONS
    if happening in (LinkInput.LOST, LinkInput.RESTARTED, LinkInput.OPENED)
    and TRANSITIONS[state, happening] is not state
)


def next_state(state: LinkState, happening: LinkInput) -> LinkState | None:
    """Return the next state, or None if the table refuses the input."""
    return TRANSITIONS.get((state, happening))
