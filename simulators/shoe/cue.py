"""Holds a dealing shoe before each card until somebody says so: a key, a button or a message."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from events.errors import InputError

__all__ = ["Cue", "key_cues", "message_cues"]

_LOOPBACK: Final = "127.0.0.1"


class Cue:
    """A word to go on; one that comes early is kept, and no more than one."""

    def __init__(self) -> None:
        self._given = asyncio.Event()

    def give(self) -> None:
        """Let the next card come."""
        self._given.set()

    async def wait(self) -> None:
        """Wait for the word."""
        await self._given.wait()
        self._given.clear()


@contextmanager
def key_cues(cue: Cue) -> Iterator[None]:
    """Give the word at each line of stdin, such as the Enter key; none where stdin is a file."""
    loop = asyncio.get_running_loop()

    def on_line() -> None:
        if sys.stdin.readline():
            cue.give()
        else:
            loop.remove_reader(sys.stdin)

    with suppress(PermissionError):  # a file, or /dev/null: nobody presses a key there
        loop.add_reader(sys.stdin, on_line)
    try:
        yield
    finally:
        loop.remove_reader(sys.stdin)


class _Messages(asyncio.DatagramProtocol):
    def __init__(self, cue: Cue) -> None:
        self._cue = cue

    def datagram_received(self, data: bytes, addr: object) -> None:  # noqa: ARG002 - asyncio's form
        self._cue.give()


async def message_cues(cue: Cue, port: int) -> asyncio.DatagramTransport:
    """Give the word at each datagram to a UDP port of this machine; close the returned transport.

    Raises:
        InputError: the port is taken.
    """
    loop = asyncio.get_running_loop()
    try:
        transport, _ = await loop.create_datagram_endpoint(
            lambda: _Messages(cue), local_addr=(_LOOPBACK, port)
        )
    except OSError as error:
        raise InputError(f"--wait udp:{port}: {error.strerror}; name a free port") from error
    return transport
