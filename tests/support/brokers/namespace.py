"""A network of its own with one line to this machine, which can be cut."""

import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Namespace", "namespace"]


class Namespace:
    """A network namespace and its line.

    Args:
        name: of the namespace.
        here: this machine's address on the line.
        line: the name of this machine's end.
        there: the name of the other end.
    """

    def __init__(self, name: str, here: str, line: str, there: str) -> None:
        self.name, self.here, self._line, self._there = name, here, line, there

    @property
    def prefix(self) -> tuple[str, ...]:
        """What goes before a command that is to run there."""
        return "ip", "netns", "exec", self.name

    def cut(self) -> None:
        """Nothing comes through, and nobody is told."""
        _run("ip", "link", "set", self._line, "down")

    def thin(self, rate: str) -> None:
        """What goes out from there has only so much room, such as `512kbit`."""
        shape = ("tbf", "rate", rate, "burst", "16kb", "latency", "400ms")
        _run(*self.prefix, "tc", "qdisc", "add", "dev", self._there, "root", *shape)

    def mend(self) -> None:
        """It comes through again."""
        _run("ip", "link", "set", self._line, "up")


@contextmanager
def namespace() -> Iterator[Namespace]:
    """A namespace, gone at the end."""
    token = secrets.token_hex(3)
    name, here, there = f"bac{token}", f"bac{token}h", f"bac{token}n"
    # Of the range for tests between two machines (RFC 2544).
    network = f"198.18.{secrets.randbelow(256)}"
    block = 4 * secrets.randbelow(64)
    _run("ip", "netns", "add", name)
    try:
        _run("ip", "link", "add", here, "type", "veth", "peer", "name", there, "netns", name)
        _run("ip", "addr", "add", f"{network}.{block + 1}/30", "dev", here)
        _run("ip", "link", "set", here, "up")
        inside = Namespace(name, f"{network}.{block + 1}", here, there)
        _run(*inside.prefix, "ip", "addr", "add", f"{network}.{block + 2}/30", "dev", there)
        for link in ("lo", there):
            _run(*inside.prefix, "ip", "link", "set", link, "up")
        yield inside
    finally:
        _run("ip", "netns", "delete", name)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
