"""Ports for what a test starts: no two workers of a run are ever given the same."""

import os
from typing import Final

from baccarat import free_port as ports

__all__ = ["free_port"]

# Below those that the product gives out by itself, and above those that browsers refuse: 10080 is
# the last of them.
_FIRST: Final = 10_100
_EACH: Final = 980
_WORKER: Final = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 10


def free_port() -> int:
    """A port on loopback that nobody holds, and that nobody else is given meanwhile."""
    first = _FIRST + _WORKER * _EACH
    return ports.free_port(range(first, first + _EACH))
