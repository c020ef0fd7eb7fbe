"""A table that is a log and nothing else: replays and acknowledgements as the real one does them.

What it publishes live, and in what disorder, is the test's affair.
"""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import aiomqtt

from tests.support.brokers.brokers import Broker
from tests.support.machine.processes import ROOT, environment
from tests.support.machine.waiting import until
from tests.support.service.small_table import TOPICS, SmallTable, small_table

_IN_FLIGHT: Final = 8  # aiomqtt warns above ten


class FeedTable:
    """See the module. A request that comes again has the answer that it had, and does nothing.

    Args:
        log: position to message.
        head: how many of them there are so far.
    """

    def __init__(self, log: dict[int, bytes], head: int) -> None:
        self.log = log
        self.head = head
        self.replays: list[int] = []
        self.acks: list[int] = []
        self.bus: SmallTable | None = None
        self._answers: dict[str, dict[str, Any]] = {}  # of each transaction
        self._replaying: asyncio.Task[None] | None = None

    async def asked(self, user: str, command: str, body: bytes) -> dict[str, Any]:
        assert user == "cage"
        request = json.loads(body)
        transaction = request["transaction"]
        if transaction not in self._answers:
            self._answers[transaction] = await self._done(command, request)
        return dict(self._answers[transaction])

    async def _done(self, command: str, request: dict[str, Any]) -> dict[str, Any]:
        answer = {"transaction": request["transaction"], "result": "accepted"}
        if command == "ack":
            assert request["consumer"] == "cage"
            if request["position"] > self.head:
                return answer | {"result": "refused", "code": "unknown_position", "text": "no"}
            self.acks.append(request["position"])
            return answer
        assert command == "replay"
        self.replays.append(request["from"])
        await self.stop()
        missed = range(request["from"], self.head + 1)
        replay = self.send(*missed, topic=TOPICS.replayed("cage"))
        self._replaying = asyncio.create_task(replay)
        return answer | {"position": self.head}

    async def stop(self) -> None:
        """End the replay that is going on: the newest request wins."""
        if self._replaying is not None:
            self._replaying.cancel()
            await asyncio.wait({self._replaying})

    async def send(self, *positions: int, topic: str = TOPICS.event) -> None:
        """Publish these, as they are given; a few at a time are on their way."""
        for first in range(0, len(positions), _IN_FLIGHT):
            bus = self.bus
            if bus is None or bus.client is None:
                return  # the broker is away, and whoever misses them asks again
            some = positions[first : first + _IN_FLIGHT]
            with suppress(aiomqtt.MqttError):
                await asyncio.gather(*(bus.publish(topic, self.log[each]) for each in some))

    async def append(self, positions: Iterable[int]) -> None:
        """These are in the log now, and are published in this disorder."""
        row = list(positions)
        for first in range(0, len(row), _IN_FLIGHT):
            some = row[first : first + _IN_FLIGHT]
            self.head = max(self.head, *some)
            await self.send(*some)


@asynccontextmanager
async def feed_table(
    broker: Broker, log: dict[int, bytes], *, head: int = 0
) -> AsyncIterator[FeedTable]:
    """A table that answers when the block begins."""
    made = FeedTable(log, head)
    async with small_table(broker.port, made.asked) as made.bus:
        try:
            yield made
        finally:
            await made.stop()


def disorder(rng: random.Random, positions: Iterable[int]) -> list[int]:
    """The same with some lost, some twice, some late, and some long after their time."""
    row: list[tuple[float, int]] = []
    for position in positions:
        for _ in range(rng.choice((0, 1, 1, 1, 1, 1, 2, 3))):
            late = rng.choice((0, 0, 0, 2, 5, 40)) * rng.random()
            row.append((position + late, position))
    return [position for _, position in sorted(row)]


async def killed_again_and_again(
    command: Sequence[str],
    play: Callable[[list[int]], Coroutine[Any, Any, None]],
    asked: Sequence[int],
    rng: random.Random,
    most_s: float,
) -> list[int]:
    """Start a consumer and kill it, as often as there is time while the table plays.

    Args:
        command: the consumer's.
        play: is told who was killed so far.
        asked: grows with what it asks of the table.
        rng: of the moments.
        most_s: seconds from its asking to its end, at the most.
    """
    killed: list[int] = []
    playing = asyncio.create_task(play(killed))
    while not playing.done():
        child = await asyncio.create_subprocess_exec(
            *command, env=environment(), cwd=ROOT, stderr=asyncio.subprocess.DEVNULL
        )
        heard = len(asked)
        await until(
            lambda heard=heard: len(asked) > heard or playing.done(), "it asks for something"
        )
        await asyncio.sleep(rng.uniform(0, most_s))
        child.kill()
        await child.wait()
        killed.append(child.pid)
    await playing
    return killed
