"""Notify the service manager that a service is ready, alive or stopping: systemd's `sd_notify`.

It sends a datagram to the socket that NOTIFY_SOCKET names, and nothing without one. systemd
promises to keep the protocol stable, and it is shorter than any binding to it.
"""

import asyncio
import os
import socket
from contextlib import suppress
from typing import Final

__all__ = ["keep_notified", "notify"]

_MICROSECONDS: Final = 1_000_000


def notify(state: str) -> None:
    """Notify the service manager; do not wait for one that does not read.

    Args:
        state: such as `READY=1`.
    """
    place = os.environ.get("NOTIFY_SOCKET")
    if not place:
        return
    address = "\0" + place[1:] if place.startswith("@") else place
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as line:
        line.setblocking(False)
        line.connect(address)
        with suppress(BlockingIOError):  # its queue is full: the loop must not block
            line.send(state.encode())


async def keep_notified() -> None:
    """Report that we are ready, and then, twice in each watchdog interval, that the loop runs.

    The service manager kills and restarts a service whose loop blocks for longer.
    """
    notify("READY=1")
    span = int(os.environ.get("WATCHDOG_USEC", "0")) / _MICROSECONDS
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        span = 0
    while span:
        notify("WATCHDOG=1")
        await asyncio.sleep(span / 2)
