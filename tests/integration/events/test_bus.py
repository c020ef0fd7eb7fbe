"""What the bus port promises about order, contents, bounds and the wire, on both brokers."""

import asyncio
import hashlib
import socket
import sys
import time
from pathlib import Path

import pytest
from structlog.testing import capture_logs

import events.mqtt.bus
import events.mqtt.connection
from baccarat.local_brokers.nats import LOOPBACK
from baccarat.processes.children import Child
from events.clock import SystemClock
from events.errors import OurBug
from events.mqtt.bus import PAYLOAD_BYTES
from events.mqtt.messages import Message
from events.mqtt.presence import Presence, PresencePublisher, Status, encode_status, read_status
from events.mqtt.process_shell import Performer
from tests.support.brokers.brokers import Broker
from tests.support.brokers.peers import EVENT, ROOT, STATE, STATUS, Peer, at_work, reader_and_writer
from tests.support.brokers.rude_broker import CONNACK
from tests.support.machine.waiting import until

# What may be under way at once without mosquitto's queue (1,000) dropping any.
UNDER_WAY = 500


# Order and contents


async def test_posts_and_publishes_arrive_once_and_in_the_order_of_the_calls(
    broker: Broker,
) -> None:
    total = 3_000
    async with reader_and_writer(broker.port) as (reader, writer):
        waiting: list[asyncio.Future[bool]] = []

        def room() -> bool:
            """Neither the reader nor the writer's own acknowledgements are far behind."""
            unacknowledged = 7 * sum(not each.done() for each in waiting)
            return max(number - len(reader.got), unacknowledged) < UNDER_WAY

        for number in range(total):
            await until(room, "the reader keeps up")
            payload = b"%d" % number
            if number % 7 == 0:
                # Started in this turn of the loop, as `await` would.
                waiting.append(asyncio.ensure_future(writer.bus.publish(EVENT, payload)))
                await asyncio.sleep(0)
            else:
                assert writer.bus.post(EVENT, payload)
        assert all(await asyncio.gather(*waiting))
        await until(lambda: len(reader.got) >= total, "all arrive")
    assert reader.payloads == [b"%d" % number for number in range(total)]
    assert reader.bus.dropped == 0


@pytest.mark.parametrize("size", [0, 1, 1_000_000, 4 * 1024 * 1024, PAYLOAD_BYTES])
async def test_a_payload_arrives_byte_for_byte(broker: Broker, size: int) -> None:
    payload = hashlib.shake_128(b"seed").digest(size)
    async with reader_and_writer(broker.port) as (reader, writer):
        assert await writer.bus.publish(EVENT, payload)
        await until(lambda: reader.got, "the message arrives")
    assert reader.got == [Message(EVENT, payload, retain=False)]


async def test_a_payload_too_large_for_a_broker_is_never_sent(broker: Broker) -> None:
    writer = Peer(broker.port, "driver")
    async with at_work(writer):
        with pytest.raises(OurBug, match="at most"):
            writer.bus.post(EVENT, bytes(PAYLOAD_BYTES + 1))
        with pytest.raises(OurBug, match="at most"):
            await writer.bus.publish(EVENT, bytes(PAYLOAD_BYTES + 1))
        assert writer.bus.connected


@pytest.mark.parametrize(
    "junk", [b"\xff\xfe\x00", b"[" * 20_000, b'{"seq":1,"seq":2}', b"", b"\x00" * 100]
)
async def test_junk_reaches_the_handler_as_it_is_and_harms_nobody(
    broker: Broker, junk: bytes
) -> None:
    async with reader_and_writer(broker.port, f"{ROOT}/#") as (reader, writer):
        assert await writer.bus.publish(f"{ROOT}/request/a/b", junk)
        assert await writer.bus.publish(f"{ROOT}/request//", junk)
        assert await writer.bus.publish(EVENT, b"after")
        await until(lambda: len(reader.got) == 3, "all arrive")
    assert reader.payloads == [junk, junk, b"after"]


async def test_retained_marks_what_the_broker_kept_not_what_is_live(broker: Broker) -> None:
    writer, early, late = (
        Peer(broker.port, "core"),
        Peer(broker.port, "early", STATE),
        Peer(broker.port, "late", STATE),
    )
    async with at_work(writer, early):
        assert await writer.bus.publish(STATE, b"one", retain=True)
        assert await writer.bus.publish(STATE, b"two", retain=True)
        await until(lambda: len(early.got) == 2, "both arrive")
        async with at_work(late):
            await until(lambda: late.got, "the kept one arrives")
    assert early.got == [Message(STATE, b"one", retain=False), Message(STATE, b"two", retain=False)]
    assert late.got == [Message(STATE, b"two", retain=True)]


async def test_a_message_goes_to_the_handler_of_its_filter(broker: Broker) -> None:
    seen: list[tuple[str, str]] = []

    async def hear(message: Message) -> None:
        seen.append(("handler", message.topic))

    requests = Peer(broker.port, "requests", f"{ROOT}/request/+/+", handler=hear)
    writer = Peer(broker.port, "writer")
    async with at_work(requests, writer):
        for topic in ("request/a", "request/dealer/open_betting", "request/a/b/c", "request/a/b"):
            assert await writer.bus.publish(f"{ROOT}/{topic}", b"x")
        await until(lambda: len(seen) == 2, "both arrive")
    assert seen == [
        ("handler", f"{ROOT}/request/dealer/open_betting"),
        ("handler", f"{ROOT}/request/a/b"),
    ]


