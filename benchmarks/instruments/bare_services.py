"""The floor of a table's four services: as many processes with their libraries alone.

Each is woken as often as its service is at a live pace. It reads a message of a heartbeat's size,
answers with the same, and forces every tenth to the disk. `python -m` this module is one of them.
"""

import asyncio
import importlib
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from socket import socket, socketpair
from typing import Final, NamedTuple, Self

from benchmarks.instruments.processes import processor_s
from benchmarks.rows import Unmeasurable

__all__ = ["BareServices"]


class _Bare(NamedTuple):
    """What a service cannot do without.

    Args:
        wake_ups: how often it is woken a second.
        libraries: what it imports, besides those of all services.
    """

    wake_ups: float
    libraries: tuple[str, ...]


_COMMON: Final = ("click", "aiomqtt", "msgspec", "events.structured_log")
# Counted at a live pace: half of the wake-ups are messages, the others timers.
_SERVICES: Final = (
    _Bare(11, ("serial",)),
    _Bare(11, ("sqlite3", "cryptography.hazmat.primitives.asymmetric.ed25519")),
    _Bare(4, ("starlette.applications", "uvicorn", "jinja2", "argon2")),
    _Bare(9, ("sqlalchemy.dialects.sqlite",)),
)
_FORCED_EVERY: Final = 10
_MESSAGE: Final = bytes(100)
_READ_SIZE: Final = 4096


class BareServices:
    """The four processes; as a context manager they end with it.

    Args:
        folder: on the measured disk, for what they force to it.

    Attributes:
        pids: theirs.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / "bare"
        self._stack = ExitStack()
        self._lines: list[socket] = []
        self.pids: list[int] = []

    def __enter__(self) -> Self:
        with self._stack:
            for service in _SERVICES:
                ours, theirs = socketpair()
                self._stack.enter_context(ours)
                with theirs, self._file.open("ab") as file:
                    child = subprocess.Popen(  # noqa: S603 - our interpreter
                        [sys.executable, "-m", __name__, *_COMMON, *service.libraries],
                        stdin=theirs.fileno(),
                        stdout=file,
                    )
                self._stack.callback(child.wait)
                self._stack.callback(child.kill)
                self._lines.append(ours)
                self.pids.append(child.pid)
            for line in self._lines:
                if not line.recv(_READ_SIZE):  # else it is ready
                    raise Unmeasurable("a bare service did not start")
                line.setblocking(False)
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    async def processor(self, seconds: float) -> float:
        """Wake them for some seconds; return what they use together, % of a core.

        Raises:
            Unmeasurable: one of them has ended.
        """
        loop = asyncio.get_running_loop()

        async def wake(line: socket, often: float) -> None:
            while True:
                await loop.sock_sendall(line, _MESSAGE)
                await asyncio.sleep(1 / often)
                if not await loop.sock_recv(line, _READ_SIZE):
                    return

        before, begun = sum(map(processor_s, self.pids)), loop.time()
        pairs = zip(self._lines, _SERVICES, strict=True)
        waking = [asyncio.create_task(wake(line, each.wake_ups)) for line, each in pairs]
        ended, _ = await asyncio.wait(waking, timeout=seconds)
        used, took = sum(map(processor_s, self.pids)) - before, loop.time() - begun
        for task in waking:
            task.cancel()
        await asyncio.wait(waking)
        if ended:
            raise Unmeasurable("a bare service has ended") from ended.pop().exception()
        return 100 * used / took


async def _serve() -> None:
    """Read, answer, and force every tenth message to the disk, until the bench has gone."""
    line, file = sys.stdin.fileno(), sys.stdout.fileno()
    gone, heard = asyncio.Event(), 0

    def woken() -> None:
        nonlocal heard
        data = os.read(line, _READ_SIZE)
        if not data:
            gone.set()
            return
        heard += 1
        if heard % _FORCED_EVERY == 0:
            os.write(file, data)
            os.fdatasync(file)
        os.write(line, data)

    asyncio.get_running_loop().add_reader(line, woken)
    os.write(line, _MESSAGE)
    await gone.wait()


if __name__ == "__main__":
    for name in sys.argv[1:]:
        importlib.import_module(name)
    asyncio.run(_serve())
