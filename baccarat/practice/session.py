"""A practice session: a shoe that deals when told, and the coach who watches the table's events."""

import asyncio
import random
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from baccarat.demo.machine import DemoOptions, Machine
from baccarat.practice.coach import LESSONS, Fact, Task, draw_task, judge
from events.cards import Card
from events.errors import MalformedJson
from events.json_form import decode_json
from events.money import Currency
from events.mqtt.bus import Bus
from events.mqtt.messages import Message
from simulators.device.pty_port import Pace, PtyPort
from simulators.device.script import DealerCall
from simulators.shoe.cue import Cue
from simulators.shoe.dealing import DealingShoe
from simulators.shoe.player import ShoeSimulator
from table_core.narrative.formatting import amount
from table_core.rules.payable import chip_values

__all__ = ["Practice"]

_OVER: Final = frozenset({"coup_settled", "coup_voided"})
_LAST_PHASE: Final = 2
_CHIPS: Final = 4  # the smallest values, which the patrons lay
_HOUR_S: Final = 3600.0


class _Event(Struct):
    type: str
    data: dict[str, object]


class Practice:
    """One session.

    Args:
        options: of the table.
        machine: broker and services.
        say: called with each line of the coach.
        cue: lets the next card come.
    """

    def __init__(
        self, options: DemoOptions, machine: Machine, say: Callable[[str], None], cue: Cue
    ) -> None:
        rulebook = machine.rulebook
        self._say, self._cue = say, cue
        self._machine = machine
        self._rng = random.Random(options.seed)  # noqa: S311 - a lesson is no secret
        self._money: Currency = rulebook.money
        self._chips = chip_values(rulebook)[:_CHIPS]
        dealing = DealingShoe(decks=rulebook.decks, seed=options.seed, profile=machine.profile)
        self._port = PtyPort(machine.link, pace=Pace.at_baud(dealing.profile.baud))
        first = f"{datetime.now(UTC):%Y%m%d}-01"
        self._shoe = ShoeSimulator(self._port, dealing, first_shoe=first, cue=self._card)
        self._facts: list[Fact] = []
        self._changed = asyncio.Event()

    async def run(self, coups: int | None) -> None:
        """Practise so many coups, or until cancelled."""
        config = self._machine.table
        bus = Bus(config.bus_settings("coach"), subscriptions={config.topics.event: self._on_event})
        self._port.plug_in()
        for service in ("shoe", "table", "cage", "displays"):
            self._machine.start(service)
        helpers = [bus.run(), self._shoe.run(), self._machine.watch()]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in helpers]
            await self._deal(coups)
            for task in tasks:
                task.cancel()
        self._port.unplug()

    async def _deal(self, coups: int | None) -> None:
        await self._port.reader(_HOUR_S)
        number = 0
        while coups is None or number < coups:
            if self._shoe.over:
                self._say("Load a shoe at the console; the shoe then burns by itself.")
                await self._until(lambda: self._seen("shoe_loaded"))
                self._facts.clear()
                await self._shoe.new_shoe()
            await self._one(draw_task(self._rng, number, self._chips))
            number += 1
        self._say("That was the last coup.")

    async def _one(self, task: Task) -> None:
        self._facts.clear()
        lesson = LESSONS[task.lesson]
        self._say("Open betting, and place what the patrons lay:")
        for seat, bet, stake in task.wagers:
            self._say(f"  seat {seat}: {amount(stake, self._money)} on {bet.title()}")
        self._say("Call no more bets. Then draw card by card (Enter, or the button).")
        if lesson.says:
            self._say(lesson.says)
        await self._until(lambda: self._seen("betting_opened"))
        fault = lesson.fault if lesson.fault and self._shoe.can_have(lesson.fault) else None
        await self._shoe.deal_coup(fault, call=self._call)
        await self._until(self._is_over)
        cards: dict[str, Card] = {
            f"{each.place.hand.value} {each.place.number}": each.card for each in self._shoe.lying
        }
        for remark in judge(task, self._facts, cards):
            self._say(f"{'right' if remark.right else 'WRONG'}: {remark.text}")

    async def _card(self) -> None:
        await self._cue.wait()
        lying = self._shoe.lying
        if lying:
            last = lying[-1]
            self._say(f"  {last.place.hand.value} {last.place.number} lies as {last.card.value}")

    async def _call(self, what: DealerCall) -> None:
        if what is DealerCall.CUT_CARD:
            self._say("The cut card came: say so at the console.")

    def _seen(self, name: str) -> bool:
        return any(fact.type == name for fact in self._facts)

    def _is_over(self) -> bool:
        for fact in self._facts:
            settlement = fact.data.get("settlement")
            phase = settlement.get("phase") if isinstance(settlement, dict) else _LAST_PHASE
            if fact.type in _OVER and phase == _LAST_PHASE:
                return True
        return False

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            self._changed.clear()
            await self._changed.wait()

    async def _on_event(self, message: Message) -> None:
        try:
            event = decode_json(message.payload, _Event)
        except MalformedJson:
            return
        self._facts.append(Fact(event.type, event.data))
        self._changed.set()
