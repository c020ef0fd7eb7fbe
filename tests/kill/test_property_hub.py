"""A property's hub killed, cut off, wiped and brought back from old copies, while tables go on.

Each scenario runs three nodes, a leaf and two uplinks as real processes; one table comes by the
leaf, one by itself. Behind each, the hub holds what the logs hold, byte for byte and hash by hash.
"""

import asyncio
import os
import random
import secrets
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

import msgspec
import pytest

from baccarat.processes.children import Child
from property.hub.subjects import EVENTS
from property.uplink.service import UplinkFeed, UplinkLog
from tests.support.machine.waiting import until
from tests.support.property.feeds import TableLogs, feeding, until_held
from tests.support.property.nats_hub import Hub, Leaf, made_streams, running_hub


class Namespace:
    """A network namespace and its line.

    Args:
        name: of the namespace.
        here: this machine's address on the line.
        line: the name of this machine's end.
        there: the name of the other end.
    """

    def __init__(self, name: str, here: str, line: str, there: str) -> None:
        self.name, self.here, self._line, self._there = name, here, line, there

    @property
    def prefix(self) -> tuple[str, ...]:
        """What goes before a command that is to run there."""
        return "ip", "netns", "exec", self.name

    def cut(self) -> None:
        """Nothing comes through, and nobody is told."""
        _run("ip", "link", "set", self._line, "down")

    def thin(self, rate: str) -> None:
        """What goes out from there has only so much room, such as `512kbit`."""
        shape = ("tbf", "rate", rate, "burst", "16kb", "latency", "400ms")
        _run(*self.prefix, "tc", "qdisc", "add", "dev", self._there, "root", *shape)

    def mend(self) -> None:
        """It comes through again."""
        _run("ip", "link", "set", self._line, "up")


@contextmanager
def namespace() -> Iterator[Namespace]:
    """A namespace, gone at the end."""
    token = secrets.token_hex(3)
    name, here, there = f"bac{token}", f"bac{token}h", f"bac{token}n"
    # Of the range for tests between two machines (RFC 2544).
    network = f"198.18.{secrets.randbelow(256)}"
    block = 4 * secrets.randbelow(64)
    _run("ip", "netns", "add", name)
    try:
        _run("ip", "link", "add", here, "type", "veth", "peer", "name", there, "netns", name)
        _run("ip", "addr", "add", f"{network}.{block + 1}/30", "dev", here)
        _run("ip", "link", "set", here, "up")
        inside = Namespace(name, f"{network}.{block + 1}", here, there)
        _run(*inside.prefix, "ip", "addr", "add", f"{network}.{block + 2}/30", "dev", there)
        for link in ("lo", there):
            _run(*inside.prefix, "ip", "link", "set", link, "up")
        yield inside
    finally:
        _run("ip", "netns", "delete", name)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


pytestmark = [pytest.mark.timeout(240)]

B7, B8 = "harbour/b7", "harbour/b8"
_root = pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces: root alone may")
# Commits a second at each table: a hundred times a live table's.
_PACE_S: Final = 0.03
_LEFT_WITHIN_S: Final = 10.0  # what is promised


class Play:
    """Two tables that go on, their uplinks, the leaf and the hub."""

    def __init__(self, folder: Path, hub: Hub, logs: TableLogs, net: Namespace | None) -> None:
        self.hub, self.logs, self._folder = hub, logs, folder
        self._prefix = net.prefix if net else ()
        self.leaf: Leaf = hub.leaf([B7], self._prefix)
        self.uplinks = {origin: self._uplink(origin) for origin in (B7, B8)}

    def _uplink(self, origin: str) -> Child:
        at_leaf = origin == B7
        settings = self.leaf.settings(origin) if at_leaf else self.hub.settings(origin)
        table = UplinkLog(path=self.logs.paths[origin], hub=settings)
        told = msgspec.json.encode([table], enc_hook=str).decode()
        command = [sys.executable, "-m", "tests.kill.uplink_child", told]
        output = self._folder / f"uplink-{origin.replace('/', '-')}.log"
        prefix = self._prefix if at_leaf else ()
        return Child.start([*prefix, *command], name="uplink", output=output)

    def kill_uplink(self, origin: str) -> None:
        """SIGKILL, and another in its place."""
        self.uplinks[origin].kill()
        self.uplinks[origin] = self._uplink(origin)

    async def grown(self, commits: int = 20) -> None:
        """Wait until each table has committed so many times more."""
        start = {each: self.logs.position(each) for each in self.logs.paths}

        def done() -> bool:
            return all(self.logs.position(each) >= was + commits for each, was in start.items())

        await until(done, "the tables go on")

    async def whole(self) -> None:
        """Wait until the hub holds both logs, and nothing else."""
        for origin, path in self.logs.paths.items():
            await until_held(self.hub, origin, path)

    async def caught_up(self) -> None:
        """The same while the tables go on."""
        for origin, path in self.logs.paths.items():
            await until_held(self.hub, origin, path, upto=self.logs.position(origin))

    async def leader(self) -> int:
        """The node that leads the events' stream."""

        def led() -> list[int]:
            leader = self.hub.leader(EVENTS)
            return [] if leader is None else [leader]

        return (await until(led, "the stream has a leader"))[0]

    def close(self) -> None:
        """End the uplinks."""
        for each in self.uplinks.values():
            each.stop()


