"""The table as a service, over a real broker, with the driver's side spoken by the test itself."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import msgspec
import pytest

from events.bus import Bus, BusSettings, Message
from events.cards import Hand
from events.clock import SystemClock
from events.codec import Envelope
from events.commands import (
    COMMAND_NAMES,
    Ack,
    Answer,
    CloseBetting,
    Command,
    LoadShoe,
    OpenBetting,
    PlaceWager,
    Replay,
    WagerRequest,
)
from events.log import EventLog
from events.presence import Herald, read_status
from events.shoe import DeviceResult, LinkOpen, LinkStatus, LinkUp, ShoeAck, ShoeEvent
from events.topics import Topics
from table_core.shell.service import TableService
from table_core.shell.table import Table
from table_core.stores import load_rulebook
from table_core.view import StateView
from tests.support.brokers import Broker
from tests.support.coups import NATURAL_NINE, ORDER, SHOE, drawn, shoe_event
from tests.support.waiting import until

TOPICS = Topics("site", "t1")
ROLES = {name: frozenset({name}) for name in ("dealer", "supervisor", "wagers", "cage", "display")}


class Published(Envelope, frozen=True, kw_only=True, forbid_unknown_fields=True):
    hash: str


class Table1:
    """The service under test, and everybody else at the table in one bus client."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.answers: list[tuple[str, Answer]] = []
        self.events: list[Published] = []
        self.settlements: list[Published] = []
        self.replayed: list[Published] = []
        self.states: list[StateView] = []
        self.acks: list[ShoeAck] = []
        self.statuses: list[bytes] = []
        self.requests: list[Message] = []
        self.head: int | None = None  # the driver's newest number; None while it is not there
        self.driver = Herald(TOPICS.status("shoe"), 1, SystemClock())
        self.bus = Bus(
            BusSettings("127.0.0.1", port, "everybody"),
            will=self.driver.will,
            subscriptions={
                f"{TOPICS.root}/response/+": self._on_answer,
                f"{TOPICS.root}/response/+/events": self._on_replayed,
                TOPICS.event: self._on_event,
                TOPICS.settlement: self._on_settlement,
                TOPICS.state: self._on_state,
                TOPICS.shoe_ack: self._on_ack,
                TOPICS.status("table"): self._on_status,
                f"{TOPICS.root}/request/display/+": self._on_request,
            },
        )

    async def _on_answer(self, message: Message) -> None:
        user = message.topic.rpartition("/")[2]
        self.answers.append((user, msgspec.json.decode(message.payload, type=Answer)))

    async def _on_replayed(self, message: Message) -> None:
        self.replayed.append(msgspec.json.decode(message.payload, type=Published))

    async def _on_event(self, message: Message) -> None:
        self.events.append(msgspec.json.decode(message.payload, type=Published))

    async def _on_settlement(self, message: Message) -> None:
        self.settlements.append(msgspec.json.decode(message.payload, type=Published))

    async def _on_state(self, message: Message) -> None:
        self.states.append(msgspec.json.decode(message.payload, type=StateView))

    async def _on_ack(self, message: Message) -> None:
        ack = msgspec.json.decode(message.payload, type=ShoeAck)
        self.acks.append(ack)
        if ack.hello and self.head is not None:
            await self.link(self.head)

    async def _on_status(self, message: Message) -> None:
        self.statuses.append(message.payload)

    async def _on_request(self, message: Message) -> None:
        self.requests.append(message)

    async def ask(self, user: str, command: Command) -> Answer:
        topic = TOPICS.request(user, COMMAND_NAMES[type(command)])
        return await self.send(user, topic, msgspec.json.encode(command), command.transaction)

    async def send(
        self, user: str, topic: str, body: bytes, transaction: str, *, retain: bool = False
    ) -> Answer:
        before = len(self.answers)
        assert await self.bus.publish(topic, body, retain=retain)

        def answered() -> list[Answer]:
            return [
                answer
                for whom, answer in self.answers[before:]
                if (whom, answer.transaction) == (user, transaction)
            ]

        await until(answered, f"no answer to {topic}")
        return answered()[0]

    async def say(self, event: ShoeEvent) -> None:
        await self.bus.publish(TOPICS.shoe_event, msgspec.json.encode(event))

    async def link(self, head: int, *, retain: bool = True) -> None:
        status = LinkStatus(
            state="up",
            profile="enq-bcc",
            transport="pty:x",
            last_frame_age_ms=1,
            loss_detection="weak",
            reports=head,
            short_copies=0,
            rejected=0,
            journal="j1",
            head=head,
            reason="",
        )
        await self.bus.publish(TOPICS.link_shoe, msgspec.json.encode(status), retain=retain)

    async def core_comes(self) -> None:
        await until(lambda: any(ack.hello for ack in self.acks), "the core says no hello")

    async def driver_comes(self) -> None:
        """The driver is there, and the shoe link is up: events 1 and 2."""
        await self.core_comes()
        assert self.driver.announce(self.bus)
        self.head = 2
        await self.link(2)
        await self.say(shoe_event(1, LinkOpen(transport="pty:x")))
        await self.say(shoe_event(2, LinkUp()))
        await until(lambda: self.states and not self.states[-1].catching_up, "never caught up")


