"""Serve a table's side of the bus to a consumer under test: a cage's conformance kit.

It publishes a made-up log as a table core would, with planned faults, and answers `replay` and
`ack` as a core does. In the end it compares the consumer's book with its own.
"""

import asyncio
import math
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec
from msgspec import Struct

from events.clock import Clock
from events.commands import ANSWER_ACCEPTED, Ack, Answer, Replay
from events.errors import InputError
from events.json_form import decode_json_once
from events.mqtt.bus import BusSettings
from events.mqtt.messages import Message
from events.mqtt.topics import Topics
from events.proof.message_mac import MessageKey
from events.types import Settlement
from simulators.conformance.book import (
    ConsumerBook,
    difference,
    likely_mistake,
    read_book,
    right_book,
)
from simulators.conformance.log import SampleLog, plan_deliveries, replay_losses
from simulators.conformance.table_side import POLL_S, TableSide, refused
from table_core.process.table_writer import parse_command

__all__ = ["BOOK", "CageFeed", "ConformanceResult"]

BOOK: Final = "book"
"""The request `request/<user>/book`, in this kit only: a consumer may send its book with it."""

_HISTORY: Final = 0.25  # share of the log that was there before the consumer came
_PAUSE_EVERY: Final = 50  # live messages between two pauses


class ConformanceResult(Struct, frozen=True, kw_only=True):
    """The result of a run.

    Args:
        ok: the consumer's book is right and it acknowledged what it should.
        first_difference: the first fault.
        likely: the mistake that would explain exactly this book, if there is one.
        settlements: in the log, revisions included.
        events: in the log.
        sent: messages sent, live or in replays.
        faults: faults on the way, by kind.
        replays: requested by the consumer.
        acknowledged: the highest acknowledged position; None for none.
        book: the right one.
    """

    ok: bool
    first_difference: str | None
    likely: str | None
    settlements: int
    events: int
    sent: int
    faults: dict[str, int]
    replays: int
    acknowledged: int | None
    book: ConsumerBook


