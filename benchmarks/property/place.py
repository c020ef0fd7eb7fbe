"""Run a whole property on this machine for the bench: a three-node hub, PostgreSQL, and services.

It runs the same programs as a site: `baccarat property hub` writes the hub's files, and the
services are `baccarat property run`, each a process of its own.

Write two hundred tables' logs for the bench: one real table's coups, copied under other names. The
events are those of the product's own table for shoes with seven wagers a coup
(`benchmarks.table.opening`). Each log has them under its own name, with its own positions, ids and
times.
"""

import asyncio
import hashlib
import json
import os
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep, time_ns
from typing import Final, NamedTuple, Self

from nats.js import JetStreamContext

from baccarat.config.property import load_property
from baccarat.free_port import free_port
from baccarat.local_brokers.nats import LOOPBACK, find_nats_server
from baccarat.processes.children import Child
from baccarat.site.hub_plan import HubPlan, NodeForm, write_hub
from baccarat.site.pki import Pki
from benchmarks.rows import Unmeasurable
from benchmarks.table.opening import make_log
from events.clock import rfc3339
from events.errors import BusError
from events.log.reader import reading
from events.log.store import EventLog
from events.proof.keys import make_signing_key
from events.types import Pending, decode_envelope
from property.hub.connection import StreamLimits, connect, ensure_streams

__all__ = [
    "NODES",
    "BenchProperty",
    "Costs",
    "LogFiller",
    "MeasuredProcess",
    "running_property",
    "server_costs",
    "template",
]

_ID: Final = b'{"event_id":"'
_COMMIT: Final = 500


def template(folder: Path, events: int) -> list[bytes]:
    """Return at least so many stored events, of a table that plays shoe after shoe."""
    path = folder / "template.sqlite"
    make_log(path, events, lambda _: None)
    with reading(path) as log:
        return [stored for _, stored, _ in log.bare()]


class LogFiller:
    """One table's log, open for writing.

    Args:
        path: of its log.
        origin: `<site>/<table>`.
        events: the template.
    """

    def __init__(self, path: Path, origin: str, events: Sequence[bytes]) -> None:
        self._origin = origin
        self._events = events
        self._log = EventLog.open(path, origin)

    @property
    def position(self) -> int:
        """The newest event's position."""
        return self._log.position

    def fill(self, count: int) -> None:
        """Append so many events in large commits: a past, written at once."""
        for first in range(0, count, _COMMIT):
            self.append(min(_COMMIT, count - first))

    def append(self, count: int = 1) -> float:
        """Append the next events in one commit; return `time.monotonic()` of its end."""
        base = self._log.position
        made = [self._pending(base + number) for number in range(1, count + 1)]
        self._log.append(base, made)
        return monotonic()

    def close(self) -> None:
        """Close the log."""
        self._log.close()

    def _pending(self, position: int) -> Pending:
        stored = self._events[(position - 1) % len(self._events)]
        told = decode_envelope(stored)
        digest = hashlib.sha256(f"{self._origin}/{position}".encode()).hexdigest()[:32]
        at = rfc3339(time_ns())
        head = b'%b%b","stream":"%b","position":%d,' % (
            _ID, digest.encode(), self._origin.encode(), position,
        )  # fmt: skip
        rest = stored[stored.index(b'"type":') :]
        rest = rest.replace(f'"at":"{told.at}"'.encode(), f'"at":"{at}"'.encode(), 1)
        rest = rest.replace(f'"actor":"{told.actor}"'.encode(), b'"actor":"core"', 1)
        return Pending(told.type, told.v, at, head + rest)


NODES: Final = 3
_READY_S: Final = 60.0
_POLL_S: Final = 0.1
_GIGABYTE: Final = 1024**3
_TICKS: Final = os.sysconf("SC_CLK_TCK")
# Positions of the fields in `_stat`.
_PARENT, _CPU, _CHILDREN_CPU, _RESIDENT = 1, 11, 13, 21
_COMMAND: Final = ("-m", "baccarat", "property", "run")


class Costs(NamedTuple):
    """The cost of a process so far: seconds of processor, and megabytes resident now."""

    cpu_s: float
    resident_mb: float


class MeasuredProcess(NamedTuple):
    """A running process and its name."""

    name: str
    child: Child

    def costs(self) -> Costs:
        """Return the costs so far."""
        return _costs(_stat(self.child.pid))


def server_costs(backend: int) -> Costs:
    """Return the costs of a PostgreSQL on this machine: all its processes, ended ones included.

    Args:
        backend: the process of any connection; its parent is the server's first.
    """
    first = int(_stat(backend)[_PARENT])
    found = [stat for pid in _pids() if (stat := _stat(pid)) and stat[_PARENT] == str(first)]
    fields = _stat(first)
    ended = (int(fields[_CHILDREN_CPU]) + int(fields[_CHILDREN_CPU + 1])) / _TICKS
    costs = [_costs(stat) for stat in (fields, *found)]
    return Costs(ended + sum(each.cpu_s for each in costs), sum(each.resident_mb for each in costs))


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]


