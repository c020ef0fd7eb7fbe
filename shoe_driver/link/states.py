"""The link's four states, as one table.

    down     the port is not held
    open     held, and nothing is proven about the device: it may be mute, absent or another
    up       a valid frame has come since it was opened
    stalled  silent past the limit where the device ought to speak

A transition that is not in the table is refused and changes nothing. Only a change of state is
reported. What a state allows, and which transitions break continuity, are tables as well; the core
judges by the reports, and by the same rules: after a break it takes nothing for a continuation, and
a coup in progress is misaligned (which is the core's word, and no state of the link).

What does not fit into a table: whether the device *ought* to speak (in a deal, or at any time where
the profile has a beat: `Decoder.ought_to_speak`) and for how long it has not (the driver's clock;
it writes the silence into its journal).
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final

from msgspec import Struct

__all__ = ["ALLOWS", "BREAKS", "TRANSITIONS", "Allowed", "LinkInput", "LinkState", "step"]


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


class Allowed(Struct, frozen=True, kw_only=True):
    """What may happen in a state of the link.

    Args:
        betting: betting may be opened.
        cards: a card may come. Where none may, the frame that brings one changes the state first.
    """

    betting: bool
    cards: bool


ALLOWS: Final[Mapping[LinkState, Allowed]] = {
    LinkState.DOWN: Allowed(betting=False, cards=False),
    LinkState.OPEN: Allowed(betting=True, cards=False),
    LinkState.UP: Allowed(betting=True, cards=True),
    LinkState.STALLED: Allowed(betting=False, cards=False),
}

# After these, what arrives continues nothing: reports may have gone by unheard. Silence is none,
# and neither is its end: what comes then comes in order, late, and is told as what it is.
BREAKS: Final[frozenset[tuple[LinkState, LinkInput]]] = frozenset(
    (state, happening)
    for state, happening in TRANSITIONS
    if happening in (LinkInput.LOST, LinkInput.RESTARTED, LinkInput.OPENED)
    and TRANSITIONS[state, happening] is not state
)


def step(state: LinkState, happening: LinkInput) -> LinkState | None:
    """The next state, or None where the happening is refused."""
    return TRANSITIONS.get((state, happening))
