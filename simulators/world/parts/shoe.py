"""The physical shoe in the world's time: cards fall, the device reports on its line, faults happen.

`simulators.shoe.player` plays the same on a pseudo-terminal in real time.
"""

from collections.abc import Awaitable, Callable, Iterable
from random import Random
from typing import Final

from events.cards import Card
from simulators.device.ref_link import BEAT_MS, RESEND_MS, RefLink
from simulators.device.script import CableFault, DealerCall
from simulators.shoe.dealing import DealingShoe, Happening, PhysicalCoup, ReportStep
from simulators.shoe.shoe_in_hand import ShoeInHand, no_answer
from simulators.world.parts.clock import MICROSECONDS, WorldClock
from simulators.world.parts.port import WorldPort
from simulators.world.parts.waiting import FOREVER_US, Waiting

__all__ = ["WorldShoe"]

_HAND_US: Final = 100_000
_BACK_US: Final = 10 * MICROSECONDS
_STALL_US: Final = 300_000
_BUSY_US: Final = 500_000
_SILENCE_US: Final = 61 * MICROSECONDS
_BYTE_US: Final = 50
_MS: Final = 1_000
# Pauses between two reports with their weights: most reports are read before the next comes.
_PAUSES: Final = (0, 200, 1_000, 1_000, 3_000, 3_000, 20_000)


class WorldShoe(ShoeInHand):
    """A dealing shoe on the world's line.

    Args:
        port: the line.
        dealing: decides what the shoe does.
        waiting: how it waits.
        clock: the world's.
        rng: decides how fast cards fall.
        first_shoe: id of the first shoe.

    Attributes:
        fell: every card that left the shoe for the table, in order.
    """

    def __init__(
        self,
        port: WorldPort,
        dealing: DealingShoe,
        waiting: Waiting,
        clock: WorldClock,
        rng: Random,
        first_shoe: str,
    ) -> None:
        super().__init__(dealing, first_shoe)
        self.fell: list[Card] = []
        self._port = port
        self._waiting, self._clock, self._rng = waiting, clock, rng
        self._link = RefLink() if dealing.profile.linked else None
        self._link_us = 0

    # ---- the device's own work ----

    @property
    def wakes_us(self) -> int:
        """The moment of the device's next action by itself, microseconds."""
        return self._link_us if self._link is not None else FOREVER_US

    def work(self) -> bool:
        """Read the host's bytes, resend, send a heartbeat."""
        link = self._link
        if link is None or not (self._port.answered or self._clock.now_us >= self._link_us):
            return False
        link.hear(self._port.received())
        for frame in link.due(self._clock.now_us // _MS):
            self._port.write(frame)
        again = RESEND_MS // 4 if link.unacked else BEAT_MS
        self._link_us = self._clock.now_us + again * _MS
        return True

    # ---- the dealer's work ----

    async def deal_coup(
        self, fault: str | None, call: Callable[[DealerCall], Awaitable[None]]
    ) -> PhysicalCoup:
        """Deal one coup to its result, or as far as it comes."""
        happenings, coup = self._begin_coup(fault)
        await self._play(happenings, call)
        return coup

    async def _play(
        self,
        happenings: Iterable[Happening],
        call: Callable[[DealerCall], Awaitable[None]] = no_answer,
    ) -> None:
        for happening in happenings:
            if isinstance(happening, DealerCall):
                await self._call(happening, call)
            elif isinstance(happening, CableFault):
                await self._plug(happening)
            else:
                await self._say(happening, call)

    async def _call(self, what: DealerCall, call: Callable[[DealerCall], Awaitable[None]]) -> None:
        if what is DealerCall.RESTART:
            await self._waiting.pause(_HAND_US)
        await call(what)
        if what is DealerCall.RESTART:
            await self._reader()

    async def _reader(self) -> None:
        await self._waiting.until(lambda: self._port.reader_is_there, _BACK_US)

    async def _plug(self, what: CableFault) -> None:
        match what:
            case CableFault.OUT:
                await self._waiting.pause(_HAND_US)
                self._port.unplug()
            case CableFault.STALL:
                self._port.hold()
            case CableFault.SILENCE:
                await self._waiting.pause(_SILENCE_US)
            case CableFault.FLOW:
                await self._waiting.pause(_STALL_US)
                self._port.release()
            case CableFault.THIEF:
                self._port.steals = True
            case CableFault.NO_THIEF:
                self._port.steals = False
            case _:
                await self._put_back(what)

    async def _put_back(self, what: CableFault) -> None:
        """Plug the cable in again, and wait for the driver; its name does not matter here."""
        unheard = self._port.unheard
        self._port.plug_in()
        if what is CableFault.IN_BUSY:
            self._port.occupied = True
            await self._waiting.pause(_BUSY_US)
            self._port.occupied = False
        await self._reader()
        if what is CableFault.IN_STALE:
            self._port.write(unheard)

    async def _say(self, step: ReportStep, call: Callable[[DealerCall], Awaitable[None]]) -> None:
        await self._waiting.pause(self._rng.choice(_PAUSES))
        if step.falls is not None:
            self.lying.append(step.falls)
            self.fell.append(step.falls.card)
        frames: Iterable[bytes] = step.copies
        if self._link is not None:
            now_ms = self._clock.now_us // _MS
            frames = self._link.report(step.copies, step.wire, now_ms) if step.copies else ()
            self._link_us = min(self._link_us, self._clock.now_us + RESEND_MS // 4 * _MS)
        if step.noise:
            await self._write(step.noise, step)
        for number, frame in enumerate(frames):
            if step.broken and number == 0:
                self._port.write(frame[: step.broken])
                await self._call(DealerCall.RESTART, call)
                self._port.write(frame[step.broken :])
            else:
                if step.late_s and number == 1:
                    await self._waiting.pause(int(step.late_s * MICROSECONDS))
                await self._write(frame, step)

    async def _write(self, data: bytes, step: ReportStep) -> None:
        if not step.byte_wise:
            self._port.write(data)
            return
        for at in range(len(data)):
            self._port.write(data[at : at + 1])
            await self._waiting.pause(_BYTE_US)
