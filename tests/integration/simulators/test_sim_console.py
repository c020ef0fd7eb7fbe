"""A console's requests over real brokers that lose things, to a table made of a plain client."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from events.commands.base import Answer
from events.commands.shoe import LoadShoe
from events.commands.wagers import PlaceWager, WagerRequest
from events.errors import OurBug
from events.mqtt.bus import BusSettings
from simulators.people.console import Console, ConsoleTimeouts
from tests.support.brokers.brokers import Broker
from tests.support.machine.tasks import background
from tests.support.machine.waiting import PATIENCE_SECONDS, until
from tests.support.service.small_table import HOST, TOPICS, small_table

LOAD = LoadShoe(transaction="l-1", shoe="20261127-01")
QUICK = ConsoleTimeouts(answer=0.1, back_off=0.02, back_off_most=0.1)
# Where what was sent is counted: an answer that is merely late must not be asked for again.
PATIENT = ConsoleTimeouts(answer=PATIENCE_SECONDS, back_off=0.02, back_off_most=0.1)

Reply = Callable[[list[bytes]], dict[str, Any] | bytes | None]
"""What the table answers, given all bodies it got so far; None is silence."""


@asynccontextmanager
async def _table(broker: Broker, reply: Reply) -> AsyncIterator[list[bytes]]:
    """A table that answers what `reply` says; yields the bodies it was sent."""
    bodies: list[bytes] = []

    async def asked(_: str, __: str, body: bytes) -> dict[str, Any] | bytes | None:
        bodies.append(body)
        return reply(bodies)

    async with small_table(broker.port, asked):
        yield bodies


@asynccontextmanager
async def _console(
    broker: Broker, *users: str, waits: ConsoleTimeouts = QUICK
) -> AsyncIterator[Console]:
    settings = BusSettings(HOST, broker.port, "console")
    console = Console(settings, TOPICS, users or ("dealer",), waits=waits)
    async with background(console.run()), asyncio.timeout(PATIENCE_SECONDS):
        yield console


def _accepted(transaction: str = "l-1") -> dict[str, Any]:
    return {"transaction": transaction, "result": "accepted", "position": 7}


async def test_a_request_is_answered(broker: Broker) -> None:
    async with (
        _table(broker, lambda _: _accepted()) as bodies,
        _console(broker, waits=PATIENT) as console,
    ):
        answer = await console.request("dealer", LOAD)
    assert answer == Answer(transaction="l-1", result="accepted", position=7)
    assert [json.loads(body) for body in bodies] == [{"transaction": "l-1", "shoe": "20261127-01"}]


async def test_a_lost_answer_makes_it_send_the_very_same_again(nats: Broker) -> None:
    def reply(bodies: list[bytes]) -> dict[str, Any] | None:
        return _accepted() | {"result": "exists"} if len(bodies) >= 3 else None

    async with _table(nats, reply) as bodies, _console(nats) as console:
        answer = await console.request("dealer", LOAD)
        assert console.resent >= 2
    assert answer.result == "exists"
    assert len(bodies) >= 3
    assert len(set(bodies)) == 1


async def test_a_table_that_is_catching_up_is_asked_again_until_it_has(nats: Broker) -> None:
    def reply(bodies: list[bytes]) -> dict[str, Any]:
        if len(bodies) < 4:
            return {"transaction": "l-1", "result": "refused", "code": "catching_up", "text": ""}
        return _accepted()

    async with _table(nats, reply) as bodies, _console(nats, waits=PATIENT) as console:
        assert (await console.request("dealer", LOAD)).result == "accepted"
    assert len(bodies) == 4


async def test_any_other_refusal_is_the_answer(nats: Broker) -> None:
    no = Answer(transaction="l-1", result="refused", code="shoe_in_play", text="no")
    async with (
        _table(nats, lambda _: msgspec.json.encode(no)) as bodies,
        _console(nats, waits=PATIENT) as console,
    ):
        answer = await console.request("dealer", LOAD)
        again = await console.request("dealer", LOAD)
    assert answer == again == no
    assert len(bodies) == 2


JUNK = (
    b"\xff\xfe",
    b"[" * 100_000,
    b"{}",
    b"",
    b'{"transaction":"l-2","result":"accepted"}',
    b'{"transaction":"l-1"}',
)


async def test_junk_answers_nothing(nats: Broker) -> None:
    def reply(bodies: list[bytes]) -> dict[str, Any] | bytes:
        return JUNK[len(bodies) - 1] if len(bodies) <= len(JUNK) else _accepted()

    async with _table(nats, reply) as bodies, _console(nats) as console:
        assert (await console.request("dealer", LOAD)).position == 7
    assert len(bodies) > len(JUNK)


async def test_users_and_transactions_are_told_apart_when_asked_at_once(broker: Broker) -> None:
    def reply(bodies: list[bytes]) -> dict[str, Any]:
        asked = json.loads(bodies[-1])
        position = 100 * len(asked.get("wagers", [])) + int(asked["transaction"].split("-")[1])
        return _accepted(asked["transaction"]) | {"position": position}

    wager = WagerRequest(seat=1, bet="player", stake=100)
    async with (
        _table(broker, reply) as bodies,
        _console(broker, "dealer", "wagers", waits=PATIENT) as console,
    ):
        # Before that each tries again by itself.
        await until(lambda: console.connected, "it is connected")
        asks = [console.request("dealer", LOAD)]
        for n in range(1, 8):
            place = PlaceWager(transaction=f"w-{n}", wagers=(wager,))
            asks.append(console.request("wagers", place))
        answers = await asyncio.gather(*asks)
    assert [answer.position for answer in answers] == [1, *range(101, 108)]
    transactions = [json.loads(body)["transaction"] for body in bodies]
    assert transactions == ["l-1", *(f"w-{n}" for n in range(1, 8))], "sent in the order asked"


async def test_a_request_outlives_a_broker_that_is_killed_and_wiped(broker: Broker) -> None:
    allowed = asyncio.Event()

    def reply(_: list[bytes]) -> dict[str, Any] | None:
        return _accepted() if allowed.is_set() else None

    async with _table(broker, reply) as bodies, _console(broker) as console:
        asking = asyncio.create_task(console.request("dealer", LOAD))
        await until(lambda: bool(bodies), "it has asked")
        broker.kill()
        broker.restart(wipe=True)
        allowed.set()
        assert (await asking).result == "accepted"
    assert len(set(bodies)) == 1


async def test_it_waits_for_a_broker_that_is_not_there_yet(broker: Broker) -> None:
    broker.stop()
    async with _console(broker) as console:
        asking = asyncio.create_task(console.request("dealer", LOAD))
        await until(lambda: console.resent >= 3, "it has asked in vain")
        broker.restart()
        async with _table(broker, lambda _: _accepted()):
            assert (await asking).result == "accepted"


async def test_asking_the_same_twice_at_once_or_for_a_stranger_is_our_bug(nats: Broker) -> None:
    async with _table(nats, lambda _: None), _console(nats) as console:
        asking = asyncio.create_task(console.request("dealer", LOAD))
        await asyncio.sleep(0)
        with pytest.raises(OurBug):
            await console.request("dealer", LOAD)
        with pytest.raises(OurBug):
            await console.request("cage", LOAD)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
