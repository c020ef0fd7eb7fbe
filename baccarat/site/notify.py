"""What a service manager is told: that a service is ready, alive, stopping. systemd's `sd_notify`.

A datagram to the socket that NOTIFY_SOCKET names, and nothing where there is none: the protocol is
kept stable by promise and is shorter than any binding to it.
"""

import asyncio
import os
import socket
from contextlib import suppress
from typing import Final

__all__ = ["keep_notified", "notify"]

_MICROSECONDS: Final = 1_000_000


def notify(state: str) -> None:
    """Tell the service manager; one that does not listen just now is not waited for.

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
        with suppress(BlockingIOError):  # its queue is full: the loop must go on turning
            line.send(state.encode())


async def keep_notified() -> None:
    """Say that we are ready, and then that the loop turns, twice in each span that we are given.

    A service whose loop stands still for longer is killed and started again.
    """
    notify("READY=1")
    span = int(os.environ.get("WATCHDOG_USEC", "0")) / _MICROSECONDS
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        span = 0
    while span:
        notify("WATCHDOG=1")
        await asyncio.sleep(span / 2)
