"""What an integrator is given: examples in Python, shell and C, the schemas, the conformance kit.

The examples keep a right book of a running table through kills; every message of a table is one
that the schemas describe; the kit finds what is wrong with a consumer.
"""

import asyncio
import json
import re
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator

from baccarat.contract.asyncapi import CHANNELS
from baccarat.contract.asyncapi import ROOT as TOPIC_ROOT
from baccarat.contract.schemas import bundle
from events.cards import Card, Hand
from events.clock import SystemClock
from events.commands import (
    Ack,
    AcknowledgeAlarm,
    AssignDealer,
    CloseBetting,
    CorrectCard,
    OpenBetting,
    PlaceWager,
    Preview,
    Replay,
    SetLimits,
    ShowCoup,
    VoidCoup,
    WagerRequest,
    WithdrawWager,
)
from events.log.store import EventLog
from events.mqtt.bus import Bus, BusSettings
from events.mqtt.messages import Message
from events.mqtt.topics import Topics
from events.types import BetLimits, DeviceResult, ErrorCleared, ErrorRaised
from simulators.conformance.book import ConsumerBook, read_book, right_book
from simulators.conformance.log import FEWEST, SampleLog, make_sample_log
from simulators.conformance.server import CageFeed, ConformanceResult
from table_core.process.publishers import public_bytes
from table_core.rulebooks.shipped import load_rulebook
from tests.support.brokers.brokers import Broker
from tests.support.cage.consumers import (
    CAGE_BOOK,
    KEEP_EVENTS,
    cage_book,
    process,
    seats_of,
    settlements_of,
    shown,
)
from tests.support.machine.commands import complaint, here, run
from tests.support.machine.tasks import background
from tests.support.machine.waiting import until
from tests.support.service.table_service import TOPICS, Table1, play, played, service
from tests.support.table.coups import NATURAL_NINE, ORDER, SHOE, drawn, shoe_event
from tests.support.table.evidence import KEY


async def coup(table: Table1, number: int) -> None:
    """One more like the first, with two seats; its number begins at 2."""
    await table.ask("dealer", OpenBetting(transaction=f"o{number}"))
    wagers = (
        WagerRequest(seat=1, bet="player", stake=1000 * number),
        WagerRequest(seat=number, bet="banker", stake=500 * number),
    )
    await table.ask("wagers", PlaceWager(transaction=f"w{number}", wagers=wagers))
    await table.ask("dealer", CloseBetting(transaction=f"c{number}"))
    first, before = 3 + 5 * (number - 1), len(table.settlements)
    for seq, ((hand, place), face) in enumerate(zip(ORDER, NATURAL_NINE, strict=True), start=first):
        await table.say(shoe_event(seq, drawn(hand, place, face)))
    await table.say(shoe_event(first + 4, DeviceResult(winner="player")))
    await until(lambda: len(table.settlements) > before, f"coup {number} was not settled")


async def correct(table: Table1) -> None:
    """The first coup had another card, and the second does not count."""
    face = CorrectCard(
        transaction="f",
        hand=Hand.BANKER,
        number=1,
        face=Card.D6,
        reason="camera 4",
        coup=f"{SHOE}/1",
    )
    await table.must("supervisor", face)
    void = VoidCoup(transaction="v", reason="a wrong shoe", coup=f"{SHOE}/2")
    await table.must("supervisor", void)