# Back-pressure


class Slow:
    """A handler that waits until it is let go."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.seen: list[bytes] = []

    async def __call__(self, message: Message) -> None:
        await self.go.wait()
        self.seen.append(message.payload)


async def test_a_slow_handler_costs_a_bounded_inbox_and_what_is_dropped_is_counted(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events.mqtt.bus, "INBOX_MESSAGES", 50)
    slow = Slow()
    seen = slow.seen
    with capture_logs() as logs:
        async with reader_and_writer(broker.port, handler=slow) as (reader, writer):
            for number in range(300):
                assert await writer.bus.publish(EVENT, b"%d" % number)
            # One is with the handler, fifty wait, the others found no room.
            await until(lambda: reader.bus.dropped == 249, "the rest is dropped")
            slow.go.set()
            await until(lambda: len(seen) == 51, "what waited is handled")
            assert await writer.bus.publish(EVENT, b"new")
            await until(lambda: len(seen) == 52, "new ones are heard again")
    assert seen == [*(b"%d" % number for number in range(51)), b"new"]
    assert [entry["event"] for entry in logs].count("bus_inbox_full") == 1


async def test_the_inbox_is_bounded_in_bytes(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events.mqtt.bus, "INBOX_BYTES", 10_000)
    slow = Slow()
    async with reader_and_writer(broker.port, handler=slow) as (reader, writer):
        for _ in range(5):
            assert await writer.bus.publish(EVENT, bytes(4_000))
        await until(lambda: reader.bus.dropped == 2, "one handled, two wait, two dropped")
        slow.go.set()
        await until(lambda: len(slow.seen) == 3, "what waited is handled")


async def test_a_backlog_leaves_the_loop_its_timers(
    broker: Broker,
) -> None:
    hold = asyncio.Event()
    seen: list[bytes] = []
    turns_between: list[int] = []
    turns = 0

    async def hear(message: Message) -> None:
        await hold.wait()
        seen.append(message.payload)
        turns_between.append(turns)

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with reader_and_writer(broker.port, handler=hear) as (_, writer):
        for _ in range(200):
            assert await writer.bus.publish(EVENT, b"x")
        counter = asyncio.create_task(count())
        hold.set()
        await until(lambda: len(seen) == 200, "the backlog is handled")
        counter.cancel()
    assert len(set(turns_between)) >= 199  # another task ran between any two of them


# The wire


async def test_small_packets_are_not_held_back(broker: Broker) -> None:
    core = Peer(broker.port, "core", EVENT)
    async with at_work(core):
        connection = core.bus._connection
        assert connection is not None
        # Nothing public tells, and a hop's latency alone would be a noisy witness.
        line = connection._client.socket()
        assert isinstance(line, socket.socket)
        assert line.getpeername()[0] == LOOPBACK
        assert line.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


async def test_a_post_is_in_the_socket_when_it_returns_however_much_is_unacknowledged() -> None:
    loop = asyncio.get_running_loop()
    with socket.create_server((LOOPBACK, 0)) as server:
        server.setblocking(False)
        driver = Peer(server.getsockname()[1], "driver")
        task = asyncio.create_task(driver.bus.run())
        line, _ = await loop.sock_accept(server)
        with line:
            line.setblocking(False)
            await loop.sock_recv(line, 1000)
            await loop.sock_sendall(line, CONNACK)
            await until(driver.has_connected, "it connects")
            for number in range(100):
                assert driver.bus.post(EVENT, b"%d" % number)
                # No `await` between: nobody but `post` itself can have written.
                assert line.recv(1000).endswith(b"%d" % number)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_a_hop_is_far_below_the_delay_of_a_missing_nodelay(broker: Broker) -> None:
    taken: list[float] = []
    heard = asyncio.Event()

    async def hear(message: Message) -> None:
        taken.append(time.perf_counter() - float(message.payload))
        heard.set()

    async with reader_and_writer(broker.port, handler=hear) as (_, writer):
        for _ in range(200):
            heard.clear()
            assert writer.bus.post(EVENT, repr(time.perf_counter()).encode())
            await asyncio.wait_for(heard.wait(), 5)
    median = sorted(taken)[100]
    assert median < 0.020  # that delay is of 40 ms


async def test_an_idle_connection_costs_nothing(broker: Broker) -> None:
    """A writer left registered with the loop would be called at every turn, for ever."""
    async with reader_and_writer(broker.port) as (reader, writer):
        for _ in range(100):
            assert writer.bus.post(EVENT, b"x")
        await until(lambda: len(reader.got) == 100, "all arrive")
        used = time.process_time()
        await asyncio.sleep(0.3)  # the time over which is measured; nothing is waited for
        assert time.process_time() - used < 0.1


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
