"""The table's service under test, and everybody else at the table in one bus client."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from events.clock import SystemClock
from events.commands import (
    Answer,
    CloseBetting,
    Command,
    LoadShoe,
    OpenBetting,
    PlaceWager,
    Query,
    WagerRequest,
)
from events.commands.registry import COMMAND_NAMES
from events.log.store import EventLog
from events.mqtt.bus import Bus, BusSettings
from events.mqtt.messages import Message
from events.mqtt.presence import PresencePublisher
from events.mqtt.process_shell import Performer
from events.mqtt.topics import Topics
from events.proof.note import SigningKey
from events.types import IN_A_FRAME, Envelope, LinkOpen, LinkUp, ShoeAck, ShoeEvent
from shoe_driver.decode import Decoder
from table_core.process.alarm_publisher import AlarmNotice
from table_core.process.checkpoints import CheckpointKeys
from table_core.process.options import RotationPolicy
from table_core.projections.table_document import StateView
from table_core.rulebooks.shipped import load_rulebook
from table_core.service.service import HistoryReader, TableService
from table_core.service.table import Table
from tests.support.machine.tasks import background, serving
from tests.support.machine.waiting import until
from tests.support.shoe.link_words import link_up
from tests.support.shoe.shoe_bytes import PROFILE, stream
from tests.support.table.coups import SHOE, shoe_event

TOPICS = Topics("site", "t1")
_READER_S = 60.0
ROLES = {name: frozenset({name}) for name in ("dealer", "supervisor", "wagers", "cage", "display")}


class Published(Envelope, frozen=True, kw_only=True, forbid_unknown_fields=True):
    hash: str


class Table1:
    """Everybody at the table but the core: the driver, the people, the consumers, the displays."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.answers: list[tuple[str, Answer]] = []
        self.events: list[Published] = []
        self.settlements: list[Published] = []
        self.replayed: list[Published] = []
        self.states: list[StateView] = []
        self.alarms: list[AlarmNotice] = []
        self.acks: list[ShoeAck] = []
        self.statuses: list[bytes] = []
        self.requests: list[Message] = []
        self.head: int | None = None  # the driver's newest number; None while it is not there
        self.driver = PresencePublisher(TOPICS.status("shoe"), 1, SystemClock().utc_ns())
        self.beating: asyncio.Task[object] | None = None  # the driver's heart
        self.bus = Bus(
            BusSettings("127.0.0.1", port, "everybody"),
            will=self.driver.will,
            subscriptions={
                f"{TOPICS.root}/response/+": self._on_answer,
                f"{TOPICS.root}/response/+/events": self._on_replayed,
                TOPICS.event: self._on_event,
                TOPICS.settlement: self._on_settlement,
                TOPICS.state: self._on_state,
                TOPICS.alarm: self._on_alarm,
                TOPICS.shoe_ack: self._on_ack,
                TOPICS.status("table"): self._on_status,
                f"{TOPICS.root}/request/display/+": self._on_request,
            },
        )
        self.performer = Performer(self.bus, SystemClock())

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

    async def _on_alarm(self, message: Message) -> None:
        self.alarms.append(msgspec.json.decode(message.payload, type=AlarmNotice))

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

    async def must(self, user: str, command: Command) -> Answer:
        """The same, and it is accepted."""
        answer = await self.ask(user, command)
        assert answer.result == "accepted", answer
        return answer

    async def ask_past(self, user: str, query: Query) -> Answer:
        """The same of a question to the reader of the past, which may only just be starting."""
        async with asyncio.timeout(_READER_S):
            while (answer := await self.ask(user, query)).code in {"past_slow", "past_loading"}:
                pass  # it was waited for, by the table
        return answer

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

        return (await until(answered, f"no answer to {topic}"))[0]

    async def say(self, event: ShoeEvent) -> None:
        await self.bus.publish(TOPICS.shoe_event, msgspec.json.encode(event))

    async def link(self, head: int, *, retain: bool = True) -> None:
        status = link_up(head)
        await self.bus.publish(TOPICS.link_shoe, msgspec.json.encode(status), retain=retain)

    async def core_comes(self) -> None:
        await until(lambda: any(ack.hello for ack in self.acks), "the core says no hello")

    async def driver_comes(self) -> None:
        """The driver is there, and the shoe link is up: events 1 and 2."""
        await self.core_comes()
        self.states.clear()  # an earlier core's last one may have come until now
        assert self.performer.perform_at_once(self.driver.announce())
        self.beating = self.beating or asyncio.create_task(
            self.performer.perform(self.driver.beat())
        )
        self.head = 2
        await self.link(2)
        await self.say(shoe_event(1, LinkOpen(transport="pty:x")))
        await self.say(shoe_event(2, LinkUp()))
        await until(lambda: self.states and not self.states[-1].catching_up, "never caught up")


