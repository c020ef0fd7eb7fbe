"""The pauses between attempts to reconnect: to a broker, to a shoe's port, to a hub. Pure."""

from collections.abc import Callable
from typing import Final

__all__ = ["RECONNECT_FIRST_S", "RECONNECT_MOST_S", "Backoff"]

# A restarted broker is back within a second: the first attempts come at once, and the longest pause
# still leaves no dealer waiting.
RECONNECT_FIRST_S: Final = 0.05
RECONNECT_MOST_S: Final = 2.0


class Backoff:
    """An exponential back-off: each pause is twice the one before, up to a longest one.

    Args:
        first_s: the first pause after a success.
        most_s: the longest.
        uniform: `Random.uniform`; half of each pause is then random, so that a whole site does not
            come back in the same instant. Without it the pauses are exact.
    """

    def __init__(
        self,
        first_s: float = RECONNECT_FIRST_S,
        most_s: float = RECONNECT_MOST_S,
        uniform: Callable[[float, float], float] | None = None,
    ) -> None:
        self._first_s, self._most_s, self._uniform = first_s, most_s, uniform
        self._next_s = first_s

    def reset(self) -> None:
        """Begin again with the first pause: the last attempt succeeded."""
        self._next_s = self._first_s

    def next_s(self) -> float:
        """Return the pause before the next attempt, and double the one after it."""
        pause, self._next_s = self._next_s, min(self._next_s * 2, self._most_s)
        return pause if self._uniform is None else pause * self._uniform(0.5, 1.0)
