"""The silence watch: is an open link alive, silent although the device should send, or mere noise?

An open port proves nothing: a device server accepts a connection with nobody connected to it, and a
wrong baud rate delivers bytes all day. Only a valid frame is proof. Silence that matters is written
into the journal, so that it is decoded like everything else.
"""

from collections.abc import Sequence
from typing import Final

from events.mqtt.process import Now, Steps
from shoe_driver.journal.records import Record, RecordKind
from shoe_driver.link.states import LinkState
from shoe_driver.process.effects import BytesWait
from shoe_driver.process.recorder import Recorder
from shoe_driver.transports.port_errors import PortError

__all__ = ["SilenceWatch"]

# More than a power-up's noise and a frame joined in mid-stream; a few reports at a wrong baud.
_NOISE_BYTES: Final = 160
# Seconds between two checks: while a frame is incomplete, a limit is near or the device is asked;
# and at rest.
_LOOK_S: Final = 0.25
_REST_S: Final = 1.0
_NEAR_MS: Final = 1_250
# After so many silence limits without a beat, the port is closed and opened again.
_GIVE_UP: Final = 3
_TO_SPEAK: Final = frozenset({LinkState.OPEN, LinkState.UP})


class SilenceWatch:
    """Watches one link after another.

    Args:
        recorder: stores silence; knows the newest valid frame.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._opened_us = 0
        self._last_us = 0
        self._frames = 0
        self._unproven = 0  # bytes since the newest valid frame

    @property
    def hint(self) -> str:
        """Advice to a person, or empty."""
        if self._unproven > _NOISE_BYTES:
            return (
                "noise: bytes come and no valid frame: wrong baud or wrong profile? "
                "Compare `shoe.url` and `shoe.profile` with the shoe"
            )
        if self._recorder.decoder.link is LinkState.STALLED:
            return "silent while the shoe ought to speak: look at its power and its cable"
        return ""

    def opened(self) -> Steps[None]:
        """Begin to watch a link."""
        self._opened_us = self._last_us = (yield from Now()).mono_us
        self._frames, self._unproven = self._recorder.decoder.frames, 0

    def arrived(self, records: Sequence[Record]) -> None:
        """Note records of bytes that came."""
        self._last_us = records[-1].mono_us
        self._unproven += sum(len(record.payload) for record in records)

    def watch(self) -> Steps[float]:
        """Check the link for silence, after what arrived was decoded.

        Return after how many seconds to check again if nothing arrives. While bytes wait that were
        not decoded, this process or its disk was stalled, and the device was not silent.

        Raises:
            PortError: a device with a beat has been silent for too long.
            LogUnwritable: a silence could not be stored.
        """
        decoder, profile = self._recorder.decoder, self._recorder.profile
        limits = profile.limits
        if decoder.frames != self._frames:
            self._frames, self._unproven = decoder.frames, 0
        if (yield from BytesWait()):
            return _LOOK_S
        now = (yield from Now()).mono_us
        if decoder.pending and now - self._last_us > profile.patience_ms * 1_000:
            yield from self._recorder.happened(RecordKind.QUIET)
        silent_ms = (now - max(self._opened_us, decoder.heard_us or 0)) // 1_000
        limit_ms = limits.silence_ms
        if silent_ms > limit_ms:
            if decoder.device_should_send and decoder.link in _TO_SPEAK:
                yield from self._recorder.happened(RecordKind.SILENCE, str(silent_ms))
            limit_ms *= _GIVE_UP
            if profile.has_beat and silent_ms > limit_ms:
                raise PortError(
                    f"no heartbeat for {silent_ms // 1_000} s",
                    "look at the shoe's power and cable; behind a device server, at its far side",
                )
        near = decoder.pending or profile.poll is not None or 0 <= limit_ms - silent_ms < _NEAR_MS
        return _LOOK_S if near else _REST_S