@asynccontextmanager
async def service(port: int, folder: Path) -> AsyncIterator[asyncio.Event]:
    """The service, until the block ends or the event that it yields is set."""
    stop = asyncio.Event()
    with EventLog.open(folder / "table.sqlite", "site/t1") as log:
        clock = SystemClock()
        table = Table(log, TOPICS, load_rulebook("au-commission"), clock, roles=ROLES)
        settings = BusSettings("127.0.0.1", port, "table")
        running = asyncio.create_task(TableService(table, log, TOPICS, settings, clock).run(stop))
        try:
            yield stop
        finally:
            stop.set()
            await running


@pytest.fixture
async def table(broker: Broker) -> AsyncIterator[Table1]:
    made = Table1(broker.port)
    running = asyncio.create_task(made.bus.run())
    await until(lambda: made.bus.connected, "the broker is not there")
    yield made
    running.cancel()
    await asyncio.wait({running})


async def play(table: Table1) -> None:
    """One coup: 1,000 on Player, who wins with a natural nine."""
    await table.ask("dealer", LoadShoe(transaction="l", shoe=SHOE))
    await table.ask("dealer", OpenBetting(transaction="o"))
    wager = WagerRequest(seat=1, bet="player", stake=1000)
    await table.ask("wagers", PlaceWager(transaction="w", wagers=(wager,)))
    await table.ask("dealer", CloseBetting(transaction="c"))
    for seq, ((hand, number), face) in enumerate(zip(ORDER, NATURAL_NINE, strict=True), start=3):
        await table.say(shoe_event(seq, drawn(hand, number, face)))
    await table.say(shoe_event(7, DeviceResult(winner="player")))
    await until(lambda: table.settlements, "the coup was not settled")


async def test_a_coup_is_answered_acknowledged_published_and_shown(
    table: Table1, tmp_path: Path
) -> None:
    async with service(table.port, tmp_path):
        await table.driver_comes()
        await play(table)
        await until(lambda: table.acks[-1].seq == 7, "the result was not acknowledged")
        await until(lambda: table.states[-1].totals.coups == 1, "the state does not show it")
        last = table.states[-1].position
        await until(lambda: table.events[-1].position == last, "events are missing")
    assert [event.position for event in table.events] == list(range(1, last + 1))
    (settlement,) = table.settlements
    told = msgspec.json.decode(settlement.data)["settlement"]
    assert told["settlement_id"] == f"t1/{SHOE}/1/2/1"
    assert (told["staked"], told["paid"], told["commission"]) == (1000, 2000, 0)
    assert told["player"] == ["9S", "KH"]
    assert settlement == next(e for e in table.events if e.type == "coup_settled")


async def test_every_shoe_report_travels_sealed(table: Table1, tmp_path: Path) -> None:
    async with service(table.port, tmp_path):
        await table.driver_comes()
        await play(table)
        await until(lambda: table.events[-1].type == "coup_settled", "events are missing")
    sealed = [bytes(e.data) for e in table.events if e.type == "shoe_reported"]
    assert sealed == [b"null"] * 7


