"""`baccarat.library`: what is promised is there, and answers what the commands answer."""

import asyncio
import inspect
import json
import re
from pathlib import Path

import pytest

import baccarat.library as promised
from baccarat.library import (
    BusSettings,
    PublishedEnvelope,
    decode_capture,
    listen,
    read_log,
    verify_log,
)
from events.errors import BusError, InputError
from events.log.reader import reading
from events.mqtt.bus import Bus
from events.mqtt.topics import Topics
from tests.house.sources import texts
from tests.support.brokers.brokers import Broker
from tests.support.log.corpus import CORPUS
from tests.support.shoe.shoe_bytes import said, stream

PROMISE = """
decode_capture(data: bytes, profile: str) -> list[ShoeEvent]
house_edges(rulebook: Rulebook) -> dict[str, Fraction]
judge_case(rulebook: Rulebook, cards: Sequence[Card], wagers: Sequence[Wager]) -> Judgement | CaseError
listen(broker: BusSettings, site: str, table: str) -> AsyncGenerator[PublishedEnvelope, None]
load_rulebook(rulebook_id: str) -> Rulebook
parse_card(text: str) -> Card
parse_rulebook(name: str, source: bytes) -> Rulebook
project_roads(roads: Roads) -> RoadsView
read_log(path: Path) -> Iterator[Entry]
read_results(text: str) -> Roads
verify_log(path: Path, *keys: str) -> VerificationResult
"""  # noqa: E501 - a signature a line
"""Written here, so that nobody changes one without noticing that others call it."""
_MODULE = re.compile(r"\b(?:[a-z_]+\.)+(?=[A-Z])")
LOG = CORPUS / "0.1.0" / "table.sqlite"


def test_the_names_and_their_arguments_are_the_promised_ones() -> None:
    functions = {
        name: found
        for name in promised.__all__
        if inspect.isroutine(found := getattr(promised, name))
    }
    signed = [f"{name}{inspect.signature(each)}" for name, each in sorted(functions.items())]
    assert [_MODULE.sub("", each) for each in signed] == PROMISE.strip().splitlines()
    page = texts()["docs/integrate/library.md"]
    assert [name for name in functions if f"{name}" not in page] == []


def test_a_log_is_read_and_verified() -> None:
    entries = list(read_log(LOG))
    verdict = verify_log(LOG)
    assert (verdict.ok, verdict.events) == (True, len(entries))
    assert [entry.position for entry in entries] == list(range(1, len(entries) + 1))
    with pytest.raises(InputError):
        verify_log(LOG, "no key")
    with pytest.raises(InputError):
        list(read_log(Path("no.sqlite")))


def test_a_capture_is_decoded() -> None:
    events = decode_capture(stream("D P1 8S, D B1 KC"), "enq-bcc")
    assert said(events)[-2:] == ["card_drawn player 1 8S", "card_drawn banker 1 KC"]


async def test_a_table_is_listened_to(broker: Broker) -> None:
    topics = Topics("sydney", "t1")
    publisher = Bus(BusSettings("127.0.0.1", broker.port, "publisher"), subscriptions={})
    with reading(LOG) as log:
        stored = json.loads(next(iter(log.read())).stored)
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(publisher.run())
        told = listen(BusSettings("127.0.0.1", broker.port, "listener"), "sydney", "t1")
        first = asyncio.ensure_future(anext(told))
        while not first.done():  # until the listener is there
            await publisher.publish(topics.event, json.dumps(stored | {"hash": "00"}).encode())
            await asyncio.sleep(0.01)
        assert (first.result().position, first.result().type) == (1, stored["type"])
        assert isinstance(first.result(), PublishedEnvelope)
        await told.aclose()
        running.cancel()


async def test_a_refused_login_is_an_error() -> None:
    with pytest.raises(BusError):
        await anext(listen(BusSettings("127.0.0.1", 9, "nobody", ca=Path("no.pem")), "a", "b"))
