"""One service of many tables in one process: what happens at one table is not the others' fault."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest
import structlog

from baccarat.config.form import ScoreboardConfig, ShoeConfig, TableConfig
from baccarat.services import hosting
from baccarat.services.hosting import check_nothing_shared, host
from baccarat.services.registry import Probe
from events.errors import ConfigError, LogUnwritable, OurBug
from tests.support.machine.waiting import until


def config(table: str, *, base: str = "", url: str = "") -> TableConfig:
    return TableConfig(
        site="test",
        table=table,
        rulebook="au-commission",
        shoe=ShoeConfig(url=url or f"pty:/dev/{table}"),
        base=base or f"/{table}",
    )


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosting, "_PAUSE_S", 0.001)


class Served:
    """A service that fails at the tables that it is told to, as often as it is told to."""

    def __init__(self, **fails: list[BaseException]) -> None:
        self.fails = fails
        self.starts: Counter[str] = Counter()
        self.running: set[str] = set()
        self.ended: set[str] = set()

    async def __call__(self, config: TableConfig, stop: asyncio.Event, probe: Probe) -> None:
        probe(config.table)
        self.starts[config.table] += 1
        if self.fails.get(config.table):
            raise self.fails[config.table].pop(0)
        self.running.add(config.table)
        try:
            await stop.wait()
            self.ended.add(config.table)
        finally:
            self.running.discard(config.table)


async def test_each_table_is_served_and_all_end_when_told() -> None:
    served, stop = Served(), asyncio.Event()
    hosted = asyncio.ensure_future(host([config("t1"), config("t2")], served, stop))
    await until(lambda: served.running == {"t1", "t2"}, "both are served")
    stop.set()
    await hosted
    assert served.ended == {"t1", "t2"}


@pytest.mark.parametrize(
    "error",
    [
        LogUnwritable("the disk is full"),
        ConfigError("no such rulebook"),
        OurBug("what may not be"),
        ExceptionGroup("of a task group", [LogUnwritable("the disk is full")]),
        ZeroDivisionError("of nobody's"),
        asyncio.CancelledError(),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_a_fault_at_one_table_is_told_and_mended_there_alone(
    error: BaseException,
) -> None:
    served, stop = Served(t1=[error, error]), asyncio.Event()
    with structlog.testing.capture_logs() as said:
        hosted = asyncio.ensure_future(host([config("t1"), config("t2")], served, stop))
        await until(lambda: served.running == {"t1", "t2"}, "it is served again")
        stop.set()
        await hosted
    assert served.starts == {"t1": 3, "t2": 1}
    told = [each for each in said if each["event"] == "table.ended"]
    assert len(told) == 2
    assert told[0]["reason"]
    # What a person can act on is one line; a bug of ours comes with where it was.
    assert ("trace" in told[0]) is not isinstance(
        error, LogUnwritable | ConfigError | ExceptionGroup
    )


async def test_a_table_that_fails_for_ever_neither_ends_the_others_nor_keeps_from_ending() -> None:
    served = Served(t1=[LogUnwritable("full") for _ in range(1_000)])
    stop = asyncio.Event()
    hosted = asyncio.ensure_future(host([config("t1"), config("t2")], served, stop))
    await until(lambda: served.starts["t1"] > 2, "it is tried again")
    assert served.running == {"t2"}
    stop.set()
    await hosted


async def test_a_host_that_is_cancelled_leaves_nothing_running() -> None:
    served = Served()
    hosted = asyncio.ensure_future(host([config("t1"), config("t2")], served, asyncio.Event()))
    await until(lambda: len(served.running) == 2, "both are served")
    hosted.cancel()
    await asyncio.wait({hosted})
    await until(lambda: not served.running, "both have ended")


async def test_a_line_says_which_table_it_is_about() -> None:
    bound: dict[str, object] = {}

    async def service(config: TableConfig, stop: asyncio.Event, _: Probe) -> None:
        await asyncio.sleep(0)
        bound[config.table] = structlog.contextvars.get_contextvars()["table"]
        await stop.wait()

    stop = asyncio.Event()
    hosted = asyncio.ensure_future(host([config("t1"), config("t2")], service, stop))
    await until(lambda: len(bound) == 2, "both are served")
    stop.set()
    await hosted
    assert bound == {"t1": "test/t1", "t2": "test/t2"}


def screen(table: str, port: int) -> TableConfig:
    plain = config(table)
    return TableConfig(
        site=plain.site,
        table=table,
        rulebook=plain.rulebook,
        shoe=plain.shoe,
        base=plain.base,
        scoreboard=ScoreboardConfig(port=port),
    )


@pytest.mark.parametrize(
    ("first", "second", "what"),
    [
        (config("t1"), config("t1", base="/other", url="pty:/x"), "site/table is test/t1"),
        (config("t1"), config("t2", url="pty:/dev/t1"), "shoe.url is pty:/dev/t1"),
        (config("t1"), config("t2", base="/t1"), "data.log is /t1/table.sqlite"),
        (screen("t1", 8081), screen("t2", 8081), "the address of a screen is 127.0.0.1:8081"),
    ],
)
def test_two_tables_cannot_share_what_is_one_tables(
    first: TableConfig, second: TableConfig, what: str
) -> None:
    with pytest.raises(ConfigError, match=f"b.toml: {what}, as in a.toml"):
        check_nothing_shared({Path("a.toml"): first, Path("b.toml"): second})


def test_tables_that_are_apart_are_let_be() -> None:
    check_nothing_shared({Path("a.toml"): screen("t1", 8081), Path("b.toml"): screen("t2", 8082)})
