"""How the bus port connects, is refused, loses its broker, and ends."""

import asyncio
import gc
import re
import time
from pathlib import Path

import pytest
from structlog.testing import capture_logs

import events.mqtt.bus
import events.mqtt.connection
from baccarat.local_brokers.nats import EmbeddedBroker
from events.errors import BusError, OurBug
from events.mqtt.connection import ACK_SECONDS
from events.mqtt.messages import Message, Publication
from tests.support.brokers.brokers import Broker, freeze, thaw
from tests.support.brokers.mqtt_packets import CONNECT, PUBLISH, SUBSCRIBE
from tests.support.brokers.peers import EVENT, STATE, STATUS, Peer, at_work, reader_and_writer
from tests.support.brokers.rude_broker import CONNACK, Line, rude_broker
from tests.support.machine.waiting import until

# Connecting


async def test_handlers_wait_until_on_connect_has_published_and_been_acknowledged(
    broker: Broker,
) -> None:
    story: list[str] = []

    async def greet(peer: Peer) -> None:
        for number in range(20):
            assert await peer.bus.publish(EVENT, b"%d" % number)
        story.append("on_connect done")

    async def hear(message: Message) -> None:
        story.append(message.payload.decode())

    core = Peer(broker.port, "core", EVENT, on_connect=greet, handler=hear)
    async with at_work(core):
        await until(lambda: len(story) == 21, "its own messages come back")
    assert story == ["on_connect done", *map(str, range(20))]


async def test_a_message_that_comes_before_the_suback_is_handled_after_on_connect() -> None:
    async def script(line: Line) -> None:
        await line.expect(CONNECT)
        line.write(CONNACK)
        subscribe = await line.expect(SUBSCRIBE)
        line.publish(EVENT.encode(), b"early", 1)
        line.suback(subscribe, 1)
        await line.expect(0x40)  # PUBACK
        await line.read()

    async def greet(peer: Peer) -> None:
        for _ in range(50):  # turns of the loop in which the message has long been there
            await asyncio.sleep(0)
        assert peer.got == []

    async with rude_broker(script) as port:
        core = Peer(port, "core", EVENT, on_connect=greet)
        async with at_work(core):
            await until(lambda: core.got, "the early message is handled")
    assert core.got == [Message(EVENT, b"early", retain=False)]


async def test_a_message_is_acknowledged_in_one_write_with_its_answer() -> None:
    written: list[bytes] = []

    async def script(line: Line) -> None:
        await line.expect(CONNECT)
        line.write(CONNACK)
        line.suback(await line.expect(SUBSCRIBE), 1)
        await line.expect(PUBLISH)
        line.publish(EVENT.encode(), b"asks", 7)
        written.append(await line.written())
        await line.read()

    async def greet(peer: Peer) -> None:
        assert peer.bus.post(STATE, b"up")

    async def answer(_: Message) -> None:
        assert core.bus.post(STATE, b"answer")

    async with rude_broker(script) as port:
        core = Peer(port, "core", EVENT, handler=answer, on_connect=greet)
        async with at_work(core):
            await until(lambda: written, "it is acknowledged")
    assert written[0].startswith(b"\x40\x02\x00\x07")
    assert written[0].endswith(b"answer")