@asynccontextmanager
async def playing(folder: Path, net: Namespace | None = None) -> AsyncIterator[Play]:
    """A play, which has begun and of which the hub holds something."""
    host = net.here if net else "127.0.0.1"
    async with AsyncExitStack() as stack:
        hub = Hub(folder / "hub", [B7, B8], host=host)
        stack.callback(hub.close)
        hub.start_all()
        await made_streams(hub)
        logs = stack.enter_context(TableLogs(folder, [B7, B8]))
        play = Play(folder, hub, logs, net)
        stack.callback(play.close)
        stop = asyncio.Event()
        growing = asyncio.create_task(_grow(logs, stop))

        async def end() -> None:
            stop.set()
            await growing

        stack.push_async_callback(end)
        await play.grown()
        yield play
        # A table never waits for the property.
        await play.grown()
        stop.set()
        await growing
        await play.whole()
        assert all(each.code is None for each in play.uplinks.values())


async def _grow(logs: TableLogs, stop: asyncio.Event) -> None:
    rng = random.Random(7)
    while not stop.is_set():
        for origin in logs.paths:
            logs.grow(origin, rng.choice((1, 1, 1, 2, 5)))
        await asyncio.sleep(_PACE_S)


async def _each_node_and_the_leader(play: Play) -> None:
    for number in (await play.leader(), 0, 1, 2):
        play.hub.kill(number)
        await play.grown()
        play.hub.start(number)
    play.hub.kill(await play.leader())
    await play.grown()


async def _two_nodes_in_turn(play: Play) -> None:
    first = await play.leader()
    second = (first + 1) % 3
    play.hub.kill(first)
    await play.grown(5)
    play.hub.kill(second)
    await play.grown(40)
    play.hub.start(first, wait=False)
    play.hub.start(second, wait=False)


async def _the_leaf_and_the_uplinks(play: Play) -> None:
    play.leaf.kill()
    await play.grown()
    play.leaf.start()
    for origin in (B7, B8, B7):
        play.kill_uplink(origin)
        await play.grown(5)


async def _one_store_wiped(play: Play) -> None:
    number = await play.leader()
    play.hub.kill(number)
    play.hub.wipe(number)
    await play.grown()
    play.hub.start(number)


async def _all_stores_wiped(play: Play) -> None:
    for number in range(3):
        play.hub.kill(number)
    for number in range(3):
        play.hub.wipe(number)
    await play.grown()
    play.hub.start_all()
    await made_streams(play.hub)


async def _an_old_copy_of_one_store(play: Play) -> None:
    number = (await play.leader() + 1) % 3
    play.hub.stop(number)
    copy = play.hub.copy(number)
    play.hub.start(number)
    await play.grown(60)
    play.hub.kill(number)
    play.hub.restore(number, copy)
    # ... and the one that knows best is gone when it comes back.
    play.hub.kill(await play.leader())
    play.hub.start_all()


async def _old_copies_of_all_stores(play: Play) -> None:
    for number in range(3):
        play.hub.stop(number)
    copies = [play.hub.copy(number) for number in range(3)]
    play.hub.start_all()
    await play.grown(60)
    for number in range(3):
        play.hub.kill(number)
    for number, copy in enumerate(copies):
        play.hub.restore(number, copy)
    play.hub.start_all()


