"""The driver as a process of its own, on any transport, with its log to be read."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from tests.support.brokers.peers import at_work
from tests.support.machine.processes import environment
from tests.support.machine.waiting import until
from tests.support.shoe.shoe_line import Core

_CHILD = """
import asyncio, os, signal, sys
from pathlib import Path
from baccarat.services.registry import configure_logging
from tests.support.shoe.shoe_line import driver
port, url, journals, profile, step, count = sys.argv[1:]
left = int(count)
def probe(name):
    global left
    left -= name == step
    if left == 0 and name == step:
        os.kill(os.getpid(), signal.SIGKILL)
configure_logging("shoe")
service = driver(int(port), url, Path(journals), profile=profile, probe=probe)
asyncio.run(service.run(asyncio.Event()))
"""


class DriverProcess:
    """One that runs.

    Args:
        process: it.
        log: the file that it logs to.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self.process = process
        self._log = log

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def lines(self) -> list[dict[str, Any]]:
        """What it has logged, the broker's connection left out."""
        found = [json.loads(line) for line in self._log.read_text("utf-8").splitlines()]
        return [line for line in found if not line["event"].startswith("bus_")]

    def said(self, event: str) -> list[dict[str, Any]]:
        """Its lines about one kind of thing."""
        return [line for line in self.lines if line["event"] == event]


@contextmanager
def driver_process(
    broker: int,
    url: str,
    journals: Path,
    *,
    profile: str = "enq-bcc",
    step: str = "never",
    count: int = 1,
) -> Iterator[DriverProcess]:
    """A driver at work, killed at its `count`-th `step`, or at the end."""
    log = journals.with_suffix(".log")
    words = [str(broker), url, str(journals), profile, step, str(count)]
    command = [sys.executable, "-c", _CHILD, *words]
    with log.open("ab") as output:
        process = subprocess.Popen(command, env=environment(), stderr=output)
    try:
        yield DriverProcess(process, log)
    finally:
        process.kill()
        process.wait()


@asynccontextmanager
async def table_apart(
    broker: int, url: str, journals: Path, *, profile: str = "enq-bcc"
) -> AsyncIterator[tuple[Core, DriverProcess]]:
    """A core, and a driver as a process of its own, whose port is open."""
    core = Core(broker)
    async with at_work(core.peer):
        with driver_process(broker, url, journals, profile=profile) as process:
            await until(lambda: core.state() == "open", "the port is open")
            yield core, process
