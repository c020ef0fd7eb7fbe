"""A free port on loopback, for what has to be named in a file before it is started."""

import secrets
import socket
from collections import deque
from collections.abc import Sequence
from typing import Final

from events.errors import InputError

__all__ = ["free_port"]

_LOOPBACK: Final = "127.0.0.1"
# Below the ports that a kernel gives to outgoing connections: none of them takes it meanwhile.
_PORTS: Final = range(20_000, 30_000)
_TRIES: Final = 100


# Given out, and to be bound soon by who asked.
_given: deque[int] = deque(maxlen=100)


def free_port(ports: Sequence[int] = _PORTS) -> int:
    """A port on loopback that nobody holds at this moment; a process is not soon given it again.

    Args:
        ports: to choose from.

    Raises:
        InputError: none was found.
    """
    for _ in range(_TRIES):
        port = secrets.choice(ports)
        if port in _given:
            continue
        with socket.socket() as probe:
            try:
                probe.bind((_LOOPBACK, port))
            except OSError:
                continue
        _given.append(port)
        return port
    raise InputError(f"no free port on {_LOOPBACK} from {ports[0]} to {ports[-1]}")
