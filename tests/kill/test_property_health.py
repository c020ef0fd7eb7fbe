"""Each part of a property killed or frozen: status, page and metric say so within 15 seconds.

The whole property runs as processes: three nodes, PostgreSQL, worker, uplink, witness, page and
metrics. Behind each fault it is well again by itself, or after the step that `status` names.
"""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final, Self

import httpx
import pytest

from baccarat.processes.children import Child
from benchmarks.instruments.postgres import Postgres, postgres_cluster
from property.hub.subjects import EVENTS
from tests.support.machine.seeds import seeded
from tests.support.machine.waiting import until_blocking
from tests.support.property.logs import dealt, write_log
from tests.support.property.nats_hub import Hub, made_streams, running_hub
from tests.support.property.site import PropertySite

pytestmark = [pytest.mark.timeout(590)]

B7: Final = "harbour/b7"
_WITHIN_S: Final = 15.0
# Elections and restarts on a machine that does other work too.
_WELL_S: Final = 90.0


class Whole:
    """A whole property, and what is seen of it."""

    def __init__(self, site: PropertySite, hub: Hub, database: Postgres) -> None:
        self.site, self.hub, self.database = site, hub, database
        self.services: dict[str, Child] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        for name in ("archive", "uplink", "witness", "page", "metrics"):
            self.begin(name)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def begin(self, name: str) -> None:
        """Start a service."""
        self.services[name] = self._stack.enter_context(self.site.running(name))

    def seen(self, parts: Iterable[str] = ()) -> dict[str, bool]:
        """Whether each that looks says that all is well, and status names none of these parts."""
        code, told = self.site.status()
        return {
            "status": code == 0 and told["well"],
            "its part": not {*parts} & {each["kind"] for each in told["findings"]},
            "page": self._page(),
            "metrics": "baccarat_property_well 1.0" in self._metrics(),
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
}


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[Whole]:
    with ExitStack() as stack:
        database = stack.enter_context(postgres_cluster())
        hub = stack.enter_context(running_hub(tmp_path / "hub", [B7]))
        asyncio.run(made_streams(hub))
        log = tmp_path / "b7.sqlite"
        write_log(log, B7, dealt(1, 2))
        site = PropertySite(tmp_path, database.database(), hub, {B7: log}, metrics=True)
        with Whole(site, hub, database) as whole:
            whole.until_well()
            yield whole


def told_of(whole: Whole, name: str) -> float:
    """Apply a fault, wait until all say so, and end it; return the seconds until then."""
    fault, parts = FAULTS[name]
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


def test_a_drawn_fault_is_told_by_status_page_and_metric(whole: Whole) -> None:
    told_of(whole, seeded().choice(sorted(FAULTS)))


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_every_fault_is_told_in_time_by_status_page_and_metric(whole: Whole) -> None:
    times = {name: told_of(whole, name) for name in FAULTS}
    assert {name: time for name, time in times.items() if time > _WITHIN_S} == {}
