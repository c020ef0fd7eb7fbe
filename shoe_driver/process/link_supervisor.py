"""The link supervisor: open the port, read it, lose it, and open it again, for ever.

One run of steps does everything in order. It stores each read before the next one, and sends the
device's replies after that. If a port cannot be opened or a journal cannot be written, it reports
that once and retries with pauses that grow to a limit. It accepts nothing that was not stored. Only
a replay ends.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from events.errors import LinkError, LogUnwritable
from events.mqtt.backoff import Backoff
from events.mqtt.process import FOREVER_S, LogLine, Now, Signal, Steps, Wait
from shoe_driver.journal.records import RecordKind
from shoe_driver.link.states import LinkState
from shoe_driver.process.effects import ClosePort, OpenPort, TakeRead, Uniform, WritePort
from shoe_driver.process.event_sender import PortStatus
from shoe_driver.process.rate_limited_log import RateLimitedLog
from shoe_driver.process.recorder import Recorder
from shoe_driver.process.silence_watch import SilenceWatch
from shoe_driver.transports.port_errors import LinkEnded, PortError

__all__ = ["STOPPED", "LinkSupervisor"]

STOPPED: Final = "driver stopped"

# A returning adapter should be open within two seconds; an absent one should not use up a core.
# Half of each pause is random.
_PAUSE_FIRST_S: Final = 0.1
_PAUSE_LEAST_S: Final = 0.05
_PAUSE_MOST_S: Final = 1.5
# The interval between checks before a link is heard; `SilenceWatch` says how often later.
_WATCH_EVERY_S: Final = 0.25
# How long a start waits for the core to acknowledge the rest of a journal due for replacement.
_ROLL_PATIENCE_S: Final = 5.0
# Until the journal has the opening, the link is still down, and says why.
_UNSTORED: Final = "the port is open, and the journal does not have it yet"


class LinkSupervisor:
    """Keeps the link open.

    Args:
        port: its state, for the event sender.
        recorder: stores bytes and link events.
        publish_status: performed when the state has changed.

    Attributes:
        ended: set when the link has ended, and the journal has it.
    """

    def __init__(
        self, port: PortStatus, recorder: Recorder, publish_status: Callable[[], Steps[None]]
    ) -> None:
        self.ended = Signal()
        self._port = port
        self._recorder = recorder
        self._publish_status = publish_status
        self._arrived = Signal()  # bytes have come, or the link is lost
        self._stopped = Signal()
        self._log = RateLimitedLog()
        self._silence = SilenceWatch(recorder)

    def run(self) -> Steps[None]:
        """Keep the link open until `stop`; then record that it has ended."""
        yield from self._await_roll()
        yield from self._keep()
        yield from self._down(PortError(STOPPED, ""))
        try:
            yield from self._recorder.hang_up(STOPPED)
        except LogUnwritable as error:
            yield from LogLine("error", "journal.unwritable", {"reason": str(error)})
        self.ended.set()

    def stop(self) -> Steps[None]:
        """End the link; `ended` is set when nothing is left to do."""
        self._stopped.set()
        self._arrived.set()
        yield from self._down(PortError(STOPPED, ""))

    def _keep(self) -> Steps[None]:
        backoff = Backoff(_PAUSE_FIRST_S, _PAUSE_MOST_S)
        try:
            self._refuse_second_replay()
            while not self._stopped.is_set:
                began = yield from Now()
                try:
                    if (yield from self._session()):
                        backoff.reset()
                except LinkEnded:
                    raise
                except (LinkError, LogUnwritable) as error:
                    yield from self._down(error)
                # A connection attempt that timed out has waited already: after it the pause is
                # short.
                spent_s = ((yield from Now()).mono_us - began.mono_us) / 1_000_000
                pause_s = backoff.next_s() * (yield from Uniform(0.5, 1.0))
                yield from Wait(max(pause_s - spent_s, _PAUSE_LEAST_S), self._stopped)
        except LinkEnded as error:
            yield from self._down(error)
            yield from Wait(FOREVER_S, self._stopped)  # the last status stays published

    def _refuse_second_replay(self) -> None:
        """Refuse to deal the cards of a capture twice.

        Raises:
            LinkEnded: this journal has events already.
        """
        transport = self._port.transport
        if transport.startswith("file:") and self._recorder.decoder.head:
            raise LinkEnded(
                f"{transport}: journal {self._recorder.journal} has events already",
                "a replay needs an empty journal folder, or it might deal its cards twice",
            )

    def _session(self) -> Steps[bool]:
        """Run one link from opening to loss; report whether it ever brought a valid frame.

        Raises:
            LinkError: the port could not be opened, or the link has ended for good.
            LogUnwritable: nothing can be stored.
        """
        recorder = self._recorder
        yield from recorder.settle()
        yield from recorder.roll()
        self._arrived.clear()
        # Only a profile that acknowledges or asks may write.
        settle_s = yield from OpenPort(recorder.profile.writes, self._arrived)
        why: Exception = PortError(STOPPED, "")
        try:
            yield from self._listen(settle_s)
        except (LinkError, LogUnwritable) as error:
            why = error
        yield from ClosePort()
        proven = recorder.decoder.link in (LinkState.UP, LinkState.STALLED)
        yield from self._down(why)
        yield from recorder.hang_up(self._port.reason)
        if isinstance(why, LinkEnded):
            raise why
        return proven

    def _listen(self, settle_s: float) -> Steps[None]:
        """Store what arrives, until the link is lost or the driver is stopped.

        Raises:
            LinkError: it is lost.
            LogUnwritable: nothing can be stored, so no card is accepted any more.
        """
        recorder = self._recorder
        if settle_s:
            yield from self._set_stale_aside(settle_s)
        yield from self._up()
        yield from recorder.happened(RecordKind.OPEN, self._port.transport)
        yield from _send(recorder.decoder.greeting())
        rest_s = _WATCH_EVERY_S
        while not self._stopped.is_set:
            yield from Wait(rest_s, self._arrived)
            self._arrived.clear()
            if records := (yield from TakeRead()):
                self._silence.arrived(records)
                yield from recorder.arrived(records)
                yield from _send(recorder.decoder.replies())
            if recorder.profile.poll is not None:
                yield from _send(recorder.decoder.question((yield from Now()).mono_us))
            rest_s = yield from self._watch()
            # Silence, too, can show that a frame was broken: it is asked for again.
            yield from _send(recorder.decoder.replies())

    def _set_stale_aside(self, settle_s: float) -> Steps[None]:
        """Store as stale what comes at once: it had waited before the connection."""
        yield from Wait(settle_s, self._stopped)
        self._arrived.clear()
        with suppress(LinkError):  # the first read after this says so again
            if read := (yield from TakeRead()):
                stale = [replace(record, kind=RecordKind.STALE) for record in read]
                length = sum(len(record.payload) for record in stale)
                yield from self._log.warning("link.stale", bytes=length)
                yield from self._recorder.arrived(stale)

    def _watch(self) -> Steps[float]:
        """Check for silence, a forsaken journal, a full segment and a changed hint.

        Return after how many seconds to check again.
        """
        rest_s = yield from self._silence.watch()
        self._recorder.require_trusted_journal()
        yield from self._recorder.begin_segment()
        port, hint = self._port, self._silence.hint
        if hint != port.hint:
            port.hint = hint
            if hint:
                yield from self._log.warning("link.unproven", transport=port.transport, hint=hint)
            else:
                yield from self._log.info("link.proven", transport=port.transport)
            yield from self._publish_status()
        return rest_s

    def _await_roll(self) -> Steps[None]:
        """Give the core a moment to acknowledge the rest of a journal that is to be replaced."""
        recorder = self._recorder
        try:
            yield from recorder.settle()
        except LogUnwritable as error:
            yield from self._down(error)  # retried before the port is opened
        for _ in range(int(_ROLL_PATIENCE_S / _WATCH_EVERY_S)):
            if not recorder.needs_new_journal or recorder.drained:
                return
            if (yield from Wait(_WATCH_EVERY_S, self._stopped)):
                return
        fields = {"journal": recorder.journal, "reason": "unacknowledged"}
        yield from LogLine("warning", "journal.not_rolled", fields)

    def _up(self) -> Steps[None]:
        port = self._port
        port.held, port.reason, port.hint = True, _UNSTORED, ""
        port.opened += 1
        yield from self._silence.opened()
        yield from self._log.info("link.open", transport=port.transport, opened=port.opened)

    def _down(self, error: Exception) -> Steps[None]:
        port, reason, hint = self._port, str(error), ""
        if isinstance(error, PortError):
            reason, hint = error.reason, error.hint
        if port.held or reason != port.reason:
            yield from self._log.warning(
                "link.down", transport=port.transport, reason=reason, hint=hint
            )
        port.held, port.reason, port.hint = False, reason, hint
        yield from self._publish_status()


def _send(data: bytes) -> Steps[None]:
    """Send the device a reply, after what it acknowledges is on disk."""
    if data:
        yield from WritePort(data)
