"""What a fake part does wrong next: armed by the plan, spent by the part."""

from collections import Counter

__all__ = ["Killed", "Trouble"]


class Killed(BaseException):
    """A process dies here and now: nothing of it goes on, and nothing may catch it on the way.

    Args:
        process: which.
    """

    def __init__(self, process: str) -> None:
        super().__init__(process)
        self.process = process


class Trouble:
    """Faults that wait for their chance, by name.

    Attributes:
        came: how often each has come.
    """

    def __init__(self) -> None:
        self.came: Counter[str] = Counter()
        self._armed: Counter[str] = Counter()

    def arm(self, name: str, times: int = 1) -> None:
        """It comes at the next chances; one that still waits for its own is not armed again."""
        self._armed[name] = self._armed[name] or times

    def strikes(self, name: str) -> bool:
        """Whether it comes now; then there is one chance less for it."""
        if not self._armed.get(name):
            return False
        self._armed[name] -= 1
        self.came[name] += 1
        return True

    def calm(self) -> None:
        """Nothing waits any more."""
        self._armed.clear()
