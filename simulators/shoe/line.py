"""Put a device's reports on the port: directly, or over a link that resends them."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol

from simulators.device.profiles import SimulatedProfile
from simulators.device.pty_port import BYTE_WISE, Pace, PtyPort
from simulators.device.ref_link import RefLink
from simulators.shoe.dealing import ReportStep

__all__ = ["Line", "make_line"]

_TICK_S: Final = 0.01  # how often a link reads the host's bytes and its clock
_NANOSECONDS_PER_MS: Final = 1_000_000
_Restart = Callable[[], Awaitable[None]]


class Line(Protocol):
    """Carries the reports of a device."""

    async def say(self, step: ReportStep, restart: _Restart) -> int:
        """Send one report.

        Args:
            step: the report, and how it arrives.
            restart: restarts the driver in the middle of it, if the step requires it.

        Returns:
            `time.monotonic_ns()` as the last byte of its first sending was handed over.
        """
        ...

    async def run(self) -> None:
        """Do the line's own work, such as resending, until cancelled."""
        ...


class _Plain:
    """Sends the copies one after the other, and expects nothing back."""

    def __init__(self, port: PtyPort) -> None:
        self._port = port

    async def say(self, step: ReportStep, restart: _Restart) -> int:
        return await _write(self._port, step, step.copies, restart)

    async def run(self) -> None:
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


def make_line(profile: SimulatedProfile, port: PtyPort) -> Line:
    """Return the line of a profile."""
    return _Linked(port) if profile.linked else _Plain(port)
