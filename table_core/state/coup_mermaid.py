"""Draws the coup's state diagram from the transition table. Pure.

`docs/reference/coup-states.md` holds a copy.
"""

from itertools import groupby

from table_core.state.coup import TRANSITIONS

__all__ = ["mermaid"]


def mermaid() -> str:
    """Return the transition table as a Mermaid state diagram, one line a pair of states."""
    moves = sorted(
        (before.value, after.value, name) for (before, name), after in TRANSITIONS.items()
    )
    lines = ["stateDiagram-v2", "    [*] --> none"]
    for (before, after), group in groupby(moves, key=lambda move: move[:2]):
        names = ", ".join(name for _, _, name in group)
        lines.append(f"    {before} --> {after}: {names}")
    return "\n".join(lines) + "\n"
