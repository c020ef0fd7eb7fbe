"""The conformance kit passes the example of the guide, and finds three that are broken."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from events.clock import SystemClock
from events.commands.consumers import Replay
from events.mqtt.bus import Bus, BusSettings, Message
from events.mqtt.topics import Topics
from simulators.conformance.book import ConsumerBook, read_book, right_book
from simulators.conformance.log import FEWEST, SampleLog, make_sample_log
from simulators.conformance.server import CageFeed, ConformanceResult
from table_core.rulebooks.shipped import load_rulebook
from tests.support.brokers.brokers import Broker
from tests.support.cage.consumers import CAGE_BOOK, cage_book, process, shown
from tests.support.machine.commands import complaint, here, run
from tests.support.machine.waiting import until

TOPICS = Topics("lab", "t1")
SETTLEMENTS = 30

# Programs that overlook one rule of the guide: text of the example, and what stands in its place.
BROKEN = {
    "what comes twice is booked twice": (
        ("id TEXT PRIMARY KEY, reverses", "id TEXT, reverses"),
        (
            "    if position <= here:\n",
            "    if position <= here and said.get('type') != 'coup_settled':\n",
        ),
    ),
    "revisions reverse nothing": (
        ("WHERE id NOT IN (SELECT reverses FROM settlement WHERE reverses NOT NULL) ", ""),
    ),
    "gaps are passed over": (("if position > here + 1 or", "if"),),
}


def feed(seed: int = 1, settlements: int = SETTLEMENTS) -> SampleLog:
    return make_sample_log(seed, settlements, TOPICS, load_rulebook("nz-scale-one"))


async def judged(
    port: int, book: Path, script: Path, *, patience_s: float = 20, book_s: float
) -> ConformanceResult:
    """The verdict on a program, which runs beside the kit."""

    async def look() -> ConsumerBook | None:
        said = await asyncio.to_thread(shown, book, script=script)
        return read_book(json.dumps(said).encode())

    made = CageFeed(
        BusSettings("127.0.0.1", port, "kit"),
        TOPICS,
        "cage",
        feed(),
        seed=1,
        clock=SystemClock(),
        book=look,
    )
    with process(*cage_book(book, port, TOPICS.root, script=script)):
        return await made.run(wait_s=15, patience_s=patience_s, book_s=book_s)


async def test_the_example_of_the_guide_is_found_right(broker: Broker, tmp_path: Path) -> None:
    verdict = await judged(broker.port, tmp_path / "book.sqlite", CAGE_BOOK, book_s=15)
    assert (verdict.ok, verdict.first_difference, verdict.likely) == (True, None, None)
    live = {"twice", "lost", "again"}
    assert verdict.faults.keys() >= live | {"twice in a replay"}
    assert verdict.replays >= 2  # at the start, and at a gap
    assert verdict.settlements >= SETTLEMENTS


@pytest.mark.parametrize("mistake", BROKEN)
async def test_a_broken_consumer_is_found(mistake: str, nats: Broker, tmp_path: Path) -> None:
    text = CAGE_BOOK.read_text(encoding="utf-8")
    for old, new in BROKEN[mistake]:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    script = tmp_path / "broken.py"
    script.write_text(text, encoding="utf-8")
    # One that passes over gaps may never see the last settlement: nothing is gained by waiting.
    patience_s = 6 if mistake == "gaps are passed over" else 20
    verdict = await judged(
        nats.port, tmp_path / "book.sqlite", script, patience_s=patience_s, book_s=0.5
    )
    assert not verdict.ok
    assert verdict.first_difference
    if mistake == "gaps are passed over":
        assert "it went on behind a gap" in verdict.first_difference
    else:
        assert verdict.first_difference.startswith("seat ")
    if mistake == "revisions reverse nothing":
        assert verdict.likely == "it does not take back what a revision reverses"


async def test_a_consumer_that_never_comes_is_told(nats: Broker) -> None:
    settings = BusSettings("127.0.0.1", nats.port, "kit")
    made = CageFeed(settings, TOPICS, "cage", feed(), seed=1, clock=SystemClock())
    verdict = await made.run(wait_s=0.3, patience_s=0.3)
    assert verdict.first_difference == "nobody asked for a replay within 0.3 s"
    assert not verdict.ok


async def test_a_book_may_be_told_on_the_bus_and_a_wrong_acknowledgement_is_found(
    nats: Broker,
) -> None:
    answers: list[dict[str, Any]] = []

    async def answered(message: Message) -> None:
        answers.append(msgspec.json.decode(message.payload))

    bus = Bus(
        BusSettings("127.0.0.1", nats.port, "theirs"),
        subscriptions={TOPICS.response("cage"): answered},
    )
    line = asyncio.create_task(bus.run())
    await until(lambda: bus.connected, "the broker is there")
    log = feed(settlements=FEWEST)
    settings = BusSettings("127.0.0.1", nats.port, "kit")
    made = CageFeed(settings, TOPICS, "cage", log, seed=1, clock=SystemClock())
    running = asyncio.create_task(made.run(wait_s=15, patience_s=3))
    said: list[tuple[str, dict[str, Any]]] = [
        ("replay", msgspec.to_builtins(Replay(transaction="r", start=1))),
        ("ack", {"transaction": "a", "consumer": "cage", "position": 10**6}),
        ("load_shoe", {"transaction": "l", "shoe": "20261127-01"}),
        ("book", {"transaction": "n", "seats": {"seat three": {}}}),
        ("book", {"transaction": "b", **msgspec.to_builtins(right_book(log.settlements))}),
    ]
    for name, body in said:
        before = len(answers)
        # The kit may not listen yet; it does not for ever.
        while len(answers) == before and not running.done():
            await bus.publish(TOPICS.request("cage", name), msgspec.json.encode(body))
            await asyncio.sleep(0.05)
    verdict = await running
    line.cancel()
    await asyncio.wait({line})
    results = {answer["transaction"]: answer.get("code", answer["result"]) for answer in answers}
    assert results == {
        "r": "accepted",
        "a": "unknown_position",
        "l": "not_allowed",
        "n": "invalid_request",
        "b": "accepted",
    }
    assert verdict.first_difference
    assert "acknowledged what is not there: position 1000000" in verdict.first_difference


def test_the_command_says_yes_with_0_and_no_with_1(nats: Broker, tmp_path: Path) -> None:
    """As an integrator runs it: the kit and the consumer are two programs, the book is a file."""
    book, told, over = tmp_path / "book.sqlite", tmp_path / "book.json", threading.Event()

    def tell() -> None:
        while not over.wait(0.1):
            if book.exists():
                told.write_text(json.dumps(shown(book)), encoding="utf-8")

    bus = f"127.0.0.1:{nats.port}"
    command = ("sim", "cage-feed", "--bus", bus, "--json")
    options = ("--settlements", "30", "--book", told, "--patience", "20")
    telling = threading.Thread(target=tell)
    telling.start()
    try:
        with process(*cage_book(book, nats.port, TOPICS.root)):
            done = run(*command, *options)
    finally:
        over.set()
        telling.join()
    assert (done.code, json.loads(done.out)["ok"]) == (0, True), done
    no = run(*command, "--wait", "0.3")
    assert (no.code, json.loads(no.out)["ok"]) == (1, False), no


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (("--bus", "somewhere"), "write HOST:PORT"),
        (("--bus", "localhost:99999"), "write HOST:PORT"),
        (("--bus", "localhost:1883", "--site", "A"), "site 'A'"),
        (("--bus", "localhost:1883", "--user", "a b"), "user 'a b'"),
        (("--bus", "localhost:1883", "--settlements", "3"), "20"),
        (("--bus", "localhost:1883", "--rulebook", "none-such"), "none-such"),
    ],
)
def test_bad_input_is_said_in_one_line(options: tuple[str, ...], wrong: str) -> None:
    assert wrong in complaint(here("sim", "cage-feed", *options))
