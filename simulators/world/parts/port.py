"""A fake serial port: a pseudo-terminal's guarantees, in no time.

Bytes that are sent while nobody has the other end open are lost. Pulling the plug takes the line
and all unread bytes. Held bytes come in one burst. Another program may have the port, or take bytes
away.
"""

from collections.abc import Callable
from typing import Final

from events.errors import LinkError

__all__ = ["WorldPort"]

_STOLEN: Final = 3  # bytes that a second reader takes at a time


class WorldPort:
    """Both ends of the line: the shoe's, and the one that the driver opens.

    Attributes:
        unheard: bytes sent without a reader since the plug was pulled.
        occupied: another program has the reader's end.
        steals: a second reader takes bytes of whatever comes.
    """

    def __init__(self) -> None:
        self.unheard = b""
        self.occupied = False
        self.steals = False
        self._terminal = 0  # the line that is plugged in; 0 for none
        self._terminals = 0
        self._opened = 0  # the line that the reader has open
        self._arrived: Callable[[], None] = lambda: None
        self._held: bytes | None = None
        self._coming = bytearray()
        self._going = b""

    # ---- the shoe's end ----

    @property
    def reader_is_there(self) -> bool:
        """Whether the driver has the other end open."""
        return self._terminal != 0 and self._opened == self._terminal

    def plug_in(self) -> None:
        """Offer a fresh line."""
        self.unplug()
        self._terminals += 1
        self._terminal = self._terminals

    def unplug(self) -> None:
        """Pull the plug: the reader loses the line and what it has not taken."""
        self._terminal = 0
        self.unheard = self._going = b""
        self.steals = self.occupied = False
        self._coming.clear()
        self._arrived()

    def hold(self) -> None:
        """Hold the line: bytes sent from now on wait."""
        self._held = self._held or b""

    def pass_on(self, share: float, *, whole_lines: bool) -> None:
        """Deliver the first part of what waits; the rest waits on.

        Args:
            share: of the bytes.
            whole_lines: up to the end of a line.
        """
        held = self._held or b""
        count = int(len(held) * share)
        if whole_lines:
            count = max(held.rfind(end, 0, count) for end in (b"\r", b"\n")) + 1
        self._held = None
        self.write(held[:count])
        self._held = held[count:]

    def release(self) -> None:
        """Deliver everything that waits, all at once."""
        held, self._held = self._held, None
        self.write(held or b"")

    def write(self, data: bytes) -> None:
        """Send `data`."""
        if self._held is not None:
            self._held += data
        elif not self.reader_is_there:
            self.unheard += data
        else:
            self._coming += data[_STOLEN:] if self.steals else data
            self._arrived()

    @property
    def answered(self) -> bool:
        """Whether the driver has written something."""
        return bool(self._going)

    def received(self) -> bytes:
        """Return the bytes that the driver has written to the shoe."""
        taken, self._going = self._going, b""
        return taken

    # ---- the driver's end ----

    def open(self, arrived: Callable[[], None] = lambda: None) -> None:
        """Open the reader's end.

        Args:
            arrived: called when bytes have come, or the line is lost.

        Raises:
            LinkError: there is none, or another program has it.
        """
        if not self._terminal or self.occupied:
            raise LinkError("in use by another program" if self.occupied else "not there")
        self._opened, self._arrived = self._terminal, arrived
        self._coming.clear()

    def close(self) -> None:
        """Close the reader's end."""
        self._opened, self._arrived = 0, lambda: None
        self._coming.clear()

    @property
    def readable(self) -> bool:
        """Whether a read would return bytes or report the lost line."""
        return bool(self._coming) or self._opened != self._terminal

    def read(self, most: int) -> bytes:
        """Return the bytes that have come, at most so many.

        Raises:
            LinkError: the line is lost.
        """
        if not self.reader_is_there:
            raise LinkError("the line is gone")
        taken = bytes(self._coming[:most])
        del self._coming[:most]
        if self._coming:
            self._arrived()
        return taken

    def say(self, data: bytes) -> None:
        """Write to the shoe."""
        if self.reader_is_there:
            self._going += data
