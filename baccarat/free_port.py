"""Find a free port on loopback, for a file that must name it before its service starts."""

import secrets
import socket
from collections import deque
from collections.abc import Sequence
from typing import Final

from events.errors import InputError

__all__ = ["free_port"]

_LOOPBACK: Final = "127.0.0.1"
# Below the ports that the kernel gives to outgoing connections, so none of them takes it meanwhile.
_PORTS: Final = range(20_000, 30_000)
_TRIES: Final = 100


# Ports given out, which their askers will bind soon.
_given: deque[int] = deque(maxlen=100)


def free_port(ports: Sequence[int] = _PORTS) -> int:
    """Return a free port on loopback; a process does not soon get the same one again.

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
