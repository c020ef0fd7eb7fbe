"""Each part of a property killed, frozen, cut off, full or expired: all say so within 15 seconds.

All are status, page, metric and alert. The whole property runs as processes: three nodes,
PostgreSQL, worker, uplink, witness, page and metrics. After each fault it is well again by itself,
or after the step that `status` names.
"""

import asyncio
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Final, Self

import httpx
import pytest

from baccarat.processes.children import Child
from baccarat.site.pki import Pki
from benchmarks.instruments.postgres import Postgres, postgres_cluster
from property.archive.database import migrate
from property.hub.subjects import EVENTS
from tests.support.brokers.relay import Relay, relay_to
from tests.support.machine.disk import small_disk
from tests.support.machine.seeds import seeded
from tests.support.machine.waiting import until_blocking
from tests.support.property.alerts import firing_alerts
from tests.support.property.logs import dealt, disk_reported, write_log
from tests.support.property.nats_hub import Hub, made_streams, running_hub
from tests.support.property.site import PropertySite

pytestmark = [pytest.mark.timeout(590)]

B7: Final = "harbour/b7"
_WITHIN_S: Final = 15.0
# Elections and restarts on a machine that does other work too.
_WELL_S: Final = 90.0
# Seconds in which a service comes up with a certificate that then ends.
_LEFT_S: Final = 20.0
# A node's and PostgreSQL's, where this user may make one.
_DISKS: Final = os.geteuid() == 0
_NODE: Final = 2
_UNWELL: Final = {"BaccaratPropertyUnwell"}


class Whole:
    """A whole property, and what is seen of it."""

    def __init__(
        self, site: PropertySite, hub: Hub, database: Postgres, log: Path, disks: list[Path]
    ) -> None:
        self.site, self.hub, self.database, self.disks = site, hub, database, disks
        self._log, self._events = log, iter(dealt(1, 400))
        self.grow()
        self.services: dict[str, Child] = {}
        self.roads: list[Relay] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        # The uplink has a way to the hub and a certificate of its own.
        text = self.site.config.read_text("utf-8").replace("client.", "uplink.")
        for node in self.hub.nodes:
            self.roads.append(self._stack.enter_context(relay_to(node.clients)))
            text = text.replace(f":{node.clients}", f":{self.roads[-1].port}")
        self._uplink = self.site.folder / "uplink.toml"
        self._uplink.write_text(text, "utf-8")
        for name in ("archive", "uplink", "witness", "page", "metrics"):
            self.begin(name)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def begin(self, name: str) -> None:
        """Start a service."""
        config = self._uplink if name == "uplink" else None
        self.services[name] = self._stack.enter_context(self.site.running(name, config=config))

    def grow(self) -> None:
        """The table goes on."""
        write_log(self._log, B7, [*islice(self._events, 5)])

    def again(self, name: str) -> None:
        """Start a service again."""
        self.services[name].kill()
        self.begin(name)

    def node_again(self) -> None:
        """Start a node again."""
        self.hub.stop(_NODE)
        self.hub.start(_NODE)

    def seen(self, parts: Iterable[str] = ()) -> dict[str, bool]:
        """Whether each that looks says that all is well, and status names none of these parts.

        The table goes on meanwhile.
        """
        self.grow()
        code, told = self.site.status()
        metrics = self._metrics()
        return {
            "status": code == 0 and told["well"],
            "its part": not {*parts} & {each["kind"] for each in told["findings"]},
            "page": self._page(),
            "metrics": "baccarat_property_well 1.0" in metrics,
            "alert": not firing_alerts(metrics) - _UNWELL,
        }

    def _page(self) -> bool:
        with suppress(httpx.TransportError):
            answer = httpx.get(f"http://127.0.0.1:{self.site.page_port}/health", timeout=5)
            return bool(answer.json()["well"])
        return False

    def _metrics(self) -> str:
        with suppress(httpx.TransportError):
            return httpx.get(f"http://127.0.0.1:{self.site.metrics_port}/metrics", timeout=5).text
        return ""

    def leader(self) -> list[int]:
        """The number of the node that leads, while there is one."""
        number = self.hub.leader(EVENTS)
        return [] if number is None else [number]

    def until_well(self) -> None:
        """Wait until all who look say so."""
        until_blocking(
            lambda: all(self.seen().values()),
            lambda: f"it is well again: {self.seen()}, {self.site.ask('status').out}",
            _WELL_S,
            every=0.2,
        )


@contextmanager
def frozen(*pids: int) -> Iterator[None]:
    """Stop these processes, and let them go on at the end."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


Fault = Callable[[Whole], AbstractContextManager[None]]


@contextmanager
def cut(roads: Iterable[Relay]) -> Iterator[None]:
    """Nothing comes through, and nobody is told; then it does again."""
    for road in roads:
        road.shut = True
    yield
    for road in roads:
        road.shut = False


@contextmanager
def full(disk: Path) -> Iterator[None]:
    """There is no room, and then there is."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
    yield
    filler.unlink()


@contextmanager
def node_full(whole: Whole) -> Iterator[None]:
    """A node's disk is full; it goes on without JetStream until it is started again."""
    with full(whole.disks[0]):
        yield
    whole.node_again()


@contextmanager
def ended(whole: Whole, name: str, again: Callable[[], None]) -> Iterator[None]:
    """A certificate has ended; then it is renewed, and who shows it is started again."""
    pki = whole.hub.folder / "pki"
    ends = datetime.now(UTC) + timedelta(seconds=_LEFT_S)
    Pki(pki, ends - timedelta(days=1)).renew(name, days=1)
    again()
    until_blocking(lambda: datetime.now(UTC) > ends, f"{name}'s certificate has ended", every=0.2)
    yield
    Pki(pki, datetime.now(UTC)).renew(name)
    again()