async def acknowledged(table: Table1, path: Path, consumer: str) -> None:
    """The newest settlement is acknowledged in the log."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as read:
        query = "SELECT max(position) FROM event WHERE type = 'coup_settled'"
        (newest,) = read.execute(query).fetchone()
    await until(lambda: table.settlements[-1].position >= newest, "it is heard here too")

    def told() -> bool:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as read:
            row = read.execute(
                "SELECT position FROM cursor WHERE name = ?", (f"consumer/cage/{consumer}",)
            ).fetchone()
        read.close()
        return bool(row and row[0] >= newest)

    await until(told, f"{consumer} has not acknowledged {newest}")


ORIGIN = "site/t1"


def kept(book: Path) -> int:
    """How far the Python example has come."""
    if not book.exists():
        return 0
    try:
        with sqlite3.connect(f"file:{book}?mode=ro", uri=True) as read:
            found = read.execute("SELECT position FROM reader").fetchone()
    except sqlite3.OperationalError:  # it is being made
        return 0
    read.close()
    return int(found[0]) if found else 0


@pytest.mark.parametrize("language", ["python", "c"])
async def test_the_example_keeps_the_right_book(
    language: str, request: pytest.FixtureRequest, table: Table1, tmp_path: Path
) -> None:
    book, log = tmp_path / "book.sqlite", tmp_path / "table.sqlite"
    command: Sequence[str | Path] = cage_book(book, table.port, TOPICS.root)
    if language == "c":
        program = request.getfixturevalue("program")
        command = (program, book, "127.0.0.1", str(table.port), TOPICS.root)
    async with played(table, tmp_path):  # before it is there
        with process(*command):
            await acknowledged(table, log, "cage")
            await coup(table, 2)
            if language == "python":
                await until(lambda: kept(book) > 10, "nothing is read live")
            else:
                await acknowledged(table, log, "cage")
        await correct(table)  # while it is gone: killed where it stood
        await coup(table, 3)
        with process(*command):
            await acknowledged(table, log, "cage")
            await coup(table, 4)
            await acknowledged(table, log, "cage")
    settlements = settlements_of(log)
    assert [each.revision for each in settlements] == [1, 1, 2, 2, 1, 1]
    assert shown(book) == {"seats": seats_of(settlements)}


async def test_the_shell_example_keeps_every_event(table: Table1, tmp_path: Path) -> None:
    file, log = tmp_path / "events.jsonl", tmp_path / "table.sqlite"
    command = ("sh", KEEP_EVENTS, file, "127.0.0.1", str(table.port), TOPICS.root)
    async with played(table, tmp_path):
        with process(*command):
            await acknowledged(table, log, "events")
        with file.open("ab") as half:
            half.write(b'{"event_id":"cut off')  # as a kill in mid-write would leave it
        await coup(table, 2)
        with process(*command):
            await acknowledged(table, log, "events")
            await correct(table)
            await acknowledged(table, log, "events")
    with EventLog.open(log, ORIGIN) as opened:
        stored = [public_bytes(each) for each in opened.read(1)]
    lines = await asyncio.to_thread(file.read_bytes)
    assert lines.split(b"\n")[:-1] == stored[: lines.count(b"\n")]
    assert lines.count(b"\n") >= table.settlements[-1].position


LAB = Topics("lab", "t1")


def kit(port: int, path: Path, *, seed: int, settlements: int) -> CageFeed:
    """The conformance kit, which looks into the book at this path."""

    async def look() -> ConsumerBook | None:
        said = await asyncio.to_thread(shown, path)
        return read_book(json.dumps(said).encode())

    return CageFeed(
        BusSettings("127.0.0.1", port, "kit"),
        LAB,
        "cage",
        make_sample_log(seed, settlements, LAB, load_rulebook("nz-scale-one")),
        seed=seed,
        clock=SystemClock(),
        book=look,
    )


async def test_it_passes_the_conformance_kit(broker: Broker, program: Path, tmp_path: Path) -> None:
    """Messages that come twice, are lost, or come again late; revisions; voids."""
    path = tmp_path / "book.sqlite"
    made = kit(broker.port, path, seed=4, settlements=40)
    with process(program, path, "127.0.0.1", str(broker.port), LAB.root):
        verdict = await made.run(wait_s=15, patience_s=20, book_s=15)
    assert (verdict.ok, verdict.first_difference) == (True, None)
    assert verdict.faults.keys() >= {"twice", "lost", "again", "twice in a replay"}


async def test_it_comes_back_by_itself_when_the_broker_was_wiped(
    nats: Broker, program: Path, tmp_path: Path
) -> None:
    path = tmp_path / "book.sqlite"
    made = kit(nats.port, path, seed=5, settlements=20)
    with process(program, path, "127.0.0.1", str(nats.port), LAB.root):
        playing = asyncio.create_task(made.run(wait_s=15, patience_s=20, book_s=15))
        await until(path.exists, "it keeps a book")
        nats.kill()
        nats.restart(wipe=True)
        verdict = await playing
    assert (verdict.ok, verdict.first_difference) == (True, None)


BUNDLE = bundle()


def schema_of(topic: str) -> str:
    """The definition for what is said on a topic, by the channels of the AsyncAPI document."""
    for channel in CHANNELS.values():
        pattern = re.sub(
            r"\\{(\w+)\\}", r"(?P<\1>[a-z0-9_-]+)", re.escape(f"{TOPIC_ROOT}/{channel.topic}")
        )
        if found := re.fullmatch(pattern, topic):
            if command := found.groupdict().get("command"):
                return f"request.{command}"
            return channel.messages[0] if len(channel.messages) == 1 else "event"
    raise AssertionError(f"{topic} is no channel of the contract")


async def provoke(table: Table1) -> None:
    """A short run in which as many kinds of message as possible are said."""
    await table.driver_comes()
    limits = SetLimits(transaction="sl", bets=(BetLimits(bet="tie", maximum=40_000),))
    await table.must("supervisor", limits)
    who = AssignDealer(transaction="ad", dealer="d-17", supervisor="s-3")
    await table.must("supervisor", who)
    await play(table)
    face = {"hand": "banker", "number": 1, "face": "6D", "reason": "camera", "coup": f"{SHOE}/1"}
    shown = [
        await table.ask("supervisor", ShowCoup(transaction="sc", coup=f"{SHOE}/1")),
        await table.ask(
            "supervisor",
            Preview(transaction="pv", command="correct_card", body={"transaction": "x"} | face),
        ),
    ]
    assert all(answer.shown for answer in shown)
    right = CorrectCard(
        transaction="cc", hand=Hand.BANKER, number=1, face=Card.D6, reason="c", coup=f"{SHOE}/1"
    )
    await table.must("supervisor", right)
    await second_coup(table)
    newest = table.settlements[-1].position
    await table.ask("cage", Ack(transaction="ak", consumer="cage", position=newest))
    await table.ask("cage", Replay(transaction="rp", start=1))
    await until(lambda: table.replayed and table.replayed[-1].position >= newest, "no replay")


async def second_coup(table: Table1) -> None:
    """Void before its end, with an error of the shoe, a wager taken back and one refused."""
    await table.ask("dealer", OpenBetting(transaction="o2"))
    wagers = tuple(WagerRequest(seat=seat, bet="banker", stake=1000) for seat in (1, 2))
    await table.ask("wagers", PlaceWager(transaction="w2", wagers=wagers))
    back = WithdrawWager(transaction="ww", wagers=("wagers/w2/0",))
    await table.must("wagers", back)
    await table.ask("dealer", CloseBetting(transaction="c2"))
    late = await table.ask("wagers", PlaceWager(transaction="w3", wagers=wagers))
    assert late.code == "betting_closed"
    await table.say(shoe_event(8, drawn(Hand.PLAYER, 1, None)))
    await table.say(shoe_event(9, ErrorRaised(code="cover", latched=False)))
    await until(lambda: table.alarms, "no alarm is told")
    await table.say(shoe_event(10, ErrorCleared(code="cover")))
    void = VoidCoup(transaction="v2", reason="a card was seen")
    await table.must("supervisor", void)
    await table.ask("supervisor", AcknowledgeAlarm(transaction="aa", alarm="none_such"))


async def test_every_message_of_a_run_is_what_its_schema_says(
    table: Table1, tmp_path: Path
) -> None:
    heard: list[Message] = []

    async def keep(message: Message) -> None:
        heard.append(message)

    listener = Bus(
        BusSettings("127.0.0.1", table.port, "listener"), subscriptions={"bac/v1/#": keep}
    )
    async with background(listener.run()):
        await until(lambda: listener.connected, "the listener is there")
        async with service(table.port, tmp_path, key=KEY) as log:
            await provoke(table)
            head = log.position
            await until(lambda: table.states[-1].position >= head, "no state")
            await until(
                lambda: sum(schema_of(m.topic) == "event" for m in heard) >= head,
                "events are not told",
            )
            await until(lambda: any(m.topic == TOPICS.checkpoint for m in heard), "no checkpoint")
        await until(
            lambda: any(
                m.topic == TOPICS.status("table") and b"offline" in m.payload for m in heard
            ),
            "no farewell",
        )

    validators: dict[str, Validator] = {}
    kinds: Counter[str] = Counter()
    for message in heard:
        name = schema_of(message.topic)
        check = validators.setdefault(
            name, Draft202012Validator(BUNDLE | {"$ref": f"#/$defs/{name}"})
        )
        said: Any = message.payload.decode()
        said = said if name == "checkpoint" else json.loads(said)
        if name == "event":  # by its own type at once: a much shorter complaint
            name = f"event.{said['type']}.v{said['v']}"
            Draft202012Validator(BUNDLE | {"$ref": f"#/$defs/{name}"}).validate(said)
        check.validate(said)
        kinds[name] += 1
    said_on = {schema_of(message.topic).partition(".")[0] for message in heard}
    assert said_on == {
        *("status", "shoe", "link", "event", "settlement", "state", "checkpoint", "alarm"),
        *("request", "answer", "display"),
    }
    assert len([name for name in kinds if name.startswith("event.")]) >= 17, kinds
    assert len([name for name in kinds if name.startswith("request.")]) >= 14, kinds


async def test_what_is_said_on_no_channel_is_noticed() -> None:
    assert schema_of(TOPICS.request("cage", "ack")) == "request.ack"
    assert schema_of(TOPICS.replayed("cage")) == "event"
    for topic in ("bac/v1/site/t1/events", "bac/v1/site/t1/request/cage", "bac/v1/Site/t1/state"):
        with pytest.raises(AssertionError, match=topic):
            schema_of(topic)


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
    return make_sample_log(seed, settlements, LAB, load_rulebook("nz-scale-one"))


async def judged(
    port: int, book: Path, script: Path, *, patience_s: float = 20, book_s: float
) -> ConformanceResult:
    """The verdict on a program, which runs beside the kit."""

    async def look() -> ConsumerBook | None:
        said = await asyncio.to_thread(shown, book, script=script)
        return read_book(json.dumps(said).encode())

    made = CageFeed(
        BusSettings("127.0.0.1", port, "kit"),
        LAB,
        "cage",
        feed(),
        seed=1,
        clock=SystemClock(),
        book=look,
    )
    with process(*cage_book(book, port, LAB.root, script=script)):
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
    # A gap that a late replay fills before it is acknowledged shows in the book alone.
    gap = "" if mistake != "gaps are passed over" else "|.* it went on behind a gap"
    assert re.match(rf"seat \d{gap}", verdict.first_difference)
    if mistake == "revisions reverse nothing":
        assert verdict.likely == "it does not take back what a revision reverses"


async def test_a_consumer_that_never_comes_is_told(nats: Broker) -> None:
    settings = BusSettings("127.0.0.1", nats.port, "kit")
    made = CageFeed(settings, LAB, "cage", feed(), seed=1, clock=SystemClock())
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
        subscriptions={LAB.response("cage"): answered},
    )
    line = asyncio.create_task(bus.run())
    await until(lambda: bus.connected, "the broker is there")
    log = feed(settlements=FEWEST)
    settings = BusSettings("127.0.0.1", nats.port, "kit")
    made = CageFeed(settings, LAB, "cage", log, seed=1, clock=SystemClock())
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
            await bus.publish(LAB.request("cage", name), msgspec.json.encode(body))
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


@contextmanager
def told_in(told: Path, book: Path) -> Iterator[None]:
    """The book of the Python example, written to a file again and again."""
    over = threading.Event()

    def tell() -> None:
        while not over.wait(0.1):
            if book.exists():
                told.write_text(json.dumps(shown(book)), encoding="utf-8")

    telling = threading.Thread(target=tell)
    telling.start()
    try:
        yield
    finally:
        over.set()
        telling.join()


def test_the_command_says_yes_with_0_and_no_with_1(nats: Broker, tmp_path: Path) -> None:
    """As an integrator runs it: the kit and the consumer are two programs, the book is a file."""
    book, told = tmp_path / "book.sqlite", tmp_path / "book.json"
    bus = f"127.0.0.1:{nats.port}"
    command = ("sim", "cage-feed", "--bus", bus, "--json")
    options = ("--settlements", "30", "--book", told, "--patience", "20")
    with told_in(told, book), process(*cage_book(book, nats.port, LAB.root)):
        done = run(*command, *options)
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
