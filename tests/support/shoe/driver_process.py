"""The driver as a process of its own, on any transport, with its log to be read."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.machine.processes import environment

__all__ = ["DriverProcess", "driver_process"]

_CHILD = """
import asyncio, sys
from pathlib import Path
from baccarat.services.registry import configure_logging
from tests.support.shoe.shoe_line import driver
port, url, journals, profile = sys.argv[1:]
configure_logging("shoe")
asyncio.run(driver(int(port), url, Path(journals), profile=profile).run(asyncio.Event()))
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
    broker: int, url: str, journals: Path, *, profile: str = "enq-bcc"
) -> Iterator[DriverProcess]:
    """A driver at work, killed at the end."""
    log = journals.with_suffix(".log")
    command = [sys.executable, "-c", _CHILD, str(broker), url, str(journals), profile]
    with log.open("ab") as output:
        process = subprocess.Popen(command, env=environment(), stderr=output)
    try:
        yield DriverProcess(process, log)
    finally:
        process.kill()
        process.wait()
