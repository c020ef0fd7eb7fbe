"""A supervisor who finds out later: settled coups are corrected, or do not count at all."""

import random
from collections import Counter

import msgspec

from events.commands.base import Command
from events.commands.corrections import CorrectHands, CorrectWager
from events.commands.coup import VoidCoup
from events.commands.wagers import WagerRequest
from events.mqtt.bus import BusSettings
from events.mqtt.messages import Message
from events.mqtt.topics import Topics
from events.types.envelope import decode_data
from events.types.table import CoupSettled, Settlement
from simulators.people.console import Console, refused
from tests.support.service.table_service import Published

__all__ = ["SecondLook"]

_RECENT = 40  # coups back
_FOUR = 4  # cards of a coup in which both hands can change places by the rules
_STEP = 500


class SecondLook:
    """See the module.

    Args:
        settings: the broker.
        topics: the table.
        user: a login with the role `supervisor`.
        rng: of what is found out.
    """

    def __init__(
        self, settings: BusSettings, topics: Topics, user: str, rng: random.Random
    ) -> None:
        self.done: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self._user, self._rng = user, rng
        self._settled: dict[str, Settlement] = {}
        self._asked = 0
        self._console = Console(
            settings, topics, (user,), subscriptions={topics.settlement: self._heard}
        )

    async def run(self) -> None:
        """Hold the connection for ever, until cancelled."""
        await self._console.run()

    async def look(self) -> None:
        """Look once more at a coup of late."""
        coups = list(self._settled.values())[-_RECENT:]
        if not coups:
            return
        command = self._found(self._rng.choice(coups))
        answer = await self._console.request(self._user, command)
        if refused(answer):
            self.refused[answer.code or ""] += 1
        else:
            self.done[type(command).__name__] += 1

    async def _heard(self, message: Message) -> None:
        raw = msgspec.json.decode(message.payload, type=Published)
        event = decode_data(raw)
        assert isinstance(event, CoupSettled)
        if event.settlement.phase == 2:
            self._settled[event.coup] = event.settlement

    def _found(self, settled: Settlement) -> Command:
        self._asked += 1
        transaction, coup = f"look-{self._asked}", settled.coup
        cards = len(settled.player) + len(settled.banker)
        what = self._rng.random()
        if what < 0.2 or not settled.lines:
            return VoidCoup(transaction=transaction, coup=coup, reason="a wrong shoe")
        if what < 0.6 and cards == _FOUR:
            return CorrectHands(
                transaction=transaction,
                coup=coup,
                player=settled.banker,
                banker=settled.player,
                reason="the hands lay the other way round",
            )
        line = self._rng.choice(settled.lines)
        to = None
        if self._rng.random() < 0.8:
            stake = _STEP * self._rng.randint(1, 50)
            to = WagerRequest(seat=line.seat, bet=line.bet, stake=stake)
        return CorrectWager(
            transaction=transaction, coup=coup, wager=line.wager, to=to, reason="the camera"
        )
