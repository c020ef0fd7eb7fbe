"""The world's courier keeps what both brokers keep: one suite, run against all three."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from random import Random
from typing import Protocol

import pytest

from events.mqtt.messages import Message, Publication
from simulators.world.parts.broker import FakeBroker, FakeClient
from simulators.world.parts.fault_injector import ArmedFaults
from tests.support.brokers.brokers import Broker
from tests.support.brokers.peers import EVENT, ROOT, STATE, STATUS, Peer, at_work
from tests.support.machine.waiting import until

REQUEST = f"{ROOT}/request/dealer/open_betting"
WILL = Publication(STATUS, b"gone", retain=True)


class Clients(Protocol):
    """Makes clients of one broker."""

    async def join(self, name: str, *filters: str, will: Publication | None = None) -> int: ...

    async def post(self, client: int, topic: str, payload: bytes, retain: bool = False) -> None: ...

    async def hang_up(self, client: int) -> None: ...

    async def got(self, client: int, count: int) -> list[Message]: ...


class RealClients:
    def __init__(self, port: int) -> None:
        self._port = port
        self._peers: list[tuple[Peer, AsyncExitStack]] = []

    async def join(self, name: str, *filters: str, will: Publication | None = None) -> int:
        peer, stack = Peer(self._port, name, *filters, will=will), AsyncExitStack()
        await stack.enter_async_context(at_work(peer))
        self._peers.append((peer, stack))
        return len(self._peers) - 1

    async def post(self, client: int, topic: str, payload: bytes, retain: bool = False) -> None:
        assert await self._peers[client][0].bus.publish(topic, payload, retain=retain)

    async def hang_up(self, client: int) -> None:
        await self._peers[client][1].aclose()

    async def got(self, client: int, count: int) -> list[Message]:
        peer = self._peers[client][0]
        await until(lambda: len(peer.got) >= count, f"{count} messages come")
        return peer.got

    async def close(self) -> None:
        for _, stack in self._peers:
            await stack.aclose()


class WorldClients:
    def __init__(self) -> None:
        self._courier = FakeBroker(Random(1), ArmedFaults())
        self._clients: list[FakeClient] = []

    async def join(self, name: str, *filters: str, will: Publication | None = None) -> int:  # noqa: ARG002 - a world's client needs no name
        client = FakeClient(self._courier, filters, will)
        client.connect()
        self._clients.append(client)
        return len(self._clients) - 1

    async def post(self, client: int, topic: str, payload: bytes, retain: bool = False) -> None:
        assert self._clients[client].post(topic, payload, retain)

    async def hang_up(self, client: int) -> None:
        self._clients[client].hang_up()

    async def got(self, client: int, count: int) -> list[Message]:
        assert len(self._clients[client].inbox) >= count
        return list(self._clients[client].inbox)

    async def close(self) -> None:
        pass


@pytest.fixture(params=["real", "world"])
async def clients(request: pytest.FixtureRequest, broker: Broker) -> AsyncIterator[Clients]:
    made = RealClients(broker.port) if request.param == "real" else WorldClients()
    yield made
    await made.close()


async def test_messages_come_in_order_to_everybody_who_wants_them_and_to_nobody_else(
    clients: Clients,
) -> None:
    events = await clients.join("one", EVENT)
    asked = await clients.join("two", f"{ROOT}/request/+/+", EVENT)
    sender = await clients.join("three")
    for number in range(20):
        await clients.post(sender, EVENT, b"%d" % number)
    await clients.post(sender, REQUEST, b"{}")
    await clients.post(sender, STATE, b"for nobody here")
    await clients.post(sender, EVENT, b"last")
    numbers = [b"%d" % number for number in range(20)]
    assert [m.payload for m in await clients.got(events, 21)] == [*numbers, b"last"]
    both = await clients.got(asked, 22)
    assert not any(message.retain for message in both)
    # Between two subscriptions there is no order to keep: nats-server has a queue for each.
    assert [m.payload for m in both if m.topic == EVENT] == [*numbers, b"last"]
    assert [(m.topic, m.payload) for m in both if m.topic != EVENT] == [(REQUEST, b"{}")]


async def test_the_newest_retained_message_is_handed_to_who_comes_later_and_marked(
    clients: Clients,
) -> None:
    sender = await clients.join("sender")
    for payload in (b"old", b"new"):
        await clients.post(sender, STATE, payload, retain=True)
    await clients.post(sender, STATUS, b"online", retain=True)
    await clients.post(sender, STATUS, b"", retain=True)
    late = await clients.join("late", STATE, STATUS)
    assert await clients.got(late, 1) == [Message(STATE, b"new", retain=True)]
    await clients.post(sender, STATE, b"live", retain=True)
    assert (await clients.got(late, 2))[1:] == [Message(STATE, b"live", retain=False)]


async def test_the_will_of_who_vanishes_is_spoken_and_kept(clients: Clients) -> None:
    watcher = await clients.join("watcher", STATUS)
    service = await clients.join("service", will=WILL)
    await clients.hang_up(service)
    assert await clients.got(watcher, 1) == [Message(STATUS, b"gone", retain=False)]
    late = await clients.join("late", STATUS)
    assert await clients.got(late, 1) == [Message(STATUS, b"gone", retain=True)]