SCENARIOS: Final[dict[str, Callable[[Play], Awaitable[None]]]] = {
    "each-node-and-the-leader": _each_node_and_the_leader,
    "two-nodes-in-turn": _two_nodes_in_turn,
    "the-leaf-and-the-uplinks": _the_leaf_and_the_uplinks,
    "one-store-wiped": _one_store_wiped,
    "all-stores-wiped": _all_stores_wiped,
    "an-old-copy-of-one-store": _an_old_copy_of_one_store,
    "old-copies-of-all-stores": _old_copies_of_all_stores,
}


# One play for the suite: what costs a hub its quorum, its memory, and a table its way to it.
WORST: Final = ("the-leaf-and-the-uplinks", "two-nodes-in-turn", "all-stores-wiped")


async def test_the_hub_holds_the_logs_after_the_worst(tmp_path: Path) -> None:
    async with playing(tmp_path) as play:
        for scenario in WORST:
            await SCENARIOS[scenario](play)
            await play.caught_up()


@_root
async def test_the_hub_holds_the_logs_after_the_leaf_was_cut_off(tmp_path: Path) -> None:
    with namespace() as net:
        async with playing(tmp_path, net) as play:
            net.cut()
            await play.grown(60)
            net.mend()


@pytest.mark.soak
@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_the_hub_holds_the_logs_after_each(scenario: str, tmp_path: Path) -> None:
    async with playing(tmp_path) as play:
        await SCENARIOS[scenario](play)


@pytest.mark.soak
@pytest.mark.parametrize("number", range(3))
async def test_uplinks_leave_a_node_that_hangs_within_ten_seconds(
    number: int, tmp_path: Path
) -> None:
    """One by a leaf, one by itself; a stopped process's machine goes on taking bytes for it."""
    with running_hub(tmp_path / "hub", [B7, B8]) as hub:
        await made_streams(hub)
        leaf = hub.leaf([B7])
        with TableLogs(tmp_path, [B7, B8]) as logs:
            async with feeding(logs, [leaf.settings(B7), hub.settings(B8)]) as feeds:
                await _goes_on(logs, feeds)
                os.kill(hub.pid(number), signal.SIGSTOP)
                try:
                    await _goes_on(logs, feeds, within=_LEFT_WITHIN_S)
                finally:
                    os.kill(hub.pid(number), signal.SIGCONT)


async def _goes_on(
    logs: TableLogs, feeds: Mapping[str, UplinkFeed], within: float | None = None
) -> None:
    """Wait until the hub has what each log gets from now on."""
    wanted = {origin: logs.grow(origin) for origin in feeds}

    def there() -> bool:
        return all(feeds[each].state.position >= place for each, place in wanted.items())

    await until(there, "the hub has it", within, every=0.05)


@pytest.mark.soak
@pytest.mark.timeout(1200)
@_root
@pytest.mark.parametrize("minutes", [1, 4])
async def test_the_hub_holds_the_logs_after_minutes_apart(minutes: int, tmp_path: Path) -> None:
    """Long enough that leaf and hub have both given the connection up."""
    with namespace() as net:
        async with playing(tmp_path, net) as play:
            net.cut()
            ended = asyncio.get_running_loop().time() + minutes * 60
            while asyncio.get_running_loop().time() < ended:
                await play.grown(20)
            net.mend()


@pytest.mark.soak
@pytest.mark.timeout(600)
@_root
async def test_the_hub_is_filled_over_half_a_megabit(tmp_path: Path) -> None:
    """A batch takes seconds, and each must come through at the first attempt."""
    with namespace() as net:
        net.thin("512kbit")
        async with playing(tmp_path, net) as play:
            play.logs.grow(B7, 3000)
            for _ in range(20):
                await play.grown(20)
        said = (tmp_path / "uplink-harbour-b7.log").read_text("utf-8")
        assert said.count("feed_up") == 1


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(3))
async def test_the_hub_holds_the_logs_after_everything_in_any_order(
    seed: int, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    names = [rng.choice(sorted(SCENARIOS)) for _ in range(8)]
    async with playing(tmp_path) as play:
        for name in names:
            play.hub.start_all()
            await SCENARIOS[name](play)
            # Not always has it caught up before the next thing happens.
            if rng.random() < 0.5:
                await play.caught_up()
