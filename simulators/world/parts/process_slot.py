"""A slot for a service's process: restarts it after its death, and connects it to the bus."""

from collections.abc import Callable
from random import Random
from typing import Final, Protocol

from simulators.world.parts.broker import FakeClient
from simulators.world.parts.clock import MICROSECONDS, WorldClock

__all__ = ["Actor", "ProcessSlot", "ServiceProcess"]

_START_AGAIN_US: Final = (10_000, 300_000, 2 * MICROSECONDS)
_CONNECT_AGAIN_US: Final = (20_000, 60_000, 400_000)


class Actor(Protocol):
    """Something that acts in the world."""

    @property
    def wakes_us(self) -> int:
        """The moment of its next action by itself, microseconds."""
        ...

    def work(self) -> bool:
        """Do one thing, if there is one to do now; return whether there was."""
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
        if process.client.connected:
            return process.wakes_us
        return min(process.wakes_us, self._connects_us)

    def work(self) -> bool:
        """Start, connect, notice a lost connection, or let the process do one thing."""
        process = self.process
        if process is not None and process.client.connected:
            return process.work()
        if process is None:
            if self._clock.now_us < self._starts_us:
                return False
            self.lives += 1
            self._was_connected = False
            self._connects_us = self._clock.now_us
            self.process = self._make()
        elif self._was_connected:
            self._was_connected = False
            self._connects_us = self._clock.now_us + self._rng.choice(_CONNECT_AGAIN_US)
            process.disconnected()
        elif self._clock.now_us >= self._connects_us:
            self._was_connected = True
            process.connect()
        else:
            return process.work()
        return True

    def kill(self) -> None:
        """Kill the process now; another starts a little later."""
        self._starts_us = self._clock.now_us + self._rng.choice(_START_AGAIN_US)
        process, self.process = self.process, None
        if process is not None:
            process.die()