@asynccontextmanager
async def service(
    port: int,
    folder: Path,
    *,
    inspection: Callable[[Path], Awaitable[str | None]] | None = None,
    new_file: RotationPolicy = "never",
    past: HistoryReader | None = None,
    key: SigningKey | None = None,
) -> AsyncIterator[EventLog]:
    """The service, until the block ends; its log.

    Args:
        port: of the broker.
        folder: with the log, or for it.
        inspection: what looks at the log beside the table.
        new_file: when the log goes on in a new file.
        past: reads the log's past beside the table.
        key: signs its checkpoints.
    """
    with EventLog.open(folder / "table.sqlite", "site/t1") as log:
        clock = SystemClock()
        table = Table(log, TOPICS, load_rulebook("au-commission"), clock, roles=ROLES)
        table.writer.configure_rotation(new_file)
        settings = BusSettings("127.0.0.1", port, "table")
        look = partial(inspection, log.path) if inspection else None
        if key:
            table.sign_checkpoints(CheckpointKeys(key, None, 300))
        made = TableService(table, settings, inspection=look, past=past)
        async with serving(made.run):
            yield log


def spoken(reports: str, *, first: int) -> list[ShoeEvent]:
    """Events from number `first` on, with the bytes by which a shoe says them."""
    decoder = Decoder(PROFILE)
    events = decoder.feed_bare(stream(reports)) + decoder.finish()
    said = [event for event in events if isinstance(event.report, IN_A_FRAME)]
    like = [shoe_event(seq, event.report) for seq, event in enumerate(said, start=first)]
    return [
        replace(event, raw=heard.raw, profile_hash=heard.profile_hash)
        for event, heard in zip(like, said, strict=True)
    ]


async def play(table: Table1) -> None:
    """One coup: 1,000 on Player, who wins with a natural nine."""
    await table.ask("dealer", LoadShoe(transaction="l", shoe=SHOE))
    await table.ask("dealer", OpenBetting(transaction="o"))
    wager = WagerRequest(seat=1, bet="player", stake=1000)
    await table.ask("wagers", PlaceWager(transaction="w", wagers=(wager,)))
    await table.ask("dealer", CloseBetting(transaction="c"))
    for event in spoken("D P1 9S, D B1 2D, D P2 KH, D B2 3C, G player", first=3):
        await table.say(event)
    await until(lambda: table.settlements, "the coup was not settled")


@asynccontextmanager
async def attended(table: Table1, folder: Path, **more: Any) -> AsyncIterator[EventLog]:
    """The service with `more` of its parameters, and the driver has come."""
    async with service(table.port, folder, **more) as log:
        await table.driver_comes()
        yield log


@asynccontextmanager
async def played(table: Table1, folder: Path, **more: Any) -> AsyncIterator[EventLog]:
    """The same, behind its first coup."""
    async with attended(table, folder, **more) as log:
        await play(table)
        yield log


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Table1]:
    """Everybody else, with the broker's line up."""
    made = Table1(port)
    async with background(made.bus.run()) as tasks:
        await until(lambda: made.bus.connected, "the broker is there")
        yield made
        tasks.extend([made.beating] if made.beating else [])
