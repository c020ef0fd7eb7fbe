"""A shoe's serial port made of a pseudo-terminal, under a path that stays the same.

It imitates three properties of a real line. Bytes sent while nobody has the port open are lost (the
kernel would keep them for the next reader). A line has a speed (a pseudo-terminal has none, so the
pace is made here). Pulling the plug closes both ends: replacing the link alone would leave the
reader with a live terminal.
"""

import asyncio
import contextlib
import fcntl
import os
import select
import struct
import termios
import time
import tty
from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec import Struct

from events.errors import LinkError

__all__ = ["BYTE_WISE", "INSTANT", "SERIAL_4800", "Pace", "PtyPort"]

_BITS_PER_BYTE: Final = 10  # 8N1: start, eight data bits, stop
_WRITABLE_LIMIT_S: Final = 1.0  # a reader that takes nothing for so long overruns, as a UART would
_POLL_S: Final = 0.005  # how often `reader` and `drain` poll; the kernel has no event
_EMPTY_POLLS: Final = 3  # the kernel delivers bytes in the background: believe the third empty poll
_TIOCGPTPEER: Final = 0x5441  # Linux: open the slave of this master, whatever its path
_READ_SIZE: Final = 4096
_STOLEN: Final = 3  # bytes that a second reader takes at a time


class Pace(Struct, frozen=True, kw_only=True):
    """The speed of sending.

    Args:
        chunk: bytes handed over at a time; 0 is all of them.
        seconds_per_byte: the line's time for one byte.
    """

    chunk: int = 0
    seconds_per_byte: float = 0.0

    @staticmethod
    def at_baud(baud: int) -> "Pace":
        """Return the pace of a serial line of `baud` bits a second, 8N1, a byte at a time."""
        return Pace(chunk=1, seconds_per_byte=_BITS_PER_BYTE / baud)


INSTANT: Final = Pace()
SERIAL_4800: Final = Pace.at_baud(4800)
BYTE_WISE: Final = Pace(chunk=1, seconds_per_byte=0.001)
"""Slow enough for a reader to take every byte by itself."""


