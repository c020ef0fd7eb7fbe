"""The port's side of the driver: open, listen, lose, and open again, for ever.

One coroutine does everything in order: what it reads it stores before it reads on. The bytes are
taken off the port, and stamped, by a callback of their own, so that a slow disk delays neither. A
port that cannot be opened, or a journal that cannot be written, is said once and tried again with
pauses that grow to a limit; nothing that was not stored is accepted.
"""

import asyncio
import contextlib
import random
from collections.abc import Callable
from typing import Final

import structlog

from events.clock import Clock
from events.errors import LinkError, LogUnwritable
from shoe_driver.edge.recorder import Recorder
from shoe_driver.edge.transport import Endpoint, Port
from shoe_driver.link import LinkState
from shoe_driver.records import Record, RecordKind

__all__ = ["STOPPED", "Intake"]

STOPPED: Final = "driver stopped"

# An adapter that comes back should be noticed before the dealer does; one that stays away should
# not fill a core. Half of each pause is chance.
_PAUSE_FIRST_S: Final = 0.1
_PAUSE_MOST_S: Final = 5.0
# How often silence is looked at; the limits themselves are the profile's.
_WATCH_EVERY_S: Final = 0.25
# Reads taken and not yet stored. Then the kernel's buffer has to hold the rest.
_INFLOW_READS: Final = 256
# How long a start waits for the core to take the rest of a journal that should be replaced.
_ROLL_PATIENCE_S: Final = 5.0
# To store that the link has ended.
_STOP_S: Final = 2.0

_log: Final = structlog.get_logger()


class Intake:
    """Keeps the link.

    Args:
        endpoint: where the shoe is.
        recorder: stores what arrives and what happens.
        clock: stamps reads, measures silence.
        rng: the chance in the pauses.
        changed: called when `held` or `reason` have changed.

    Attributes:
        held: whether the port is held.
        reason: why it is not.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        recorder: Recorder,
        clock: Clock,
        rng: random.Random,
        changed: Callable[[], None],
    ) -> None:
        self.held = False
        self.reason = "starting"
        self._endpoint = endpoint
        self._recorder = recorder
        self._clock = clock
        self._rng = rng
        self._changed = changed
        self._opened_us = 0
        self._last_us = 0

    async def run(self) -> None:
        """Keep the link until cancelled; then say that it has ended."""
        try:
            await self._await_roll()
            failures = 0
            while True:
                proven = False
                try:
                    proven = await self._session()
                except (LinkError, LogUnwritable) as error:
                    self._down(str(error))
                failures = 1 if proven else failures + 1
                await asyncio.sleep(self._pause(failures))
        finally:
            self._down(STOPPED)
            try:
                async with asyncio.timeout(_STOP_S):
                    await self._recorder.hang_up(STOPPED)
            except (LogUnwritable, TimeoutError) as error:
                _log.error("journal.unwritable", reason=str(error) or "the disk hangs")

    async def _session(self) -> bool:
        """One link from opening to loss: whether it ever brought a valid frame.

        Raises:
            LinkError: the port could not be opened.
            LogUnwritable: nothing can be stored.
        """
        await self._recorder.settle()
        self._recorder.roll()
        port = Port(self._endpoint)
        try:
            self._up()
            await self._recorder.happened(RecordKind.OPEN, str(self._endpoint))
            await self._listen(port)
        except (LinkError, LogUnwritable) as error:
            reason = str(error)
        finally:
            port.close()
        proven = self._recorder.decoder.link in (LinkState.UP, LinkState.STALLED)
        self._down(reason)
        await self._recorder.hang_up(reason)
        return proven

    async def _listen(self, port: Port) -> None:
        """Store what arrives, until the link is lost.

        Raises:
            LinkError: it is lost.
            LogUnwritable: nothing can be stored: no card is accepted any more.
        """
        inflow = _Inflow(port, self._clock)
        try:
            while True:
                records = await inflow.take(_WATCH_EVERY_S)
                if records:
                    self._last_us = records[-1].mono_us
                    await self._recorder.arrived(records)
                elif inflow.lost is not None:
                    raise inflow.lost
                await self._watch_silence()
        finally:
            inflow.close()

    async def _watch_silence(self) -> None:
        """Write a silence down when it means something, so that it is decoded like all else."""
        decoder, limits = self._recorder.decoder, self._recorder.profile.limits
        now = self._clock.mono_us()
        if decoder.pending and now - self._last_us > limits.partial_ms * 1_000:
            await self._recorder.happened(RecordKind.QUIET)
        silent_ms = (now - max(self._opened_us, decoder.heard_us or 0)) // 1_000
        if (
            silent_ms > limits.silence_ms
            and decoder.in_deal
            and decoder.link in (LinkState.OPEN, LinkState.UP)
        ):
            await self._recorder.happened(RecordKind.SILENCE, str(silent_ms))

    async def _await_roll(self) -> None:
        """Give the core a moment to take the rest of a journal that is to be replaced."""
        try:
            await self._recorder.settle()
        except LogUnwritable as error:
            self._down(str(error))  # it is tried again before the port is opened
        for _ in range(int(_ROLL_PATIENCE_S / _WATCH_EVERY_S)):
            if not self._recorder.wants_to_roll or self._recorder.drained:
                return
            await asyncio.sleep(_WATCH_EVERY_S)
        _log.warning("journal.not_rolled", journal=self._recorder.journal, reason="unacknowledged")

    def _up(self) -> None:
        self.held, self.reason = True, ""
        self._opened_us = self._last_us = self._clock.mono_us()
        _log.info("link.open", transport=str(self._endpoint))

    def _down(self, reason: str) -> None:
        if self.held or reason != self.reason:
            _log.warning("link.down", transport=str(self._endpoint), reason=reason)
        self.held, self.reason = False, reason
        self._changed()

    def _pause(self, failures: int) -> float:
        doubled: float = _PAUSE_FIRST_S * 2 ** min(failures - 1, 16)
        return min(doubled, _PAUSE_MOST_S) * self._rng.uniform(0.5, 1.0)


class _Inflow:
    """Takes bytes off an open port as they come, and stamps them."""

    def __init__(self, port: Port, clock: Clock) -> None:
        self.lost: LinkError | None = None
        self._port = port
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._records: list[Record] = []
        self._reading = False
        self._resume()

    async def take(self, seconds: float) -> list[Record]:
        """What has come; waits for it at most so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        self._wake.clear()
        records, self._records = self._records, []
        self._resume()
        return records

    def close(self) -> None:
        """Take no more. To be called while the port is still open."""
        self._suspend()

    def _ready(self) -> None:
        try:
            data = self._port.read()
        except LinkError as error:
            self.lost = error
            self._suspend()
        else:
            if data:
                now, utc = self._clock.mono_us(), self._clock.utc_ns()
                self._records.append(Record(RecordKind.DATA, now, utc, data))
            if len(self._records) >= _INFLOW_READS:
                self._suspend()
        self._wake.set()

    def _resume(self) -> None:
        if not self._reading and self.lost is None:
            self._loop.add_reader(self._port.fileno(), self._ready)
            self._reading = True

    def _suspend(self) -> None:
        if self._reading:
            self._loop.remove_reader(self._port.fileno())
            self._reading = False
