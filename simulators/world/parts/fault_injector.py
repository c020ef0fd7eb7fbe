"""The next faults of the fake parts: the plan arms them, the parts spend them."""

from collections import Counter

__all__ = ["ArmedFaults", "Fuse", "Killed"]


class Killed(BaseException):
    """A process dies at this point: nothing of it goes on, and no handler may catch this.

    Args:
        process: its name.
    """

    def __init__(self, process: str) -> None:
        super().__init__(process)
        self.process = process


class ArmedFaults:
    """Armed faults that wait for their chance, by name.

    Attributes:
        came: how often each has come.
        armed: how often each may still come; only those with a chance left.
    """

    def __init__(self) -> None:
        self.came: Counter[str] = Counter()
        self.armed: dict[str, int] = {}

    def arm(self, name: str, times: int = 1) -> None:
        """Let a fault come at its next chances; one that still waits is not armed again."""
        self.armed.setdefault(name, times)

    def trigger(self, name: str) -> bool:
        """Return whether the fault comes now, and count the chance as used."""
        left = self.armed.pop(name, 0)
        if left == 0:
            return False
        if left > 1:
            self.armed[name] = left - 1
        self.came[name] += 1
        return True

    def calm(self) -> None:
        """Disarm all faults."""
        self.armed.clear()


class Fuse:
    """How many of its own steps a process still takes before it dies.

    Args:
        process: its name.
        trouble: counts its deaths.

    Attributes:
        left: None while it is not to die.
    """

    def __init__(self, process: str, trouble: ArmedFaults) -> None:
        self.left: int | None = None
        self._process = process
        self._trouble = trouble

    def __call__(self, _: str = "") -> None:
        """Note that the process is at one of its steps.

        Raises:
            Killed: it was the last one.
        """
        if self.left is None:
            return
        if self.left:
            self.left -= 1
            return
        self.left = None
        self._trouble.came[f"kill_{self._process}"] += 1
        raise Killed(self._process)