class PtyPort:
    """The shoe's end of the line.

    Args:
        link: the path of the reader's end; replaced at every `plug_in`.
        pace: the speed of sending.

    Attributes:
        lost_bytes: bytes sent while nobody had the other end open.
        unheard: the newest of them, since the plug was pulled.
    """

    def __init__(self, link: Path, *, pace: Pace = INSTANT) -> None:
        self.link = link
        self.lost_bytes = 0
        self.unheard = b""
        self._pace = pace
        self._writing = asyncio.Lock()
        self._held: bytes | None = None
        self._other: int | None = None  # another program's descriptor of the reader's end
        self._steals = False
        self._master: int | None = None
        self._terminal = ""

    @property
    def plugged_in(self) -> bool:
        """Whether there is a terminal behind the link."""
        return self._master is not None

    @property
    def reader_is_there(self) -> bool:
        """Whether a program has the other end open."""
        return self._master is not None and not _poll(self._master) & select.POLLHUP

    def plug_in(self, link: Path | None = None) -> None:
        """Offer a fresh terminal, raw and without echo, under the link.

        Args:
            link: another path for it, from now on.

        Raises:
            LinkError: the path cannot be written, or is in use by something other than a link.
        """
        self.unplug()
        self.unheard = b""
        self.link = link or self.link
        if self.link.exists() and not self.link.is_symlink():
            raise LinkError(f"{self.link}: exists and is no link; name a path that is free")
        master, slave = os.openpty()
        try:
            tty.setraw(slave)
            self._terminal = os.ttyname(slave)
            self._offer(self._terminal)
        except OSError as error:
            os.close(master)
            raise LinkError(f"{self.link}: cannot offer a terminal here: {error}") from error
        finally:
            os.close(slave)  # from here on the master sees whether a reader is there
        os.set_blocking(master, False)
        self._master = master

    def unplug(self) -> None:
        """Pull the plug: the reader loses the line and all unread bytes; the link is removed."""
        if self._master is None:
            return
        self.leave()
        os.close(self._master)
        self._master, self.unheard = None, b""
        if self.link.is_symlink() and str(self.link.readlink()) == self._terminal:
            self.link.unlink()

    def hold(self) -> None:
        """Hold the line: bytes sent from now on wait."""
        self._held = self._held or b""

    async def release(self) -> None:
        """Deliver everything that waits, all at once."""
        held, self._held = self._held, None
        if held:
            async with self._writing:
                await self._hand_over(held)

    def occupy(self) -> None:
        """Open the reader's end exclusively, as another program would.

        Raises:
            LinkError: it is taken, or there is no terminal.
        """
        try:
            self._other = os.open(self._terminal, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
            fcntl.flock(self._other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise LinkError(f"{self.link}: cannot be occupied: {error}") from error

    def steal(self) -> None:
        """Take a few bytes of whatever comes, as a second reader without exclusive access would."""
        if self._master is not None:
            self._other = os.open(self._terminal, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
            self._steals = True

    def leave(self) -> None:
        """Close the other program's or the second reader's end."""
        self._steals = False
        if self._other is not None:
            os.close(self._other)
            self._other = None

    async def write(self, data: bytes, *, pace: Pace | None = None) -> int:
        """Send `data`, whole and before anything that is sent later.

        Args:
            data: the bytes.
            pace: instead of the line's.

        Returns:
            `time.monotonic_ns()` just before the last byte was handed over.
        """
        async with self._writing:
            return await self._send(data, pace or self._pace)

    async def _send(self, data: bytes, pace: Pace) -> int:
        size = pace.chunk or len(data) or 1
        due = time.monotonic()
        handed_over = time.monotonic_ns()
        for start in range(0, len(data), size):
            chunk = data[start : start + size]
            due += pace.seconds_per_byte * len(chunk)
            if pace.seconds_per_byte:
                await asyncio.sleep(max(0.0, due - time.monotonic()))
            handed_over = await self._hand_over(chunk)
        return handed_over

    def received(self) -> bytes:
        """Return the bytes that the reader has written to the shoe: none, if it only receives."""
        taken = b""
        with contextlib.suppress(OSError):  # the reader may leave between poll and read
            while self._master is not None and _poll(self._master) & select.POLLIN:
                taken += os.read(self._master, _READ_SIZE)
        return taken

    async def reader(self, limit_s: float) -> bool:
        """Wait until a program has the other end open; return False after `limit_s` seconds."""
        return await self._until(lambda: self.reader_is_there, limit_s)

    async def drain(self, limit_s: float) -> bool:
        """Wait until the reader has taken everything.

        Returns:
            True when the line was seen empty. False after `limit_s` seconds, and at once where it
            cannot be
            seen: no reader, or one that has locked the line against us.
        """
        empty_looks = 0

        def seen_empty() -> bool:
            nonlocal empty_looks
            empty_looks = empty_looks + 1 if self._unread() == 0 else 0
            return empty_looks >= _EMPTY_POLLS

        if not self.reader_is_there or self._unread() is None:
            return False
        return await self._until(seen_empty, limit_s)

    def _offer(self, terminal: str) -> None:
        self.link.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.link.with_name(f".{self.link.name}.new")
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(terminal)
        fresh.replace(self.link)

    async def _hand_over(self, data: bytes) -> int:
        at = time.monotonic_ns()
        if self._held is not None:
            self._held += data
            return at
        while data:
            if self._master is None or not self.reader_is_there:
                self.lost_bytes += len(data)
                self.unheard += data
                return at
            at = time.monotonic_ns()
            try:
                data = data[os.write(self._master, data) :]
            except BlockingIOError:
                if not await self._writable():
                    self.lost_bytes += len(data)
                    return at
        if self._steals and self._other is not None:
            with contextlib.suppress(OSError):  # the reader was faster, and there is nothing
                os.read(self._other, _STOLEN)
        return at

    async def _writable(self) -> bool:
        return await self._until(self._has_room, _WRITABLE_LIMIT_S)

    def _has_room(self) -> bool:
        return self._master is None or bool(_poll(self._master) & (select.POLLOUT | select.POLLHUP))

    def _unread(self) -> int | None:
        # Bytes in the reader's input queue; None where the kernel does not show it.
        if self._master is None:
            return None
        try:
            peer = fcntl.ioctl(self._master, _TIOCGPTPEER, os.O_RDONLY | os.O_NOCTTY)
        except OSError:
            return None
        try:
            answer = fcntl.ioctl(peer, termios.FIONREAD, struct.pack("i", 0))
        finally:
            os.close(peer)
        return int(struct.unpack("i", answer)[0])

    async def _until(self, condition: Callable[[], bool], limit_s: float) -> bool:
        end = time.monotonic() + limit_s
        while not condition():
            if time.monotonic() >= end:
                return False
            await asyncio.sleep(_POLL_S)
        return True


def _poll(master: int) -> int:
    poll = select.poll()
    poll.register(master, select.POLLIN | select.POLLOUT)
    return dict(poll.poll(0)).get(master, 0)
