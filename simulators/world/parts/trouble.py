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
        armed: how often each may come still; nothing that has no chance left.
    """

    def __init__(self) -> None:
        self.came: Counter[str] = Counter()
        self.armed: dict[str, int] = {}

    def arm(self, name: str, times: int = 1) -> None:
        """It comes at the next chances; one that still waits for its own is not armed again."""
        self.armed.setdefault(name, times)

    def strikes(self, name: str) -> bool:
        """Whether it comes now; then there is one chance less for it."""
        left = self.armed.pop(name, 0)
        if left == 0:
            return False
        if left > 1:
            self.armed[name] = left - 1
        self.came[name] += 1
        return True

    def calm(self) -> None:
        """Nothing waits any more."""
        self.armed.clear()
