"""Waiting for a condition, never for a time."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

import pytest

# Far above what anything here takes, so that only a failure ever waits for so long.
PATIENCE_SECONDS: Final = 45.0
BUSY: Final = 4
"""Times what is promised: what a starved machine may take."""


async def until(condition: Callable[[], object], what: str) -> None:
    """Let the loop run until `condition` holds; fail when it never does."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"waited {PATIENCE_SECONDS:g} s in vain: {what}")
        await asyncio.sleep(0.002)


def until_blocking(condition: Callable[[], object], what: str) -> None:
    """The same where there is no loop."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"waited {PATIENCE_SECONDS:g} s in vain: {what}")
        time.sleep(0.002)