class CageFeed(TableSide):
    """One run against one consumer.

    Args:
        settings: the broker, as the core.
        topics: the table that is played.
        user: the consumer's login.
        feed: the log.
        seed: of the faults.
        clock: for the stamps of the status.
        book: reads the consumer's book, if it does not send it by `request/<user>/book`.
        keys: the consumer's message keys, the newest first: its requests must be proved by one of
            them, and what is told it is; without any, nothing is proved.
    """

    def __init__(
        self,
        settings: BusSettings,
        topics: Topics,
        user: str,
        feed: SampleLog,
        *,
        seed: int,
        clock: Clock,
        book: Callable[[], Awaitable[ConsumerBook | None]] | None = None,
        keys: Sequence[MessageKey] = (),
    ) -> None:
        super().__init__(settings, topics, user, clock=clock, keys=keys)
        self._feed, self._look = feed, book
        self._live_from = math.ceil(len(feed.events) * _HISTORY)
        self._plan = plan_deliveries(feed, self._live_from, seed)
        self._losses = replay_losses(feed, seed)
        self._head = self._live_from - 1
        self._told: ConsumerBook | None = None
        self._acknowledged: int | None = None
        self._came: dict[str, list[Settlement]] = defaultdict(list)
        self._sent_money: set[int] = set()
        self._faults: Counter[str] = Counter()
        self._sent = self._replays = 0
        self._replaying: asyncio.Task[None] | None = None

    async def run(
        self, *, wait_s: float, patience_s: float, book_s: float | None = None
    ) -> ConformanceResult:
        """Serve the whole feed and judge the consumer.

        Args:
            wait_s: for the consumer to connect and request the history.
            patience_s: for its last acknowledgement, once everything is sent.
            book_s: for its book to be right after that; None for as long again.

        Raises:
            BusError: the broker refuses us, could not be reached at all, or drops what we say;
                the consumer is not to blame.
        """
        async with self._served() as running:
            try:
                if not await self._until(lambda: self._replays > 0, wait_s, running):
                    await self._must_serve(running)
                    self._complain(f"nobody asked for a replay within {wait_s:g} s")
                    return self._verdict(None)
                await self._play()
                return self._verdict(await self._their_book(patience_s, book_s, running))
            finally:
                if self._replaying is not None:
                    self._replaying.cancel()
                    with suppress(asyncio.CancelledError):
                        await self._replaying

    def _show(self) -> None:
        """Publish the newest state, retained, so that a new consumer sees the table's position."""
        shown = [position for position in self._feed.states if position <= self._head]
        if shown:
            self._bus.post(self._topics.state, self._feed.states[max(shown)], retain=True)

    async def _play(self) -> None:
        if self._replaying is not None:
            await asyncio.wait({self._replaying})
        for number, delivery in enumerate(self._plan):
            event = self._feed.events[delivery.position - 1]
            self._head = max(self._head, delivery.position)
            if delivery.fault:
                self._faults[delivery.fault] += 1
            if delivery.fault != "lost":
                topic = getattr(self._topics, delivery.topic)
                await self._send(topic, delivery.topic, event.position)
            if delivery.position in self._feed.states and not delivery.fault:
                self._show()
            if number % _PAUSE_EVERY == 0:
                await asyncio.sleep(POLL_S)

    async def _send(self, topic: str, way: str, position: int) -> None:
        event = self._feed.events[position - 1]
        if (
            event.settlement
        ):  # noted before it is sent: its acknowledgement may overtake the broker's
            self._sent_money.add(position)
            self._came[way].append(event.settlement)
        said = event.message
        if topic == self._topics.replayed(self._user):
            said = self._proved(topic, said)
        while not await self._bus.publish(topic, said):  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(POLL_S)
        self._sent += 1

    def _answer_to(self, user: str, name: str, message: Message) -> Sequence[Answer]:
        return (self._told_book(message) if name == BOOK else self._answer(user, name, message),)

    def _answer(self, user: str, name: str, message: Message) -> Answer:
        command = parse_command(name, message.payload)
        if isinstance(command, Answer):
            self._complain(f"request/{user}/{name} was refused: {command.code}: {command.text}")
            return command
        if user != self._user or not isinstance(command, Replay | Ack):
            return refused(command.transaction, "not_allowed", f"{user} may not {name} here")
        if isinstance(command, Replay):
            return self._replay(command)
        return self._ack(command)

    def _replay(self, command: Replay) -> Answer:
        self._replays += 1
        if self._replaying is not None:
            self._replaying.cancel()
        first = max(1, command.start)
        self._replaying = asyncio.create_task(self._send_again(first, self._head))
        return Answer(transaction=command.transaction, result=ANSWER_ACCEPTED, position=self._head)

    async def _send_again(self, first: int, last: int) -> None:
        topic, twice = self._topics.replayed(self._user), False
        for position in range(first, last + 1):
            if self._losses[position] and position != last:
                self._losses[position] -= 1
                self._faults["lost in a replay"] += 1
                continue
            # The first settlement of each comes twice: a consumer far back reads nothing but
            # replays.
            first_money = not twice and self._feed.events[position - 1].settlement is not None
            for _ in range(2 if first_money else 1):
                # A message that a newer request cuts short is still sent.
                await asyncio.shield(self._send(topic, "event and replays", position))
            if first_money:
                twice = True
                self._faults["twice in a replay"] += 1

    def _ack(self, command: Ack) -> Answer:
        if not 0 <= command.position <= self._head:
            text = f"position {command.position} is not in the log, which ends at {self._head}"
            self._complain(f"it acknowledged what is not there: {text}")
            return refused(command.transaction, "unknown_position", text)
        for event in self._feed.events[: command.position]:
            if event.settlement and event.position not in self._sent_money:
                self._complain(
                    f"it acknowledged {command.position}, and was never sent settlement "
                    f"{event.settlement.settlement_id} at {event.position}: it went on behind a gap"
                )
                break
        self._acknowledged = max(self._acknowledged or 0, command.position)
        return Answer(
            transaction=command.transaction, result=ANSWER_ACCEPTED, position=command.position
        )

    def _told_book(self, message: Message) -> Answer:
        transaction = ""
        try:
            fields = decode_json_once(message.payload, dict[str, Any])
            transaction = str(fields.pop("transaction", ""))
            self._told = read_book(msgspec.json.encode(fields))
        except InputError as error:
            return refused(transaction, "invalid_request", str(error))
        return Answer(transaction=transaction, result=ANSWER_ACCEPTED)

    async def _their_book(
        self, patience_s: float, book_s: float | None, running: "asyncio.Task[None]"
    ) -> ConsumerBook | None:
        """Return the consumer's book once it is right, or as it is when patience ends."""
        right = right_book(self._feed.settlements)
        newest = max(event.position for event in self._feed.events if event.settlement)
        if not await self._until(lambda: (self._acknowledged or 0) >= newest, patience_s, running):
            self._complain(
                f"the last settlement, at {newest}, was not acknowledged within {patience_s:g} s "
                f"(newest acknowledged: {self._acknowledged})"
            )
        theirs: ConsumerBook | None = None
        deadline = asyncio.get_running_loop().time() + (patience_s if book_s is None else book_s)
        while theirs is None or difference(right, theirs):
            theirs = self._told or (await self._look() if self._look else None) or theirs
            if asyncio.get_running_loop().time() > deadline:
                break
            await asyncio.sleep(POLL_S)
        return theirs

    def _verdict(self, theirs: ConsumerBook | None) -> ConformanceResult:
        settlements = self._feed.settlements
        right = right_book(settlements)
        if theirs is None:
            self._complain("it never told its book")
        wrong = difference(right, theirs) if theirs else None
        came = dict(self._came)
        came["event and replays"] = came.get("event", []) + came.get("event and replays", [])
        came["all topics"] = came.get("settlement", []) + came["event and replays"]
        return ConformanceResult(
            ok=self._complaint is None and wrong is None,
            first_difference=self._complaint or wrong,
            likely=likely_mistake(theirs, settlements, came, self._feed.returned)
            if theirs and wrong
            else None,
            settlements=len(settlements),
            events=len(self._feed.events),
            sent=self._sent,
            faults=dict(self._faults),
            replays=self._replays,
            acknowledged=self._acknowledged,
            book=right,
        )
