"""The measurer's end of the watcher's reports."""

import asyncio
import socket
import sys
from pathlib import Path
from typing import Final, Generic, Self, TypeVar

import msgspec

from baccarat.processes.children import Child
from benchmarks.instruments.watcher import READY
from events.errors import TableError
from events.types import PublishedEnvelope

__all__ = ["PATIENCE_S", "NotSeenInTime", "SightingReceiver", "Sightings", "start_watcher"]

# The longest wait for any measured event before the run is given up.
PATIENCE_S: Final = 30.0
_HOST: Final = "127.0.0.1"
_DATAGRAM: Final = 65_536

_At = TypeVar("_At", int, float)


class NotSeenInTime(TableError):  # noqa: N818 - named for what happened
    """An expected event has not come in time."""


class Sightings(Generic[_At]):
    """Stores the first sighting of each thing, and wakes callers that wait for one.

    Args:
        unseen: the message for something not seen in time, such as "nobody has seen".
    """

    def __init__(self, unseen: str) -> None:
        self._unseen = unseen
        self._seen: dict[str, _At] = {}
        self._news = asyncio.Event()

    def note(self, what: str, at: _At) -> None:
        """Note a sighting."""
        self._seen.setdefault(what, at)
        self._news.set()

    def forget(self) -> None:
        """Forget all sightings until now, because the same words may come again."""
        self._seen.clear()

    async def at(self, what: str) -> _At:
        """Return when it was seen; a second call waits for a new sighting.

        Raises:
            Unseen: it was not seen in time.
        """
        try:
            async with asyncio.timeout(PATIENCE_S):
                while what not in self._seen:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError as error:
            raise NotSeenInTime(f"{self._unseen} {what} within {PATIENCE_S:g} s") from error
        return self._seen.pop(what)


class SightingReceiver:
    """Receives the reports; as a context manager it closes its port at the end.

    Args:
        settlements: the topic whose messages are identified by their coup; others by their payload.
    """

    def __init__(self, settlements: str) -> None:
        self._settlements = settlements
        self._decoder = msgspec.json.Decoder(PublishedEnvelope)
        self._seen = Sightings[int]("the watcher has not seen")
        self._line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._line.bind((_HOST, 0))
        self._line.setblocking(False)
        asyncio.get_running_loop().add_reader(self._line, self._take)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self._line)
        self._line.close()

    @property
    def port(self) -> int:
        """The port for reports."""
        port: int = self._line.getsockname()[1]
        return port

    async def ready(self, *roles: str) -> None:
        """Wait until these processes are up.

        Raises:
            Unseen: one of them is not.
        """
        for role in roles:
            await self.at(f"{READY} {role}")

    async def at(self, what: str) -> int:
        """Wait for a sighting: of a coup's settlement by the coup's id, else of the payload.

        Returns:
            `time.monotonic_ns()` when the watcher received it.

        Raises:
            Unseen: it was not seen in time.
        """
        return await self._seen.at(what)

    def _take(self) -> None:
        report = self._line.recv(_DATAGRAM)
        head, _, payload = report.partition(b"\n")
        stamp, _, topic = head.partition(b" ")
        self._seen.note(self._name(topic.decode(), payload), int(stamp))

    def _name(self, topic: str, payload: bytes) -> str:
        if topic == self._settlements:
            return self._decoder.decode(payload).correlation
        return f"{READY} {payload.decode()}" if topic == READY else payload.decode()


def start_watcher(folder: Path, broker: int, measurer: int, *topics: str) -> Child:
    """Start the process that watches topics on the broker's port and reports to the measurer's."""
    words = [str(broker), str(measurer), *topics]
    command = [sys.executable, "-m", "benchmarks.instruments.watcher", *words]
    return Child.start(command, name="watcher", output=folder / "watcher.log")
