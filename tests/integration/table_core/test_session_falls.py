"""A service whose numbering began anew, as its own process: the others believe it, unrestarted.

A new disk has neither the driver's journals nor the table's log, so the session numbers that are
kept there begin at 1 again, while the others, and the broker, have heard higher ones.
"""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from baccarat.processes.children import Child
from events.commands import LoadShoe, OpenBetting
from events.log.store import EventLog
from events.mqtt.presence import read_status
from table_core.projections.table_document import StateView
from tests.support.brokers.brokers import Broker
from tests.support.brokers.peers import Peer, at_work
from tests.support.machine.ports import free_port
from tests.support.machine.waiting import until, until_blocking
from tests.support.service.live_table import service_process
from tests.support.service.table_service import TOPICS, connected
from tests.support.shoe.shoe_line import ShoePort, until_another_second, written

CONFIG = """\
site = "site"
table = "t1"
rulebook = "au-commission"
[shoe]
url = "{shoe}"
[bus]
port = {port}
[message_keys]
mode = "trust-broker"
[data]
log = "table.sqlite"
journal = "journal"
[displays]
port = {page}
[users]
dealer = ["dealer"]
"""


@asynccontextmanager
async def serving(path: Path, name: str) -> AsyncIterator[Child]:
    """One service in a process of its own."""
    child = service_process(path, name)
    try:
        yield child
    finally:
        await asyncio.to_thread(child.stop)


def configured(folder: Path, port: int, shoe: ShoePort, page: int = 1) -> Path:
    path = folder / "t1.toml"
    path.write_text(CONFIG.format(shoe=shoe.url, port=port, page=page))
    return path


def said(observer: Peer, service: str) -> tuple[str, int] | None:
    """State and session of the newest status of a service."""
    of_it = [each.payload for each in observer.got if each.topic == TOPICS.status(service)]
    status = read_status(of_it[-1]) if of_it else None
    return (status.state, status.session) if status else None


def _of_the_driver(state: StateView) -> set[str]:
    return {each.name for each in state.alarms} & {"driver_offline", "driver_not_trusted"}


async def test_betting_opens_again_with_a_driver_that_has_lost_its_folder(
    broker: Broker, shoe: ShoePort, tmp_path: Path
) -> None:
    path, journal = configured(tmp_path, broker.port, shoe), tmp_path / "journal"
    journal.mkdir()
    (journal / "session").write_text("7\n")
    observer = Peer(broker.port, "observer", TOPICS.status("+"), TOPICS.link_shoe)
    async with at_work(observer), connected(broker.port) as table, serving(path, "table") as core:
        async with serving(path, "shoe"):
            await until(lambda: said(observer, "shoe") == ("online", 8), "the driver is there")
            await until(
                lambda: table.states and not table.states[-1].catching_up, "it has caught up"
            )
            load = LoadShoe(transaction="l", shoe="20261127-01")
            await table.must("dealer", load)
        await until(lambda: table.states[-1].catching_up, "the driver is known to have gone")
        await until_another_second(written(journal))
        shutil.rmtree(journal)
        async with serving(path, "shoe"):
            await until(lambda: said(observer, "shoe") == ("online", 1), "its numbers begin anew")
            await until(
                lambda: not (_of_the_driver(table.states[-1]) or table.states[-1].catching_up),
                "the table believes it",
            )
            await until(lambda: "open_betting" not in table.states[-1].refusals, "it may be opened")
            await table.must("dealer", OpenBetting(transaction="o"))
            await until(
                lambda: any(b"which is not in this folder" in each for each in observer.payloads),
                "people are told of the change",
            )
        assert core.code is None, "the table was never restarted"


def health(address: str) -> tuple[int, str]:
    """What a monitor gets from the screens' server: the code, and why."""
    try:
        answer = httpx.get(f"{address}/health", timeout=5)
    except httpx.TransportError:
        return 0, ""
    return answer.status_code, answer.json()["reason"]


def first_state(address: str) -> dict[str, Any]:
    """The state that a screen is sent first."""
    with httpx.stream("GET", f"{address}/events", timeout=10) as events:
        lines = (line for line in events.iter_lines() if line.startswith("data: {"))
        found: dict[str, Any] = next(
            document
            for document in map(json.loads, (line.removeprefix("data: ") for line in lines))
            if "position" in document
        )
        return found


def new_disk(folder: Path) -> None:
    for each in list(folder.glob("table.sqlite*")):
        each.rename(folder / f"old-{each.name}")


async def becomes(address: str, wanted: tuple[int, str]) -> None:
    """Ask as a monitor does, until it answers so."""

    await asyncio.to_thread(
        until_blocking, lambda: health(address) == wanted, f"/health says {wanted}"
    )


async def test_the_screens_are_live_again_with_a_table_on_a_fresh_log(
    broker: Broker, shoe: ShoePort, tmp_path: Path
) -> None:
    page = free_port()
    address = f"http://127.0.0.1:{page}"
    path, log = configured(tmp_path, broker.port, shoe, page), tmp_path / "table.sqlite"
    with EventLog.open(log, "site/t1") as opened:
        assert [opened.next_session() for _ in range(3)] == [1, 2, 3]
    observer = Peer(broker.port, "observer", TOPICS.status("+"))
    async with (
        at_work(observer),
        connected(broker.port) as table,
        serving(path, "displays") as screens,
    ):
        async with serving(path, "table"):
            await becomes(address, (200, ""))
            assert said(observer, "table") == ("online", 4)
            load = LoadShoe(transaction="l", shoe="20261127-01")
            await table.must("dealer", load)
        await becomes(address, (503, "table"))
        new_disk(tmp_path)
        async with serving(path, "table"):
            await until(lambda: said(observer, "table") == ("online", 1), "its numbers begin anew")
            await becomes(address, (200, ""))
            shown = await asyncio.to_thread(first_state, address)
            assert shown["shoe"] is None, "the new log's state, not the old one's"
        assert screens.code is None, "the screens were never restarted"