@contextmanager
def killed(whole: Whole, name: str) -> Iterator[None]:
    """A service is gone, and then started again."""
    whole.services[name].kill()
    yield
    whole.begin(name)


@contextmanager
def leader_killed(whole: Whole) -> Iterator[None]:
    """The node that leads is gone, and then started again."""
    number = until_blocking(whole.leader, "the stream has a leader")[0]
    whole.hub.kill(number)
    yield
    whole.hub.start(number)


@contextmanager
def database_killed(whole: Whole) -> Iterator[None]:
    """PostgreSQL is gone, and then started again."""
    whole.database.kill()
    yield
    whole.database.start()


@contextmanager
def unreported(whole: Whole) -> Iterator[None]:
    """PostgreSQL's machine reports its disk no more, and then does again."""
    disk_reported(whole.site.archive, "181 s")
    yield
    disk_reported(whole.site.archive)


# What happens, and the part that `status` names: what it names is of the kind.
FAULTS: Final[dict[str, tuple[Fault, set[str]]]] = {
    "worker killed": (lambda whole: killed(whole, "archive"), {"worker"}),
    "worker frozen": (lambda whole: frozen(whole.services["archive"].pid), {"worker"}),
    "uplink killed": (lambda whole: killed(whole, "uplink"), {"table"}),
    "uplink frozen": (lambda whole: frozen(whole.services["uplink"].pid), {"table"}),
    "witness killed": (lambda whole: killed(whole, "witness"), {"witness"}),
    "witness frozen": (lambda whole: frozen(whole.services["witness"].pid), {"witness"}),
    "node frozen": (lambda whole: frozen(whole.hub.pid(2)), {"node"}),
    "leader killed": (leader_killed, {"node"}),
    "hub frozen": (lambda whole: frozen(*map(whole.hub.pid, range(3))), {"node", "stream"}),
    "database killed": (database_killed, {"database"}),
    "database frozen": (lambda whole: frozen(*whole.database.pids()), {"database"}),
    "database's disk unreported": (unreported, {"disk"}),
    "uplink cut off": (lambda whole: cut(whole.roads), {"table"}),
}
# These take longer: a certificate lasts for some seconds before it ends.
SLOW: Final[dict[str, tuple[Fault, set[str]]]] = {
    "node's certificate ended": (
        lambda whole: ended(whole, whole.hub.nodes[_NODE].name, whole.node_again),
        {"node"},
    ),
    "uplink's certificate ended": (
        lambda whole: ended(whole, "uplink", lambda: whole.again("uplink")),
        {"certificate"},
    ),
    "services' certificate ended": (
        lambda whole: ended(whole, "client", lambda: whole.again("archive")),
        {"certificate"},
    ),
}
if _DISKS:
    FAULTS["node's disk full"] = (node_full, {"node"})
    SLOW["database's disk full"] = (lambda whole: full(whole.disks[1]), {"worker", "table"})


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[Whole]:
    with ExitStack() as stack:
        disks = []
        if _DISKS:
            node = tmp_path / "hub" / f"hub{_NODE + 1}" / "store"
            # PostgreSQL's own user may not come into the suite's temporary folders.
            apart = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bac-disk-")))
            apart.chmod(0o755)
            (apart / "pg").mkdir()
            disks = [
                stack.enter_context(small_disk(each, size))
                for each, size in ((node, "64m"), (apart / "pg", "160m"))
            ]
        database = stack.enter_context(postgres_cluster(disks[1] if disks else None))
        hub = stack.enter_context(running_hub(tmp_path / "hub", [B7]))
        Pki(hub.folder / "pki", datetime.now(UTC)).issue("uplink")
        asyncio.run(made_streams(hub))
        log = tmp_path / "b7.sqlite"
        site = PropertySite(tmp_path, database.database(), hub, {B7: log}, metrics=True)
        migrate(site.archive)
        disk_reported(site.archive)
        with Whole(site, hub, database, log, disks) as whole:
            whole.until_well()
            yield whole


def told_of(whole: Whole, name: str) -> float:
    """Apply a fault, wait until all say so, and end it; return the seconds until then."""
    fault, parts = (FAULTS | SLOW)[name]
    with fault(whole):
        began, wrong = time.monotonic(), dict.fromkeys(whole.seen(parts), 0.0)

        def all_say_so() -> bool:
            for who, well in whole.seen(parts).items():
                wrong[who] = 0.0 if well else wrong[who] or time.monotonic() - began
            return all(wrong.values())

        until_blocking(all_say_so, lambda: f"{name}: they say so: {wrong}", _WELL_S, every=0.1)
        # It never says well meanwhile.
        for _ in range(3):
            assert not any(whole.seen(parts).values()), name
    print(f"{name}: {wrong}")  # noqa: T201 - the figures
    whole.until_well()
    return max(wrong.values())


def test_a_drawn_fault_is_told_by_status_page_metric_and_alert(whole: Whole) -> None:
    told_of(whole, seeded().choice(sorted(FAULTS)))


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_every_fault_is_told_in_time_by_status_page_metric_and_alert(whole: Whole) -> None:
    times = {name: told_of(whole, name) for name in FAULTS | SLOW}
    assert {name: time for name, time in times.items() if time > _WITHIN_S} == {}