async def test_wagers_wait_until_the_core_has_appended_through_the_drivers_head(
    table: Table1, tmp_path: Path
) -> None:
    async with service(table.port, tmp_path):
        await table.core_comes()
        refused = await table.ask("dealer", OpenBetting(transaction="o"))
        assert refused.code == "catching_up"
        await table.driver_comes()
        await table.ask("dealer", LoadShoe(transaction="l", shoe=SHOE))
        await table.link(3)  # the driver has a card that has not come yet
        refused = await table.ask("dealer", OpenBetting(transaction="o"))
        assert refused.code == "catching_up"
        await table.say(shoe_event(3, LinkUp()))
        await until(lambda: table.acks[-1].seq == 3, "not acknowledged")
        assert (await table.ask("dealer", OpenBetting(transaction="o"))).result == "accepted"


async def test_a_retained_link_is_history_and_catches_nobody_up(
    table: Table1, tmp_path: Path
) -> None:
    assert table.driver.announce(table.bus)
    await table.link(0)  # retained, before the core is there
    async with service(table.port, tmp_path):
        await table.core_comes()
        refused = await table.ask("dealer", OpenBetting(transaction="o"))
        assert refused.code == "catching_up"


async def test_a_driver_that_goes_takes_the_trust_with_it(table: Table1, tmp_path: Path) -> None:
    async with service(table.port, tmp_path):
        await table.driver_comes()
        await table.ask("dealer", LoadShoe(transaction="l", shoe=SHOE))
        await table.bus.publish(*table.driver.will[:2], retain=True)
        await until(lambda: table.states[-1].catching_up, "the core still trusts the driver")
        refused = await table.ask("dealer", OpenBetting(transaction="o"))
        assert refused.code == "catching_up"


async def test_a_retained_request_is_refused_and_cleared(table: Table1, tmp_path: Path) -> None:
    body = msgspec.json.encode(Replay(transaction="old", start=1))
    topic = TOPICS.request("display", "replay")
    await table.bus.publish(topic, body, retain=True)
    async with service(table.port, tmp_path):
        await until(lambda: table.answers, "no answer")
        ((user, answer),) = table.answers
        assert (user, answer.code) == ("display", "retained_request")
        await until(lambda: table.requests[-1].payload == b"", "it was not cleared")


@pytest.mark.parametrize("body", [b"\xff", b"[" * 50_000, b"null", b'{"transaction": "t"'])
async def test_junk_from_the_bus_harms_nobody(body: bytes, table: Table1, tmp_path: Path) -> None:
    async with service(table.port, tmp_path):
        await table.core_comes()
        for topic in (TOPICS.shoe_event, TOPICS.link_shoe, TOPICS.status("shoe")):
            await table.bus.publish(topic, body)
        answer = await table.send("wagers", TOPICS.request("wagers", "place_wager"), body, "")
        assert answer.code == "invalid_request"
        await table.driver_comes()


async def test_events_are_sent_again_from_any_position_in_order(
    table: Table1, tmp_path: Path
) -> None:
    async with service(table.port, tmp_path):
        await table.driver_comes()
        await play(table)
        head = table.states[-1].position
        answer = await table.ask("display", Replay(transaction="r", start=4))
        assert (answer.result, answer.position) == ("accepted", head)
        await until(lambda: table.replayed and table.replayed[-1].position == head, "not all")
        await until(lambda: table.events[-1].position == head, "events are missing")
    assert [event.position for event in table.replayed] == list(range(4, head + 1))
    assert table.replayed == table.events[3:]