def _stat(pid: int) -> list[str]:
    """Return the fields of `/proc/PID/stat` after the name; none of a process that has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _costs(stat: list[str]) -> Costs:
    cpu = (int(stat[_CPU]) + int(stat[_CPU + 1])) / _TICKS
    return Costs(cpu, int(stat[_RESIDENT]) * os.sysconf("SC_PAGE_SIZE") / 1_000_000)


class BenchProperty:
    """The property. Use `running_property`.

    Args:
        folder: for everything but the database.
        archive: the database's URL.
        tables: `<site>/<table>` of all; the last one has an uplink of its own, which starts later.
    """

    def __init__(self, folder: Path, archive: str, tables: Sequence[str]) -> None:
        self.folder = folder
        self.archive = archive
        self.tables = tuple(tables)
        self.page = free_port()
        self.processes: list[MeasuredProcess] = []
        self._stack = ExitStack()
        make_signing_key(folder / "witness.key", "bench/witness")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def log(self, table: str) -> Path:
        """Return the path of a table's log."""
        return self.folder / "logs" / table.partition("/")[2] / "table.sqlite"

    def hub_folders(self) -> list[Path]:
        """Return the folders of the nodes' streams."""
        return [self.folder / f"hub{number}" / "store" for number in range(1, NODES + 1)]

    def start_hub(self) -> None:
        """Start three nodes, in order and with streams.

        Raises:
            Unmeasurable: the hub does not come up.
        """
        forms = {folder.parent.name: _node(folder, self.folder) for folder in self.hub_folders()}
        pki = Pki(self.folder / "pki", datetime.now(UTC))
        pki.begin("bench")
        pki.issue("client")
        for name in forms:
            pki.issue(name, [LOOPBACK], client=True)
        write_hub(HubPlan(tables=self.tables, nodes=forms), self.folder)
        for name in forms:
            conf = self.folder / name / "nats-server.conf"
            self.start(name, [find_nats_server(), "-c", str(conf)])
        for form in forms.values():
            _await_ready(form.monitor)
        self._configs([form.clients for form in forms.values()])
        asyncio.run(self._streams())

    def service(self, name: str, only: str, config: str = "property") -> MeasuredProcess:
        """Start `property run CONFIG --only ...`."""
        path = str(self.folder / f"{config}.toml")
        return self.start(name, [sys.executable, *_COMMAND, path, "--only", only])

    def start(self, name: str, command: Sequence[str | Path]) -> MeasuredProcess:
        """Start any command; it ends with the place."""
        output = self.folder / f"{name}.log"
        child = self._stack.enter_context(Child.start(command, name=name, output=output))
        process = MeasuredProcess(name, child)
        self.processes.append(process)
        return process

    def _configs(self, ports: Sequence[int]) -> None:
        servers = json.dumps([f"tls://{LOOPBACK}:{port}" for port in ports])
        head = (
            f'[hub]\nservers = {servers}\nca = "pki/ca.pem"\ncert = "pki/client.pem"\n'
            'key = "pki/client.key"\n'
        )
        *most, late = self.tables
        rest = (
            f'[archive]\ndatabase = "{self.archive}"\npassword_file = "passwords/archive"\n'
            f'[page]\nport = {self.page}\n[witness]\nkey = "witness.key"\n'
            'password_file = "passwords/witness"\n[witness.keys]\n'
        )
        for name, tables in (("property", most), ("late", [late])):
            text = head + (rest if name == "property" else "") + "[uplink.tables]\n"
            text += "".join(map(self._uplink, tables))
            (self.folder / f"{name}.toml").write_text(text, "utf-8")

    def _uplink(self, table: str) -> str:
        password = f"passwords/{table.replace('/', '.')}"
        return f'"{table}" = {{ log = "{self.log(table)}", password_file = "{password}" }}\n'

    async def _streams(self) -> None:
        settings = load_property(self.folder / "property.toml").hub_settings(
            "keeper", "passwords/keeper"
        )
        for attempt in range(NODES * 2):
            with suppress(BusError):
                client = await connect(settings, attempt)
                try:
                    limits = StreamLimits(replicas=NODES, event_bytes=8 * _GIGABYTE)
                    await ensure_streams(JetStreamContext(client, timeout=_READY_S), limits)
                finally:
                    await client.close()
                return
        raise Unmeasurable("the hub lets nobody in")


def _node(store: Path, folder: Path) -> NodeForm:
    client, cluster, leaves, monitor = (free_port() for _ in range(4))
    return NodeForm(
        host=LOOPBACK,
        clients=client,
        cluster=cluster,
        leaves=leaves,
        monitor=monitor,
        store=str(store),
        store_most="20GB",
        pki=str(folder / "pki"),
    )


def _await_ready(monitor: int) -> None:
    deadline = monotonic() + _READY_S
    while monotonic() < deadline:
        with suppress(OSError):
            url = f"http://{LOOPBACK}:{monitor}/healthz"
            with urllib.request.urlopen(url, timeout=2) as answer:
                if json.load(answer).get("status") == "ok":
                    return
        sleep(_POLL_S)
    raise Unmeasurable("a node of the hub does not come up")


@contextmanager
def running_property(folder: Path, archive: str, tables: Sequence[str]) -> Iterator[BenchProperty]:
    """Run a property's hub, without its services yet, until the block ends."""
    with BenchProperty(folder, archive, tables) as place:
        place.start_hub()
        yield place
