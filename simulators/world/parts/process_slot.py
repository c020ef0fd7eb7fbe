"""A slot for a service's process: restarts it after its death, and connects it to the bus."""

from collections.abc import Callable
from random import Random
from typing import Final, Protocol

from simulators.world.parts.broker import FakeClient
from simulators.world.parts.clock import MICROSECONDS, WorldClock
from simulators.world.parts.waiting import FOREVER_US

__all__ = ["Actor", "ProcessSlot", "ServiceProcess"]

_START_AGAIN_US: Final = (10_000, 300_000, 2 * MICROSECONDS)
_CONNECT_AGAIN_US: Final = (20_000, 60_000, 400_000)


class Actor(Protocol):
    """Something that acts in the world."""

    @property
    def busy(self) -> bool:
        """Whether there is something to do now."""
        ...

    @property
    def wakes_us(self) -> int:
        """The moment of its next action by itself, microseconds."""
        ...

    def work(self) -> None:
        """Do one thing."""
        ...


class ServiceProcess(Actor, Protocol):
    """One life of a service."""

    client: FakeClient

    def connect(self) -> None:
        """Note that the broker is connected."""
        ...

    def disconnected(self) -> None:
        """Note that the broker is not connected."""
        ...

    def die(self) -> None:
        """End the process."""
        ...


class ProcessSlot:
    """Runs one service again and again.

    Args:
        name: the service's.
        make: starts it.
        clock: the world's.
        rng: decides the delays of a restart and of a reconnection.

    Attributes:
        process: the living one; None between two lives.
        lives: how many there were.
    """

    def __init__(
        self, name: str, make: Callable[[], ServiceProcess], clock: WorldClock, rng: Random
    ) -> None:
        self.name = name
        self.process: ServiceProcess | None = None
        self.lives = 0
        self._make = make
        self._clock, self._rng = clock, rng
        self._starts_us = 0
        self._connects_us = 0
        self._was_connected = False

    @property
    def wakes_us(self) -> int:
        """The moment of its next action by itself, microseconds."""
        process = self.process
        if process is None:
            return self._starts_us
        connects_us = FOREVER_US if process.client.connected else self._connects_us
        return min(process.wakes_us, connects_us)

    @property
    def busy(self) -> bool:
        """Whether there is something to do now."""
        process = self.process
        if process is None:
            return self._clock.now_us >= self._starts_us
        if process.client.connected:
            return process.busy
        return self._was_connected or self._clock.now_us >= self._connects_us or process.busy

    def work(self) -> None:
        """Start, connect, notice a lost connection, or let the process do one thing."""
        process = self.process
        if process is None:
            self.lives += 1
            self._was_connected = False
            self._connects_us = self._clock.now_us
            self.process = self._make()
        elif not process.client.connected and self._was_connected:
            self._was_connected = False
            self._connects_us = self._clock.now_us + self._rng.choice(_CONNECT_AGAIN_US)
            process.disconnected()
        elif not process.client.connected and self._clock.now_us >= self._connects_us:
            self._was_connected = True
            process.connect()
        else:
            process.work()

    def kill(self) -> None:
        """Kill the process now; another starts a little later."""
        self._starts_us = self._clock.now_us + self._rng.choice(_START_AGAIN_US)
        process, self.process = self.process, None
        if process is not None:
            process.die()
