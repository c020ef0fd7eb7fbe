"""The link supervisor: open the port, read it, lose it, and open it again, for ever.

One coroutine does everything in order. It stores each read before the next one, and sends the
device's replies after that. If a port cannot be opened or a journal cannot be written, it reports
that once and retries with pauses that grow to a limit. It accepts nothing that was not stored. Only
a replay ends.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Final

import structlog

from events.clock import Clock
from events.errors import LinkError, LogUnwritable
from events.mqtt.backoff import Backoff
from shoe_driver.journal.records import RecordKind
from shoe_driver.link.states import LinkState
from shoe_driver.service.port_reader import PortReader
from shoe_driver.service.rate_limited_log import RateLimitedLogger
from shoe_driver.service.recorder import Recorder
from shoe_driver.service.silence_watch import SilenceWatch
from shoe_driver.transports.endpoint import Endpoint
from shoe_driver.transports.port import Port, open_port
from shoe_driver.transports.port_errors import LinkEnded, PortError

__all__ = ["STOPPED", "LinkSupervisor"]

STOPPED: Final = "driver stopped"

# A returning adapter should be open within two seconds; an absent one should not use up a core.
# Half of each pause is random.
_PAUSE_FIRST_S: Final = 0.1
_PAUSE_LEAST_S: Final = 0.05
_PAUSE_MOST_S: Final = 1.5
# The interval between checks for silence; the limits themselves are the profile's.
_WATCH_EVERY_S: Final = 0.25
# How long a start waits for the core to acknowledge the rest of a journal due for replacement.
_ROLL_PATIENCE_S: Final = 5.0
# For storing that the link has ended.
_STOP_S: Final = 2.0

_log: Final = structlog.get_logger()


class LinkSupervisor:
    """Keeps the link open.

    Args:
        endpoint: where the shoe is connected.
        recorder: stores bytes and link events.
        clock: stamps reads, measures silence.
        rng: the random part of the pauses.
        changed: called when `held`, `reason` or `hint` have changed.

    Attributes:
        held: whether the port is open.
        reason: why it is not.
        hint: advice to a person about the link; empty when all is well.
        opened: how often the port was opened.
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
        self.hint = ""
        self.opened = 0
        self._endpoint = endpoint
        self._recorder = recorder
        self._clock = clock
        self._rng = rng
        self._changed = changed
        self._limited_log = RateLimitedLogger(clock)
        self._proof = SilenceWatch(recorder, clock)

    async def run(self) -> None:
        """Keep the link open until cancelled; then record that it has ended."""
        try:
            await self._await_roll()
            await self._keep()
        finally:
            self._down(PortError(STOPPED, ""))
            try:
                async with asyncio.timeout(_STOP_S):
                    await self._recorder.hang_up(STOPPED)
            except (LogUnwritable, TimeoutError) as error:
                _log.error("journal.unwritable", reason=str(error) or "the disk hangs")

    async def _keep(self) -> None:
        backoff = Backoff(_PAUSE_FIRST_S, _PAUSE_MOST_S, self._rng.uniform)
        try:
            self._refuse_second_replay()
            while True:
                proven, began_us = False, self._clock.mono_us()
                try:
                    proven = await self._session()
                except LinkEnded:
                    raise
                except (LinkError, LogUnwritable) as error:
                    self._down(error)
                if proven:
                    backoff.reset()
                # A connection attempt that timed out has waited already: after it the pause is
                # short.
                spent_s = (self._clock.mono_us() - began_us) / 1_000_000
                await asyncio.sleep(max(backoff.next_s() - spent_s, _PAUSE_LEAST_S))
        except LinkEnded as error:
            self._down(error)
        await asyncio.Event().wait()  # the last status stays published

    def _refuse_second_replay(self) -> None:
        """Refuse to deal the cards of a capture twice.

        Raises:
            LinkEnded: this journal has events already.
        """
        if self._endpoint.scheme == "file" and self._recorder.decoder.head:
            raise LinkEnded(
                f"{self._endpoint}: journal {self._recorder.journal} has events already",
                "a replay needs an empty journal folder, or it might deal its cards twice",
            )

    async def _session(self) -> bool:
        """Run one link from opening to loss; report whether it ever brought a valid frame.

        Raises:
            LinkError: the port could not be opened, or the link has ended for good.
            LogUnwritable: nothing can be stored.
        """
        await self._recorder.settle()
        self._recorder.roll()
        # Only a profile with acknowledgements may write: it is the one that can resend.
        writes = self._recorder.profile.resend is not None
        port = await open_port(self._endpoint, writes=writes)
        try:
            await self._listen(port)
        except (LinkError, LogUnwritable) as error:
            why = error
        finally:
            port.close()
        proven = self._recorder.decoder.link in (LinkState.UP, LinkState.STALLED)
        self._down(why)
        await self._recorder.hang_up(self.reason)
        if isinstance(why, LinkEnded):
            raise why
        return proven

    async def _listen(self, port: Port) -> None:
        """Store what arrives, until the link is lost.

        Raises:
            LinkError: it is lost.
            LogUnwritable: nothing can be stored, so no card is accepted any more.
        """
        inflow = PortReader(port, self._clock)
        try:
            if port.settle_s and (stale := await inflow.stale(port.settle_s)):
                self._limited_log.warning("link.stale", bytes=sum(len(r.payload) for r in stale))
                await self._recorder.arrived(stale)
            self._up()
            await self._recorder.happened(RecordKind.OPEN, str(self._endpoint))
            self._send(port, self._recorder.decoder.greeting())
            while True:
                records = await inflow.take(_WATCH_EVERY_S)
                if records:
                    self._proof.arrived(records)
                    await self._recorder.arrived(records)
                    self._send(port, self._recorder.decoder.replies())
                elif inflow.lost is not None:
                    raise inflow.lost
                await self._watch(inflow)
        finally:
            inflow.close()

    @staticmethod
    def _send(port: Port, data: bytes) -> None:
        """Send the device a reply, after what it acknowledges is on disk."""
        if data:
            port.write(data)

    async def _watch(self, inflow: PortReader) -> None:
        """Check for silence, a forsaken journal, a full segment and a changed hint."""
        await self._proof.watch(waiting=inflow.waiting)
        self._recorder.require_trusted_journal()
        await self._recorder.begin_segment()
        hint = self._proof.hint
        if hint != self.hint:
            self.hint = hint
            if hint:
                self._limited_log.warning("link.unproven", transport=str(self._endpoint), hint=hint)
            else:
                self._limited_log.info("link.proven", transport=str(self._endpoint))
            self._changed()

    async def _await_roll(self) -> None:
        """Give the core a moment to acknowledge the rest of a journal that is to be replaced."""
        try:
            await self._recorder.settle()
        except LogUnwritable as error:
            self._down(error)  # retried before the port is opened
        for _ in range(int(_ROLL_PATIENCE_S / _WATCH_EVERY_S)):
            if not self._recorder.needs_new_journal or self._recorder.drained:
                return
            await asyncio.sleep(_WATCH_EVERY_S)
        _log.warning("journal.not_rolled", journal=self._recorder.journal, reason="unacknowledged")

    def _up(self) -> None:
        self.held, self.reason, self.hint = True, "", ""
        self.opened += 1
        self._proof.opened()
        self._limited_log.info("link.open", transport=str(self._endpoint), opened=self.opened)

    def _down(self, error: Exception) -> None:
        reason, hint = str(error), ""
        if isinstance(error, PortError):
            reason, hint = error.reason, error.hint
        if self.held or reason != self.reason:
            self._limited_log.warning(
                "link.down", transport=str(self._endpoint), reason=reason, hint=hint
            )
        self.held, self.reason, self.hint = False, reason, hint
        self._changed()
