"""Play the happenings of `simulators.shoe.dealing` on a pseudo-terminal at a chosen speed."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final

from msgspec.structs import asdict

from simulators.device.pty_port import BYTE_WISE, Pace, PtyPort
from simulators.device.ref_link import RefLink
from simulators.device.script import CableFault, DealerCall
from simulators.shoe.dealing import DealingShoe, Happening, PhysicalCoup, ReportStep
from simulators.shoe.shoe_in_hand import ShoeInHand, no_answer

__all__ = ["DealtCoup", "ShoeSimulator"]

_TICK_S: Final = 0.01  # how often a link reads the host's bytes and its clock
_NANOSECONDS_PER_MS: Final = 1_000_000
_Restart = Callable[[], Awaitable[None]]


class _Plain:
    """Sends the copies one after the other, and expects nothing back."""

    def __init__(self, port: PtyPort) -> None:
        self._port = port

    async def say(self, step: ReportStep, restart: _Restart) -> int:
        """Send one report.

        Args:
            step: the report, and how it arrives.
            restart: restarts the driver in the middle of it, if the step requires it.

        Returns:
            `time.monotonic_ns()` as the last byte of its first sending was handed over.
        """
        return await _write(self._port, step, step.copies, restart)

    async def run(self) -> None:
        """Wait until cancelled: this line resends nothing."""
        await asyncio.Event().wait()


class _Linked:
    """Frames, numbers, keeps and resends the reports."""

    def __init__(self, port: PtyPort) -> None:
        self._port = port
        self._link = RefLink()

    async def say(self, step: ReportStep, restart: _Restart) -> int:
        frames = self._link.report(step.copies, step.wire, _now_ms()) if step.copies else []
        return await _write(self._port, step, frames, restart)

    async def run(self) -> None:
        while True:
            self._link.hear(self._port.received())
            for frame in self._link.due(_now_ms()):
                await self._port.write(frame)
            await asyncio.sleep(_TICK_S)


async def _write(
    port: PtyPort, step: ReportStep, frames: Sequence[bytes], restart: _Restart
) -> int:
    pace: Pace | None = BYTE_WISE if step.byte_wise else None
    handed_over = time.monotonic_ns()
    if step.noise:
        await port.write(step.noise, pace=pace)
    for number, frame in enumerate(frames):
        if step.broken and number == 0:
            await port.write(frame[: step.broken])
            await restart()
            await port.write(frame[step.broken :])
            continue
        if step.late_s and number == 1:
            await asyncio.sleep(step.late_s)
        at = await port.write(frame, pace=pace)
        handed_over = at if number == 0 else handed_over
    return handed_over


def _now_ms() -> int:
    return time.monotonic_ns() // _NANOSECONDS_PER_MS


_HAND_S: Final = 0.1  # a hand takes a moment to pull a plug; earlier reports have been read
_READER_BACK_S: Final = 30.0  # for the driver to open the line again; then play goes on anyway
_STALL_S: Final = 0.3  # longer than a device takes for the copies of a report
_BUSY_S: Final = 0.5  # another program has the port: the driver tries it meanwhile
_SILENCE_S: Final = 61.0  # longer than the silence limit of any shipped profile


class DealtCoup(PhysicalCoup, frozen=True, kw_only=True):
    """A coup on the table, and the time of the device's deciding report.

    Args:
        decided_ns: `time.monotonic_ns()` as the last byte of the deciding report's first copy was
            handed to the line; the settlement's latency counts from here.
    """

    decided_ns: int


def _ignore(_: Happening) -> None:
    """Ignore the happening."""


class ShoeSimulator(ShoeInHand):
    """A dealing shoe and its port.

    Args:
        port: takes the bytes.
        dealing: decides what the shoe does.
        first_shoe: id of the first shoe, `YYYYMMDD-NN`; the following ones count on. With the seed
            it fixes the cards.
        speed: 1 is a live table's pace, 2 twice as fast, 0 as fast as the line takes it.
        silence_s: the length of the device's silence, when it falls silent.
        told: called with every step as it begins, and with each change of the cable.
        cue: awaited before each card and before the result, in place of the pause; None deals on.
    """

    def __init__(
        self,
        port: PtyPort,
        dealing: DealingShoe,
        *,
        first_shoe: str,
        speed: float = 1.0,
        silence_s: float = _SILENCE_S,
        told: Callable[[Happening], None] = _ignore,
        cue: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__(dealing, first_shoe)
        self.port = port
        self._line = _Linked(port) if dealing.profile.linked else _Plain(port)
        self._link = port.link
        self._silence_s = silence_s
        self._told = told
        self._speed = speed
        self._cue = cue

    async def run(self) -> None:
        """Do the device's own work (resends, heartbeats), until cancelled."""
        await self._line.run()

    async def deal_coup(
        self,
        fault: str | None = None,
        *,
        call: Callable[[DealerCall], Awaitable[None]] = no_answer,
    ) -> DealtCoup:
        """Deal one coup to its result, or as far as it comes.

        Args:
            fault: the fault to have.
            call: called when the dealer calls a person; the dealer waits for it.

        Raises:
            OurBug: the shoe is over.
        """
        happenings, coup = self._begin_coup(fault)
        decided_ns = await self._play(happenings, call)
        return DealtCoup(**asdict(coup), decided_ns=decided_ns)

    async def _play(
        self,
        happenings: Iterable[Happening],
        call: Callable[[DealerCall], Awaitable[None]] = no_answer,
    ) -> int:
        decided_ns = 0
        for happening in happenings:
            self._told(happening)
            if isinstance(happening, DealerCall):
                await self._call(happening, call)
            elif isinstance(happening, CableFault):
                await self._plug(happening)
            else:
                handed_over = await self._say(happening, call)
                decided_ns = handed_over if happening.deciding else decided_ns
        return decided_ns

    async def _call(self, what: DealerCall, call: Callable[[DealerCall], Awaitable[None]]) -> None:
        if what is DealerCall.RESTART:
            await asyncio.sleep(_HAND_S)
        await call(what)
        if what is DealerCall.RESTART:
            await self._driver_back()

    async def _plug(self, what: CableFault) -> None:
        match what:
            case CableFault.OUT:
                await asyncio.sleep(_HAND_S)
                self.port.unplug()
            case CableFault.STALL:
                self.port.hold()
            case CableFault.SILENCE:
                await asyncio.sleep(self._silence_s)
            case CableFault.FLOW:
                await asyncio.sleep(_STALL_S)
                await self.port.release()
            case CableFault.THIEF:
                self.port.steal()
            case CableFault.NO_THIEF:
                self.port.leave()
            case _:
                await self._put_back(what)

    async def _put_back(self, what: CableFault) -> None:
        """Plug the cable in again, and wait until the driver opens the port."""
        unheard = self.port.unheard
        elsewhere = what is CableFault.IN_ELSEWHERE and self.port.link == self._link
        self.port.plug_in(self._link.with_name(f"{self._link.name}-2") if elsewhere else self._link)
        if what is CableFault.IN_BUSY:
            self.port.occupy()
            await asyncio.sleep(_BUSY_S)
            self.port.leave()
        await self._driver_back()
        if what is CableFault.IN_STALE:
            await self.port.write(unheard)

    async def _driver_back(self) -> None:
        """Wait until the line is open again and the driver has discarded the bytes from before."""
        await self.port.reader(_READER_BACK_S)
        await asyncio.sleep(_HAND_S)

    async def _say(self, step: ReportStep, call: Callable[[DealerCall], Awaitable[None]]) -> int:
        """Send a report; return when the last byte of its first sending was handed over."""
        if self._cue is not None and (step.falls is not None or step.deciding):
            await self._cue()
        elif self._speed and step.pause:
            await asyncio.sleep(step.pause / self._speed)
        if step.falls is not None:
            self.lying.append(step.falls)
        return await self._line.say(step, lambda: self._call(DealerCall.RESTART, call))
