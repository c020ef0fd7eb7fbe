"""Serve a source of wagers, or a display, under test: the two smaller kits next to the cage's."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from events.clock import Clock, rfc3339
from events.commands import Answer
from events.json_form import decode_json
from events.mqtt.bus import BusSettings
from events.mqtt.messages import Message
from events.mqtt.topics import Topics
from events.proof.message_mac import MessageKey
from simulators.conformance.log import TableStep
from simulators.conformance.screens import Screen, right_screen, screen_difference
from simulators.conformance.table_side import POLL_S, TableSide
from simulators.conformance.wagers import FAULTS, PlacedWagers, WagerJudge

__all__ = ["DisplayFeed", "ProgramResult", "WagerFeed"]

_HOLD_S: Final = 1.0  # for a screen to follow a message that it must ignore
_CLOSED_S: Final = 1.1  # betting stays closed: longer than the judge's grace
_AGAIN_S: Final = 0.3  # for what a source does when it sees again that betting is closed


class ProgramResult(Struct, frozen=True, kw_only=True):
    """The result of a run.

    Args:
        ok: nothing was wrong.
        first_difference: the first fault, or None.
        steps: how many coups or screens were played to the end.
    """

    ok: bool
    first_difference: str | None
    steps: int


class WagerFeed(TableSide):
    """One run against one source of wagers: a coup for each fault.

    Args:
        steps: the moments of at least so many coups as there are faults.
        look: reads what the source shows as placed.
        settings, topics, user, clock, keys: as of `TableSide`.
    """

    def __init__(
        self,
        settings: BusSettings,
        topics: Topics,
        user: str,
        steps: Sequence[TableStep],
        *,
        clock: Clock,
        look: Callable[[], Awaitable[PlacedWagers | None]],
        keys: Sequence[MessageKey] = (),
    ) -> None:
        super().__init__(settings, topics, user, clock=clock, keys=keys)
        bets = decode_json(steps[0].state, dict[str, Any])["rulebook"]["bets"]
        limits = {bet["id"]: (bet["minimum"], bet["maximum"], bet["step"]) for bet in bets}
        self._judge, self._look, self._state = WagerJudge(user, limits), look, steps[0].state
        coups = dict.fromkeys(step.coup for step in steps)
        self._coups = [[step for step in steps if step.coup == coup] for coup in coups]

    async def run(self, *, wait_s: float, patience_s: float) -> ProgramResult:
        """Play every fault, and judge the source.

        Args:
            wait_s: for its first wagers.
            patience_s: for everything after that.

        Raises:
            BusError: the kit itself has no broker, or not the table's rights.
        """
        played = 0
        async with self._served() as running:
            for fault, steps in zip(FAULTS, self._coups, strict=False):
                self._judge.open(steps[0].coup, fault)
                self._put(steps[0])
                if not await self._until(
                    lambda: self._judge.done, patience_s if played else wait_s, running
                ):
                    await self._must_serve(running)
                self._judge.close(self._now_s())
                self._put(steps[1])
                await asyncio.sleep(_CLOSED_S)
                self._show()  # as a table does every five seconds
                await asyncio.sleep(_AGAIN_S)
                if self._wrong:
                    break
                played += 1
            theirs = await self._look()
            deadline = self._now_s() + patience_s
            while self._judge.verdict(theirs) and not self._wrong and self._now_s() < deadline:
                await asyncio.sleep(POLL_S)
                theirs = await self._look()
        wrong = self._complaint or self._judge.verdict(theirs)
        return ProgramResult(ok=wrong is None, first_difference=wrong, steps=played)

    @property
    def _wrong(self) -> bool:
        return (self._complaint or self._judge.complaint) is not None

    def _now_s(self) -> float:
        return asyncio.get_running_loop().time()

    def _put(self, step: TableStep) -> None:
        self._state = step.state
        self._show()

    def _show(self) -> None:
        self._bus.post(self._topics.state, self._state, retain=True)

    def _answer_to(self, user: str, name: str, message: Message) -> Sequence[Answer]:
        if user != self._user or name != "place_wager":
            return super()._answer_to(user, name, message)
        return self._judge.answer(message.payload, self._now_s())


class DisplayFeed(TableSide):
    """One run against one display: every moment of two coups, and what becomes of the heartbeat.

    Args:
        steps: the moments of two coups.
        look: reads what the display shows.
        settings, topics, user, clock: as of `TableSide`.
    """

    def __init__(
        self,
        settings: BusSettings,
        topics: Topics,
        user: str,
        steps: Sequence[TableStep],
        *,
        clock: Clock,
        look: Callable[[], Awaitable[Screen | None]],
    ) -> None:
        super().__init__(settings, topics, user, clock=clock)
        self._steps, self._look, self._document = steps, look, steps[0].display
        self._session, self._beating = 7, True
        self._shown: list[Screen] = []

    def _show(self) -> None:
        for topic in (self._topics.display, self._topics.state):
            self._bus.post(topic, self._document, retain=True)

    def _say(self, state: str, session: int, at_ns: int) -> None:
        body = {"state": state, "session": session, "ts": rfc3339(at_ns)}
        self._bus.post(self._topics.status("table"), msgspec.json.encode(body), retain=True)

    async def run(self, *, wait_s: float, patience_s: float) -> ProgramResult:
        """Show every moment, and judge the display.

        Args:
            wait_s: for its first screen.
            patience_s: for each screen after that.

        Raises:
            BusError: the kit itself has no broker, or not the table's rights.
        """
        async with self._served(beats=False) as running:
            beating = asyncio.create_task(self._beat())
            try:
                return await self._play(wait_s, patience_s, running)
            finally:
                beating.cancel()
                await asyncio.wait({beating})

    async def _beat(self) -> None:
        while True:
            if self._beating:
                self._say("online", self._session, self._clock.utc_ns())
            await asyncio.sleep(_HOLD_S / 2)

    async def _play(
        self, wait_s: float, patience_s: float, running: "asyncio.Task[None]"
    ) -> ProgramResult:
        played = 0
        for step in self._steps:
            self._document = step.display
            self._show()
            wrong = await self._wrong(patience_s if played else wait_s, running, live=True)
            self._shown.append(right_screen(step.display))
            if wrong is not None:
                await self._must_serve(running)
                return ProgramResult(ok=False, first_difference=wrong, steps=played)
            played += 1
        document = decode_json(self._document, dict[str, Any])
        self._document = msgspec.json.encode(document | {"catching_up": True})
        for live, says in (
            (True, "while the table catches up"),
            (True, "after the late Will of an earlier session"),
            (False, "ten seconds after the last heartbeat"),
            (True, "after a new heartbeat"),
            (False, "after the table said that it is offline"),
            (True, "after the table came back with another session"),
        ):
            self._happen(says)
            wrong = await self._wrong(patience_s, running, live=live, hold="Will" in says)
            if wrong is not None:
                return ProgramResult(ok=False, first_difference=f"{says}: {wrong}", steps=played)
            played += 1
        return ProgramResult(ok=True, first_difference=None, steps=played)

    def _happen(self, says: str) -> None:
        now_ns = self._clock.utc_ns()
        # None after the Will: a heartbeat would make the screen live again at once.
        self._beating = not any(each in says for each in ("last heartbeat", "offline", "Will"))
        if "catches up" in says:
            self._show()
        elif "Will" in says:
            self._say("offline", self._session - 1, now_ns)
        elif "offline" in says:
            self._say("offline", self._session, now_ns)
        elif "another session" in says:
            self._session = 1

    async def _wrong(
        self, seconds: float, running: "asyncio.Task[None]", *, live: bool, hold: bool = False
    ) -> str | None:
        """Return what stays wrong; with `hold`, the screen must be right for a while."""
        right = right_screen(self._document) if live else Screen(live=False)
        loop = asyncio.get_running_loop()
        deadline, held_from = loop.time() + seconds, None if hold else 0.0
        while True:
            if running.done():
                running.result()
            theirs = await self._look()
            wrong = screen_difference(right, theirs)
            if wrong is not None and theirs in self._shown:
                wrong += f": it shows the older document of position {theirs.position}"
            if wrong is None:
                held_from = loop.time() if held_from is None else held_from
                if loop.time() - held_from > _HOLD_S:
                    return None
            elif loop.time() > deadline or (hold and held_from):
                return wrong
            await asyncio.sleep(POLL_S)