async def test_a_consumers_acknowledgement_is_kept_and_checked(
    table: Table1, tmp_path: Path
) -> None:
    async with service(table.port, tmp_path):
        await table.driver_comes()
        await play(table)
        position = table.settlements[0].position
        ack = Ack(transaction="a", consumer="cage", position=position)
        assert (await table.ask("cage", ack)).result == "accepted"
        beyond = Ack(transaction="b", consumer="cage", position=10**6)
        assert (await table.ask("cage", beyond)).code == "unknown_position"
        assert (await table.ask("display", ack)).code == "not_allowed"
    with EventLog.open(tmp_path / "table.sqlite", "site/t1") as log:
        assert log.cursor("consumer/cage/cage") == position


async def test_a_gap_stops_the_reader_until_the_missing_one_comes(
    table: Table1, tmp_path: Path
) -> None:
    async with service(table.port, tmp_path):
        await table.driver_comes()
        await table.say(shoe_event(4, LinkUp()))
        await until(lambda: len(table.acks) >= 4, "no answer to the gap")
        assert table.acks[-1].seq == 2
        for seq in (3, 4):
            await table.say(shoe_event(seq, LinkUp()))
        await until(lambda: table.acks[-1].seq == 4, "the resent ones were not taken")


async def test_a_stopped_service_says_so_and_a_new_one_has_a_higher_session(
    table: Table1, tmp_path: Path
) -> None:
    sessions = []
    for _ in range(2):
        async with service(table.port, tmp_path):
            await until(
                lambda: table.statuses and b'"online"' in table.statuses[-1], "it is not online"
            )
        await until(lambda: b'"offline"' in table.statuses[-1], "it said no farewell")
        status = read_status(table.statuses[-1])
        assert status is not None
        sessions.append(status.session)
    assert sessions[0] < sessions[1]


async def test_a_late_will_of_an_older_session_is_contradicted(
    table: Table1, tmp_path: Path
) -> None:
    async with service(table.port, tmp_path):
        await until(lambda: table.statuses, "it is not online")
        old = Herald(TOPICS.status("table"), 1, SystemClock())
        await table.bus.publish(*old.will[:2], retain=True)
        await until(lambda: b'"online"' in table.statuses[-1], "it did not speak up")


async def test_the_first_card_closes_betting_in_its_own_transaction(
    table: Table1, tmp_path: Path
) -> None:
    async with service(table.port, tmp_path):
        await table.driver_comes()
        await table.ask("dealer", LoadShoe(transaction="l", shoe=SHOE))
        await table.ask("dealer", OpenBetting(transaction="o"))
        await table.say(shoe_event(3, drawn(Hand.PLAYER, 1, "4D")))
        await until(lambda: table.acks[-1].seq == 3, "not acknowledged")
        closed = await table.ask("dealer", CloseBetting(transaction="c"))
        assert closed.result == "exists"
        wager = WagerRequest(seat=1, bet="player", stake=1000)
        late = await table.ask("wagers", PlaceWager(transaction="w", wagers=(wager,)))
        assert late.code == "betting_closed"


async def test_a_disk_that_refuses_is_told_and_nothing_is_acknowledged_until_it_takes_again(
    table: Table1, tmp_path: Path
) -> None:
    async with service(table.port, tmp_path):
        await table.driver_comes()
        await table.ask("dealer", LoadShoe(transaction="l", shoe=SHOE))
        with closing(sqlite3.connect(tmp_path / "table.sqlite", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")  # nobody else gets a write through
            refused = await table.ask("dealer", OpenBetting(transaction="o"))
            assert refused.code == "log_unwritable"
            await until(lambda: "log_unwritable" in _alarms(table), "no display is told")
            acknowledged = len(table.acks)
            await table.say(shoe_event(3, LinkUp()))
            late = await table.ask("dealer", OpenBetting(transaction="o2"))
            assert late.code == "log_unwritable"
            assert len(table.acks) == acknowledged
            other.execute("ROLLBACK")
        await table.say(shoe_event(3, LinkUp()))
        await until(lambda: table.acks[-1].seq == 3, "the disk takes, and nothing is stored")
        assert (await table.ask("dealer", OpenBetting(transaction="o"))).result == "accepted"
        await until(lambda: "log_unwritable" not in _alarms(table), "the alarm still stands")


def _alarms(table: Table1) -> set[str]:
    return {alarm.name for alarm in table.states[-1].alarms}
