"""A free port on loopback, for what has to be named in a file before it is started."""

import secrets
import socket
from typing import Final

from events.errors import InputError

__all__ = ["free_port"]

_LOOPBACK: Final = "127.0.0.1"
# Below the ports that a kernel gives to outgoing connections: none of them takes it meanwhile.
_PORTS: Final = range(20_000, 30_000)
_TRIES: Final = 100


def free_port() -> int:
    """A port on loopback that nobody holds at this moment.

    Raises:
        InputError: none was found.
    """
    for _ in range(_TRIES):
        port = secrets.choice(_PORTS)
        with socket.socket() as probe:
            try:
                probe.bind((_LOOPBACK, port))
            except OSError:
                continue
            return port
    raise InputError(f"no free port on {_LOOPBACK} from {_PORTS[0]} to {_PORTS[-1]}")
