"""Waiting for a condition, never for a time."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any, Final, TypeVar, overload

import pytest

__all__ = ["BUSY", "PATIENCE_SECONDS", "until", "until_blocking"]

# Far above what anything here takes, so that only a failure ever waits for so long.
PATIENCE_SECONDS: Final = 45.0
BUSY: Final = 4
"""Times what is promised: what a starved machine may take."""

_T = TypeVar("_T")
_Errors = tuple[type[Exception], ...]


class _Patience:
    """Fails the test when it is over.

    Args:
        what: is waited for; a function says at the end how far it has come.
        within: seconds.
    """

    def __init__(self, what: str | Callable[[], str], within: float | None) -> None:
        self._what = what
        self._seconds = PATIENCE_SECONDS if within is None else within
        self._deadline = time.monotonic() + self._seconds
        self.trouble = ""

    def go_on(self) -> None:
        """Return while there is time left."""
        if time.monotonic() > self._deadline:
            what = self._what if isinstance(self._what, str) else self._what()
            pytest.fail(f"waited {self._seconds:g} s in vain: {what} {self.trouble}".rstrip())


@overload
async def until(
    condition: Callable[..., Awaitable[_T | None]],
    what: str | Callable[[], str],
    within: float | None = None,
    *,
    every: float = ...,
    despite: _Errors = ...,
) -> _T: ...
@overload
async def until(
    condition: Callable[..., _T | None],
    what: str | Callable[[], str],
    within: float | None = None,
    *,
    every: float = ...,
    despite: _Errors = ...,
) -> _T: ...
async def until(
    condition: Callable[..., Any],
    what: str | Callable[[], str],
    within: float | None = None,
    *,
    every: float = 0.002,
    despite: _Errors = (),
) -> Any:
    """Let the loop run until `condition` holds, and return what it gave; fail when it never does.

    Args:
        condition: a function or a coroutine function.
        what: is waited for; a function says at the end how far it has come.
        within: seconds; `PATIENCE_SECONDS` unless said.
        every: seconds between two looks.
        despite: errors of `condition` that mean "not yet".
    """
    patience = _Patience(what, within)
    while True:
        try:
            found = condition()
            if isawaitable(found):
                found = await found
            if found:
                return found
        except despite as error:
            patience.trouble = repr(error)
        patience.go_on()
        await asyncio.sleep(every)


def until_blocking(
    condition: Callable[..., _T | None],
    what: str | Callable[[], str],
    within: float | None = None,
    *,
    every: float = 0.002,
    despite: _Errors = (),
) -> _T:
    """The same where there is no loop."""
    patience = _Patience(what, within)
    while True:
        try:
            if found := condition():
                return found
        except despite as error:
            patience.trouble = repr(error)
        patience.go_on()
        time.sleep(every)
