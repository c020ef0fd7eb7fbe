"""The people's screen: the newest retained `state` document of the table."""

import asyncio
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from events.cards import Card, Hand
from events.errors import MalformedJson
from events.json_form import decode_json
from events.mqtt.messages import Message

__all__ = [
    "OVER",
    "STALLED",
    "AlarmSeen",
    "CardSeen",
    "CoupSeen",
    "LinkSeen",
    "ShoeSeen",
    "TableSeen",
    "TableView",
]

OVER: Final = frozenset({"settled", "voided"})
"""The phases of a coup that is over."""


class CardSeen(Struct, frozen=True, kw_only=True):
    """A card on the screen; its face is None while the table does not know it."""

    hand: Hand
    number: int
    card: Card | None = None


class CoupSeen(Struct, frozen=True, kw_only=True):
    """The coup in progress, or the last one; `reason` explains why it is held or void."""

    id: str
    phase: str
    reason: str = ""
    cards: tuple[CardSeen, ...] = ()


class ShoeSeen(Struct, frozen=True, kw_only=True):
    """The shoe on the table."""

    id: str
    coups: int
    ended: bool = False


STALLED: Final = "stalled"  # the state of a link whose device is silent and should speak


class LinkSeen(Struct, frozen=True, kw_only=True):
    """The state of the shoe link: `down`, `open`, `up` or `stalled`."""

    state: str = "down"


class AlarmSeen(Struct, frozen=True, kw_only=True):
    """An active alarm."""

    name: str
    text: str = ""
    coup: str | None = None


class TableSeen(Struct, frozen=True, kw_only=True):
    """The fields of the document that matter to the people at the table; others are ignored."""

    position: int
    shoe: ShoeSeen | None = None
    coup: CoupSeen | None = None
    link: LinkSeen = LinkSeen()
    catching_up: bool = False
    alarms: tuple[AlarmSeen, ...] = ()


# A driver restarts in a second or two; one that stays away must not stop a game for ever.
_CATCHING_UP_MOST_S: Final = 10.0


class TableView:
    """Keeps the newest document and wakes callers that wait for something in it.

    A broker that restarts may deliver an older retained document first. Positions never fall, so
    that one is ignored.
    """

    def __init__(self) -> None:
        self.seen: TableSeen | None = None
        self._changed = asyncio.Condition()

    async def on_state(self, message: Message) -> None:
        """Take a message of the `state` topic."""
        try:
            seen = decode_json(message.payload, TableSeen)
        except MalformedJson:
            return  # junk: the table publishes its state again
        if self.seen is not None and seen.position < self.seen.position:
            return
        async with self._changed:
            self.seen = seen
            self._changed.notify_all()

    async def until(self, holds: Callable[[TableSeen], bool]) -> TableSeen:
        """Wait, without limit, for a document that satisfies `holds`."""
        async with self._changed:
            while self.seen is None or not holds(self.seen):
                await self._changed.wait()
            return self.seen

    async def reached(self, position: int | None) -> TableSeen:
        """Wait until the document includes everything up to `position`, as an answer names it."""
        return await self.until(lambda seen: seen.position >= (position or 0))

    async def within(self, holds: Callable[[TableSeen], bool], limit_s: float) -> TableSeen | None:
        """As `until`, with a limit in seconds; None when it has passed."""
        try:
            async with asyncio.timeout(limit_s):
                return await self.until(holds)
        except TimeoutError:
            return None

    async def quiet(self, quiet_s: float) -> TableSeen:
        """Wait until nothing has been added to the log for `quiet_s` seconds.

        While the table still reads the shoe's reports, its screen decides nothing. A person who
        voided the
        coup then would see its cards come as another coup.
        """
        seen = await self.until(lambda _: True)
        while True:
            later = await self.within(_past(seen.position), quiet_s)
            if later is None and not seen.catching_up:
                return seen
            if later is None:
                later = await self.within(lambda now: not now.catching_up, _CATCHING_UP_MOST_S)
                if later is None:
                    return await self.until(lambda _: True)
            seen = later


def _past(position: int) -> Callable[[TableSeen], bool]:
    return lambda seen: seen.position > position
