"""The port reader: read and stamp bytes as they come, even while the disk waits."""

import asyncio
import select
from collections.abc import Callable
from typing import Final

from events.clock import Clock
from events.errors import LinkError
from shoe_driver.journal.records import Record, RecordKind
from shoe_driver.transports.port import Port

__all__ = ["PortReader"]

# Most reads in memory; beyond them the kernel's buffer must hold the rest.
_READS: Final = 256


class PortReader:
    """The bytes of one open port.

    Args:
        port: open; the caller closes it.
        clock: stamps reads.
        arrived: called whenever bytes have come, or the link is lost.
    """

    def __init__(self, port: Port, clock: Clock, arrived: Callable[[], None]) -> None:
        self._lost: LinkError | None = None
        self._port = port
        self._clock = clock
        self._arrived = arrived
        self._loop = asyncio.get_running_loop()
        self._records: list[Record] = []
        self._reading = False
        self._resume()

    @property
    def waiting(self) -> bool:
        """Whether bytes wait that were not taken, here or in the kernel."""
        if self._records or self._lost is not None:
            return True
        poll = select.poll()
        poll.register(self._port.fileno(), select.POLLIN)
        return bool(poll.poll(0))

    def take(self) -> list[Record]:
        """Return what has come since the last time.

        Raises:
            LinkError: the link is lost, and everything that came before was taken.
        """
        records, self._records = self._records, []
        if not records and self._lost is not None:
            raise self._lost
        self._resume()
        return records

    def close(self) -> None:
        """Stop reading. Call it while the port is still open."""
        self._suspend()

    def _ready(self) -> None:
        try:
            data = self._port.read()
        except LinkError as error:
            self._lost = error
            self._suspend()
        else:
            if data:
                now, utc = self._clock.mono_us(), self._clock.utc_ns()
                self._records.append(Record(RecordKind.DATA, now, utc, data))
            if len(self._records) >= _READS:
                self._suspend()
        self._arrived()

    def _resume(self) -> None:
        if not self._reading and self._lost is None:
            self._loop.add_reader(self._port.fileno(), self._ready)
            self._reading = True

    def _suspend(self) -> None:
        if self._reading:
            self._loop.remove_reader(self._port.fileno())
            self._reading = False
