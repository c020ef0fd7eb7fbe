"""The driver's port: performs the effects of the driver's process on it."""

from collections.abc import Sequence

from events.clock import Clock
from events.errors import OurBug
from events.mqtt.process_shell import AtOnce, Waiting
from shoe_driver.journal.records import Record
from shoe_driver.process.effects import BytesWait, ClosePort, OpenPort, TakeRead, WritePort
from shoe_driver.service.port_reader import PortReader
from shoe_driver.transports.endpoint import Endpoint
from shoe_driver.transports.port import Port, open_port

__all__ = ["DriverPort"]


class DriverPort:
    """Performs effects on one port.

    Args:
        endpoint: where the shoe is connected.
        clock: stamps reads.

    Attributes:
        at_once: performs those that do not wait.
        waiting: performs those that wait.
    """

    def __init__(self, endpoint: Endpoint, clock: Clock) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._open: tuple[Port, PortReader] | None = None
        self.at_once: AtOnce = {
            BytesWait: lambda _: self._opened[1].waiting,
            ClosePort: lambda _: self.close(),
            TakeRead: self._take,
            WritePort: lambda effect: self._opened[0].write(effect.data),
        }
        self.waiting: Waiting = {OpenPort: self._open_port}

    def close(self) -> None:
        """Close it, if it is open."""
        if self._open:
            port, reader = self._open
            self._open = None
            reader.close()
            port.close()

    @property
    def _opened(self) -> tuple[Port, PortReader]:
        if self._open is None:
            raise OurBug("the port is not open")
        return self._open

    async def _open_port(self, effect: OpenPort) -> float:
        port = await open_port(self._endpoint, writes=effect.writes)
        self._open = port, PortReader(port, self._clock, effect.arrived.set)
        return port.settle_s

    def _take(self, _: TakeRead) -> Sequence[Record]:
        return self._opened[1].take()