@pytest.mark.parametrize("wipe", [False, True], ids=["kept", "wiped"])
async def test_a_killed_broker_comes_back_and_finds_everybody_again(
    broker: Broker, wipe: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def birth(peer: Peer) -> None:
        assert await peer.bus.publish(STATE, b"born %d" % peer.connects, retain=True)

    core = Peer(broker.port, "core", EVENT, on_connect=birth)
    driver = Peer(broker.port, "driver")
    async with at_work(core, driver):
        for round_ in (1, 2):
            broker.kill()
            await until(lambda: not core.bus.connected, "the loss is noticed")
            assert not core.bus.post(STATE, b"lost", retain=True)
            broker.restart(wipe=wipe)
            await until(lambda n=round_: core.connects > n and driver.connects > n, "both return")
            assert core.disconnects == round_
            assert await driver.bus.publish(EVENT, b"%d" % round_)
            await until(lambda n=round_: len(core.got) == n, "the subscription is back")
        display = Peer(broker.port, "display", STATE)
        async with at_work(display):
            await until(lambda: display.got, "the retained birth is back")
    assert core.payloads == [b"1", b"2"]
    assert display.got == [Message(STATE, b"born 2", retain=True)]
    assert caplog.records == []  # the libraries beneath say nothing of their own


async def test_offline_nothing_is_promised(broker: Broker) -> None:
    writer = Peer(broker.port, "driver")
    assert not writer.bus.connected
    assert not writer.bus.post(EVENT, b"before")
    assert not await writer.bus.publish(EVENT, b"before")
    async with at_work(writer):
        broker.kill()
        await until(lambda: not writer.bus.connected, "the loss is noticed")
        assert not writer.bus.post(EVENT, b"down")
        assert not await writer.bus.publish(EVENT, b"down")


async def test_who_waits_for_an_acknowledgement_learns_at_once_that_none_will_come(
    broker: Broker,
) -> None:
    writer = Peer(broker.port, "driver")
    async with at_work(writer):
        freeze(broker)
        waiting = [asyncio.ensure_future(writer.bus.publish(EVENT, b"x")) for _ in range(5)]
        assert writer.bus.post(EVENT, b"x")
        await asyncio.wait(waiting, timeout=0.05)
        assert not any(each.done() for each in waiting)
        began = time.monotonic()
        broker.kill()
        assert await asyncio.gather(*waiting) == [False] * 5
        assert time.monotonic() - began < ACK_SECONDS / 2  # it does not wait for its turn


async def test_a_broker_that_hangs_up_before_it_welcomes_is_asked_again_soon_and_logged_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(events.mqtt.connection, "CONNECT_SECONDS", 30.0)
    calls = 0

    async def script(line: Line) -> None:
        nonlocal calls
        calls += 1
        await line.expect(CONNECT)

    began = time.monotonic()
    async with rude_broker(script) as port:
        with capture_logs() as logs:
            task = asyncio.create_task(Peer(port, "core", EVENT).bus.run())
            await until(lambda: calls >= 4, "it asks again")
            assert time.monotonic() - began < 30.0  # it waits for no CONNACK in vain
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    assert [entry["event"] for entry in logs] == ["bus_unreachable"]


async def test_who_is_thrown_out_comes_back_ever_more_slowly() -> None:
    times: list[float] = []

    async def script(line: Line) -> None:
        await line.expect(CONNECT)
        line.write(CONNACK)
        line.suback(await line.expect(SUBSCRIBE), 1)
        times.append(time.monotonic())  # and out

    async with rude_broker(script) as port:
        core = Peer(port, "core", EVENT)
        async with at_work(core):
            await until(lambda: len(times) == 6, "it comes back")
    # The pauses are at least half of 0.05, 0.1, 0.2, 0.4, 0.8 seconds.
    assert times[-1] - times[0] > 0.775
    assert core.disconnects == core.connects


async def test_nobody_guesses_a_client_id_and_two_of_one_service_live_side_by_side(
    broker: Broker,
) -> None:
    first, second = Peer(broker.port, "core", EVENT), Peer(broker.port, "core", EVENT)
    async with at_work(first), at_work(second):
        await until(lambda: first.connects == second.connects == 1, "both are let in")
        assert await first.bus.publish(EVENT, b"x")
        await until(lambda: first.got != [] and second.got != [], "both hear")
    assert (first.connects, second.connects) == (1, 1)


async def test_a_client_id_lasts_as_long_as_its_bus_and_ends_in_64_random_bits() -> None:
    ids: list[bytes] = []

    async def script(line: Line) -> None:
        ids.append(bytes(await line.expect(CONNECT)))
        line.write(CONNACK)
        line.suback(await line.expect(SUBSCRIBE), 1)  # and out

    async with rude_broker(script) as port:
        for seen in (0, 2):
            async with at_work(Peer(port, "core", EVENT)):
                await until(lambda: len(ids) >= seen + 2, "it comes back")  # noqa: B023 - asked within this turn
            del ids[seen + 2 :]
    found = [re.search(rb"core-([0-9a-f]{16})", each) for each in ids]
    suffixes = [each[1] for each in found if each]
    assert len(suffixes) == len(ids)
    assert len(set(suffixes)) == 2


async def test_a_broker_that_acknowledges_nothing_fills_the_window_and_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(events.mqtt.connection, "ACK_SECONDS", 0.3)
    monkeypatch.setattr(events.mqtt.connection, "WINDOW_MESSAGES", 50)

    async def script(line: Line) -> None:
        await line.expect(CONNECT)
        line.write(CONNACK)
        while True:
            await line.expect(PUBLISH)

    async with rude_broker(script) as port:
        driver = Peer(port, "driver")
        with capture_logs() as logs:
            async with at_work(driver):
                assert [driver.bus.post(EVENT, b"x") for _ in range(60)] == [True] * 50 + [
                    False
                ] * 10
                assert not await driver.bus.publish(EVENT, b"x")
                await until(lambda: driver.connects >= 2, "a new connection is made")
                assert driver.bus.post(EVENT, b"x")
    assert any("no acknowledgement" in entry.get("reason", "") for entry in logs)


async def test_the_window_is_bounded_in_bytes_and_keeps_order_when_the_socket_is_full(
    broker: Broker,
) -> None:
    async with reader_and_writer(broker.port) as (reader, writer):
        freeze(broker)
        sent = 0
        while writer.bus.post(EVENT, b"%04d" % sent + bytes(1024 * 1024 - 4)):
            sent += 1
        assert sent == events.mqtt.connection.WINDOW_BYTES // (1024 * 1024)
        thaw(broker)
        await until(lambda: len(reader.got) == sent, "all arrive")
        # What the reader has may be unacknowledged yet to the writer.
        await until(lambda: writer.bus.post(EVENT, b"room again"), "there is room again")
        await until(lambda: len(reader.got) > sent, "that arrives, too")
    sent_in_order = [*(b"%04d" % n for n in range(sent)), b"room"]
    assert [payload[:4] for payload in reader.payloads] == sent_in_order


# Refusals


@pytest.fixture
def guarded(tmp_path: Path) -> "EmbeddedBroker":
    extra = """authorization { users: [
        {user: cage, password: right, permissions: {subscribe: ["ok", "ok.>"], publish: ["ok.>"]}}
    ] }"""
    return EmbeddedBroker.start(tmp_path / "guarded", extra=extra)


async def test_a_refused_subscription_is_loud(guarded: EmbeddedBroker) -> None:
    with guarded:
        allowed = Peer(guarded.port, "a", "ok/#", login=("cage", "right"))
        async with at_work(allowed):
            assert allowed.bus.connected
        peer = Peer(guarded.port, "b", "ok/#", STATE, login=("cage", "right"))
        with pytest.raises(BusError, match=f"refused the subscription to {STATE}$"):
            await asyncio.wait_for(peer.bus.run(), 10)
        assert peer.connects == 0


async def test_a_refused_login_is_loud_and_keeps_the_password_to_itself(
    guarded: EmbeddedBroker,
) -> None:
    with guarded:
        peer = Peer(guarded.port, "a", "ok/#", login=("cage", "not-right"))
        with capture_logs() as logs, pytest.raises(BusError, match="refused the connection"):
            await asyncio.wait_for(peer.bus.run(), 10)
        assert "not-right" not in f"{logs} {peer.bus._settings!r}"


async def test_after_a_good_connection_a_refusal_is_told_once_and_asked_again() -> None:
    """Of the login, the identifier and a subscription: the broker's trouble, and not ours."""
    outcomes = ["lost", "login", "login", "identifier", "subscription"]

    async def script(line: Line) -> None:
        outcome = outcomes.pop(0) if outcomes else "good"
        await line.expect(CONNECT)
        if outcome in {"login", "identifier"}:
            line.write(b"\x20\x02\x00" + (b"\x05" if outcome == "login" else b"\x02"))
            await line.read()
        line.write(CONNACK)
        line.suback(await line.expect(SUBSCRIBE), 0x80 if outcome == "subscription" else 1)
        if outcome == "good":
            await line.read()

    async with rude_broker(script) as port:
        core = Peer(port, "core", EVENT)
        with capture_logs() as logs:
            async with at_work(core):
                await until(lambda: core.connects == 2, "it comes back")
                assert core.bus.connected
    said = [entry["reason"] for entry in logs if entry["event"] == "bus_unreachable"]
    assert said == [
        "the broker refused the connection: Not authorized",
        "the broker refused the connection: Client identifier not valid",
        f"the broker refused the subscription to {EVENT}",
    ]
    assert core.disconnects == 2


# Ends


async def test_a_handlers_exception_ends_run_and_the_will_is_spoken(broker: Broker) -> None:
    async def broken(message: Message) -> None:
        raise OurBug(f"cannot fold {message.payload!r}")

    observer = Peer(broker.port, "observer", STATUS)
    core = Peer(
        broker.port, "core", EVENT, handler=broken, will=Publication(STATUS, b"gone", retain=True)
    )
    async with at_work(observer):
        task = asyncio.create_task(core.bus.run())
        await until(core.has_connected, "it connects")
        assert await observer.bus.publish(EVENT, b"7")
        with pytest.raises(OurBug, match="cannot fold b'7'"):
            await asyncio.wait_for(task, 10)
        assert core.disconnects == 1
        await until(lambda: observer.got, "the Will is spoken")
    assert observer.payloads == [b"gone"]


async def test_a_cancelled_service_is_offline_too_and_its_last_word_came_first(
    broker: Broker,
) -> None:
    observer = Peer(broker.port, "observer", STATUS)
    core = Peer(broker.port, "core", will=Publication(STATUS, b"gone", retain=True))
    async with at_work(observer):
        async with at_work(core):
            assert await core.bus.publish(STATUS, b"closing", retain=True)
        await until(lambda: len(observer.got) == 2, "the Will is spoken")
    assert observer.payloads == [b"closing", b"gone"]


def _descriptors() -> int:
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_nothing_is_left_behind_whenever_it_is_cancelled(broker: Broker) -> None:
    """Cancelled after every so many turns of the loop: in the attempt, in between, at work."""
    await asyncio.to_thread(int)  # so that the executor's own thread is there before we count
    gc.collect()
    gc.freeze()  # what other tests have imported is collected once, and not at each count
    descriptors = _descriptors()
    for turns in [*range(30), 40, 60, 100, 200]:
        task = asyncio.create_task(Peer(broker.port, "core", EVENT).bus.run())
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}, f"after {turns} turns"
        await asyncio.sleep(0)
        assert _descriptors() == descriptors, f"after {turns} turns"
    gc.unfreeze()


async def test_nothing_is_left_behind_by_a_broker_that_never_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(events.mqtt.connection, "CONNECT_SECONDS", 0.2)
    calls = 0

    async def script(line: Line) -> None:
        nonlocal calls
        calls += 1
        await line.expect(CONNECT)
        if calls % 2:  # every other time it even welcomes, and then ignores the SUBSCRIBE
            line.write(CONNACK)
        await line.expect(SUBSCRIBE)
        await line.read()

    async with rude_broker(script) as port:
        before = asyncio.all_tasks()
        task = asyncio.create_task(Peer(port, "core", EVENT).bus.run())
        await until(lambda: calls >= 4, "it tries again")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        ours = {each for each in asyncio.all_tasks() - before if "misc" in repr(each)}
        assert ours == set()
