"""Count the steps of a computation, to show how it grows with its input.

A step is a line of ours that Python executes, so that the count is the same on every machine. What
is done in C counts by the lines that ask for it.
"""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

SIZES = (10, 100, 1_000)
"""Of the ordinary suite; the soak adds 10,000."""


def steps_of(act: Callable[[], object]) -> int:
    """Return how many lines are executed while `act` runs."""
    steps, before = 0, sys.gettrace()

    def trace(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal steps
        steps += event == "line"
        return trace

    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    return steps
