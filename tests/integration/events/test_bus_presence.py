"""Birth, heartbeat, farewell and Will, as both brokers carry them."""

import asyncio
import sys
import time
from pathlib import Path

import pytest

from baccarat.processes.children import Child
from events.clock import SystemClock
from events.mqtt.messages import Message
from events.mqtt.presence import Presence, PresencePublisher, Status, encode_status, read_status
from events.mqtt.process_shell import Performer
from tests.support.brokers.brokers import Broker
from tests.support.brokers.peers import STATE, STATUS, Peer, at_work
from tests.support.machine.waiting import until

_CLIENT = """
import asyncio, sys
from events.mqtt.bus import Bus, BusSettings
from events.clock import SystemClock
from events.mqtt.presence import PresencePublisher
from events.mqtt.process_shell import Performer

async def main(port, topic):
    publisher = PresencePublisher(topic, 41, SystemClock().utc_ns())
    async def birth():
        Performer(bus, SystemClock()).perform_at_once(publisher.announce())
    bus = Bus(BusSettings("127.0.0.1", port, "shoe"), subscriptions={}, will=publisher.will,
              on_connect=birth)
    await bus.run()

asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
"""


async def test_the_will_of_a_killed_process_is_spoken_and_kept(broker: Broker) -> None:
    observer = Peer(broker.port, "observer", STATUS)
    here = str(Path(__file__).parents[3])
    async with at_work(observer):
        client = Child.start(
            [sys.executable, "-c", _CLIENT, str(broker.port), STATUS],
            name="client",
            env={"PYTHONPATH": here},
        )
        await until(lambda: observer.got, "its birth is heard")
        client.kill()
        await until(lambda: len(observer.got) == 2, "its Will is heard")
        late = Peer(broker.port, "late", STATUS)
        async with at_work(late):
            await until(lambda: late.got, "the Will was kept")
    said = [read_status(message.payload) for message in (*observer.got, *late.got)]
    assert [(s.state, s.session) for s in said if s] == [
        ("online", 41),
        ("offline", 41),
        ("offline", 41),
    ]
    assert late.got[0].retain


def performer(peer: Peer) -> Performer:
    return Performer(peer.bus, SystemClock())


def service_with(presence: PresencePublisher, port: int) -> Peer:
    """A service that announces itself, and contradicts who says that it has gone."""

    async def greet(peer: Peer) -> None:
        assert performer(peer).perform_at_once(presence.announce())

    async def hear(message: Message) -> None:
        performer(service).perform_at_once(presence.on_own_status(message))

    service = Peer(port, "shoe", STATUS, handler=hear, on_connect=greet, will=presence.will)
    return service


@pytest.mark.parametrize("session", [4, 6])  # 6: it counts from 1 again, and was late in dying
async def test_a_service_told_that_it_is_offline_says_that_it_is_not(
    broker: Broker, session: int
) -> None:
    presence = PresencePublisher(STATUS, 5, SystemClock().utc_ns())
    service, observer = (
        service_with(presence, broker.port),
        Peer(broker.port, "observer", STATUS),
    )
    late_will = Status(state="offline", session=session, ts="2026-11-27T20:00:00.000000000Z")
    async with at_work(observer, service):
        await until(lambda: observer.got, "the birth is heard")
        assert await observer.bus.publish(STATUS, encode_status(late_will), retain=True)
        await until(lambda: len(observer.got) >= 3, "birth, contradiction, birth")
        beating = asyncio.create_task(performer(service).perform(presence.beat(0.01)))
        await until(lambda: len(observer.got) >= 6, "heartbeats follow")
        beating.cancel()
    known = Presence()
    for message in observer.got[:6]:
        status = read_status(message.payload)
        assert status is not None
        known = known.with_message(
            status,
            retained=message.retain,
            utc_ns=time.time_ns(),
            mono_us=time.monotonic_ns() // 1_000,
        )
        assert known.online(time.monotonic_ns() // 1_000)


async def test_a_farewell_is_the_last_word_but_for_the_will(broker: Broker) -> None:
    presence = PresencePublisher(STATUS, 5, SystemClock().utc_ns())
    service, observer = (
        service_with(presence, broker.port),
        Peer(broker.port, "observer", STATUS),
    )
    async with at_work(observer):
        async with at_work(service):
            await until(lambda: observer.got, "the birth is heard")
            beating = asyncio.create_task(performer(service).perform(presence.beat(0.001)))
            assert await performer(service).perform(presence.publish_offline())
            await until(lambda: b"offline" in observer.payloads[-1], "the farewell is heard")
            assert await service.bus.publish(STATE, b"its echo has come back by now")
            assert not performer(service).perform_at_once(presence.announce())
        beating.cancel()
        said = observer.payloads.index(next(p for p in observer.payloads if b"offline" in p))
        await until(lambda: len(observer.got) == said + 2, "the Will is spoken")
    assert all(b"offline" in payload for payload in observer.payloads[said:])
