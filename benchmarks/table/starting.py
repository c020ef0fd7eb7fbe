"""Measure from exec to ready: the table's service, on an empty log and on a long one.

Product: `baccarat run CONFIG --only table --patient` starts as under a service manager, until it
sends READY=1 to the socket that NOTIFY_SOCKET names. By then its log is open, checked from its
newest snapshot anchor on, and folded. Floor: a Python that imports the same modules and sends the
same. They take turns, both through the little program that ties a child to its parent.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter
from typing import Final, Self

from baccarat.local_brokers.nats import LOOPBACK, EmbeddedBroker
from baccarat.processes.children import Child
from benchmarks.instruments.figures import Figure, percentiles, side_by_side
from benchmarks.rows import BenchOptions
from benchmarks.table.opening import EVENTS, make_log
from events.errors import TableError
from events.log.store import EventLog

__all__ = ["ADDED_MOST_MS", "RATIO_MOST", "NotReady", "measure"]

RATIO_MOST: Final = 1.3
ADDED_MOST_MS: Final = 300.0
_SAMPLES: Final = 20
_PATIENCE_S: Final = 60.0
_POLL_S: Final = 1.0
_DATAGRAM: Final = 4_096
_MS: Final = 1_000
_ORIGIN: Final = "bench/t1"
_LOG: Final = "table.sqlite"
_READY: Final = b"READY=1"
_CONFIG: Final = """\
site = "bench"
table = "t1"
rulebook = "au-commission"

[shoe]
url = "pty:{folder}/shoe*"
profile = "enq-bcc"

[bus]
host = "{host}"
port = {port}
"""
_FLOOR: Final = """\
import {modules}
from baccarat.site.notify import notify
notify("READY=1")
"""
# The modules that the command imports, and then the service.
_MODULES: Final = """\
import sys
from baccarat.cli.main import main
from baccarat.cli import run
from baccarat.services.registry import service_of
service_of("table")
modules = {name: each for name, each in sys.modules.items() if name != "__main__"}
print(",".join(name for name, each in modules.items() if getattr(each, "__spec__", None)))
"""


class NotReady(TableError):  # noqa: N818 - named for what happened
    """A started process has not reported that it is ready."""


def measure(options: BenchOptions) -> list[Figure]:
    """Measure the row `start`.

    Raises:
        NotReady: product or floor does not come up.
    """
    events, samples = options.events or EVENTS, min(options.samples, _SAMPLES)
    with ExitStack() as stack:
        folder = stack.enter_context(options.folder())
        long, empty = _table(folder / "long"), _table(folder / "empty")
        with options.progress("events", events) as advance:
            make_log(long / _LOG, events, advance)
        EventLog.open(empty / _LOG, _ORIGIN).close()
        broker = stack.enter_context(EmbeddedBroker.start(folder / "broker"))
        line = stack.enter_context(_Line(folder / "notify"))
        modules = _modules()
        floor = [sys.executable, "-c", _FLOOR.format(modules=modules)]
        took: dict[str, list[float]] = {"start_empty": [], "start_long": [], "floor": []}
        commands: dict[str, Sequence[str]] = {"floor": floor}
        for name, table in (("start_empty", empty), ("start_long", long)):
            config = table / "table.toml"
            config.write_text(_CONFIG.format(folder=table, host=LOOPBACK, port=broker.port))
            commands[name] = [
                sys.executable, "-m", "baccarat", "run", str(config), "--only", "table", "--patient"
            ]  # fmt: skip
        for command in commands.values():
            line.ready_ms(command, folder / "output")  # files read once are then in the cache
        with options.progress("starts", samples) as advance:
            for done in range(1, samples + 1):
                for name, command in commands.items():
                    took[name].append(line.ready_ms(command, folder / "output"))
                advance(done)
    return [
        _figure(name, took[name], took["floor"], events if name == "start_long" else 0)
        for name in ("start_empty", "start_long")
    ]


class _Line:
    """The socket for readiness; as a context manager it is removed at the end."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(place))
        self._socket.settimeout(_POLL_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ready_ms(self, command: Sequence[str], output: Path) -> float:
        """Start a command and stop it once ready; return milliseconds from exec to ready."""
        env = {"NOTIFY_SOCKET": str(self._place)}
        began = perf_counter()
        with Child.start(command, name="start", output=output, env=env) as child:
            while not self._is_ready():
                if child.code is not None or perf_counter() - began > _PATIENCE_S:
                    said = output.read_text(errors="replace").strip().rpartition("\n")[2]
                    raise NotReady(f"{command[1]} {command[2]:.20} is not ready: {said}")
            return (perf_counter() - began) * _MS

    def _is_ready(self) -> bool:
        """Return whether the next message is READY=1; the previous process may send others."""
        try:
            return self._socket.recv(_DATAGRAM) == _READY
        except TimeoutError:
            return False


def _table(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _modules() -> str:
    """Return the modules that the service's process imports, in their order."""
    run = subprocess.run(  # noqa: S603 - our own words
        [sys.executable, "-c", _MODULES], capture_output=True, check=True, text=True
    )
    return run.stdout.strip()


def _figure(name: str, product: list[float], floor: list[float], events: int) -> Figure:
    p50, p99 = percentiles(product)
    floor_p50, floor_p99 = percentiles(floor)
    return Figure(
        **side_by_side((p50, p99), (floor_p50, floor_p99), digits=1),
        name=name,
        unit="ms",
        samples=len(product),
        goal=f"p50 <= {RATIO_MOST:g} times the floor's, plus {ADDED_MOST_MS:g} ms",
        met=p50 <= RATIO_MOST * floor_p50 + ADDED_MOST_MS,
        detail={
            "events": float(events),
            "added_ms": round(p50 - floor_p50, 1),
            "load": round(os.getloadavg()[0], 2),
        },
    )
