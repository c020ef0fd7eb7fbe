"""A port that replays a capture or a journal in place of a shoe, once, from beginning to end.

A journal's bytes come at the intervals of its times, a bare capture's at the line's baud rate.
`speed` multiplies both, and 0 is all at once. The end of the file is the end of the link, for good:
opened again, the port would deal the same cards again.
"""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from events.errors import LogRefused
from shoe_driver.journal.files import read_records
from shoe_driver.journal.records import MAGIC, RecordKind
from shoe_driver.transports.endpoint import Endpoint
from shoe_driver.transports.port_errors import LinkEnded, PortError

__all__ = ["ReplayPort"]

_READ_SIZE: Final = 4096
_BITS_PER_BYTE: Final = 10  # 8N1: start, eight data bits, stop
_CHUNKS_A_SECOND: Final = 100  # a bare capture comes in chunks of some 10 ms
_AGAIN: Final = "it is not played again; a replay needs an empty journal folder"


class ReplayPort:
    """See `Port`. Plays while it is open; needs a running loop.

    Args:
        endpoint: the file, and the speed.

    Raises:
        PortError: there is no such file.
    """

    settle_s = 0.0

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._path = Path(endpoint.path)
        self._played = 0
        self._trouble = ""
        try:
            with self._path.open("rb") as file:
                self._is_journal = file.read(len(MAGIC)) == MAGIC
        except OSError as error:
            reason = f"file {self._path}: {error.strerror}"
            raise PortError(reason, "name a capture or a journal") from error
        self._out, self._in = socket.socketpair()
        for end in (self._out, self._in):
            end.setblocking(False)
        self._playing = asyncio.get_running_loop().create_task(self._play())

    def fileno(self) -> int:
        """See `Port.fileno`."""
        return self._out.fileno()

    def read(self) -> bytes:
        """See `Port.read`."""
        try:
            data = self._out.recv(_READ_SIZE)
        except BlockingIOError:
            return b""
        if not data:
            what = self._trouble or f"the capture has ended, {self._played} bytes"
            raise LinkEnded(f"file {self._path}: {what}", _AGAIN)
        return data

    def write(self, data: bytes) -> None:
        """See `Port.write`. Discards the data: a file has no device."""

    def close(self) -> None:
        """See `Port.close`."""
        self._playing.cancel()
        self._out.close()
        self._in.close()

    async def _play(self) -> None:
        loop = asyncio.get_running_loop()
        began, speed = loop.time(), self._endpoint.speed
        try:
            for at_s, data in self._pieces():
                if speed and (wait := began + at_s / speed - loop.time()) > 0:
                    await asyncio.sleep(wait)
                await loop.sock_sendall(self._in, data)
                self._played += len(data)
        except (OSError, LogRefused) as error:
            self._trouble = str(error)
        self._in.shutdown(socket.SHUT_WR)

    def _pieces(self) -> Iterator[tuple[float, bytes]]:
        """Yield seconds since the first bytes, and bytes."""
        return self._of_journal() if self._is_journal else self._of_capture()

    def _of_journal(self) -> Iterator[tuple[float, bytes]]:
        at_us, before_us = 0, None
        for record in read_records(self._path):
            if record.kind is RecordKind.DATA:
                # The clock restarts with the machine; then the interval is unknown.
                at_us += max(0, record.mono_us - (before_us or record.mono_us))
                before_us = record.mono_us
                yield at_us / 1_000_000, record.payload

    def _of_capture(self) -> Iterator[tuple[float, bytes]]:
        baud = self._endpoint.baud
        size = max(1, baud // _BITS_PER_BYTE // _CHUNKS_A_SECOND)
        done = 0
        with self._path.open("rb") as file:
            while data := file.read(size if self._endpoint.speed else _READ_SIZE):
                done += len(data)
                yield done * _BITS_PER_BYTE / baud, data
