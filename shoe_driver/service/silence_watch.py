"""What time and bytes tell of an open link: alive, silent where it ought to speak, or mere noise.

*Open* proves nothing: a device server takes a connection with nobody behind it, and a wrong baud
rate delivers bytes all day. Only a valid frame is proof. Silence that means something is written
into the journal, so that it is decoded like all else.
"""

from typing import Final

from events.clock import Clock
from shoe_driver.link.states import LinkState
from shoe_driver.records import Record, RecordKind
from shoe_driver.service.recorder import Recorder
from shoe_driver.transports.port_errors import PortError

__all__ = ["Proof"]

# More than a power-up's noise and a frame joined in its midst; a few reports at a wrong baud.
_NOISE_BYTES: Final = 160
# A device that beats and has been silent for so many of its limits is let go and asked anew.
_GIVE_UP: Final = 3
_TO_SPEAK: Final = frozenset({LinkState.OPEN, LinkState.UP})


class Proof:
    """Watches one link after another.

    Args:
        recorder: is told of silence; knows the newest valid frame.
        clock: measures.
    """

    def __init__(self, recorder: Recorder, clock: Clock) -> None:
        self._recorder = recorder
        self._clock = clock
        self._opened_us = 0
        self._last_us = 0
        self._frames = 0
        self._unproven = 0  # bytes since the newest valid frame

    @property
    def hint(self) -> str:
        """What a person should look at, or empty."""
        if self._unproven > _NOISE_BYTES:
            return (
                "noise: bytes come and no valid frame: wrong baud or wrong profile? "
                "Compare `shoe.url` and `shoe.profile` with the shoe"
            )
        if self._recorder.decoder.link is LinkState.STALLED:
            return "silent while the shoe ought to speak: look at its power and its cable"
        return ""

    def opened(self) -> None:
        """A link has begun."""
        self._opened_us = self._last_us = self._clock.mono_us()
        self._frames, self._unproven = self._recorder.decoder.frames, 0

    def arrived(self, records: list[Record]) -> None:
        """These came."""
        self._last_us = records[-1].mono_us
        self._unproven += sum(len(record.payload) for record in records)

    async def watch(self, *, waiting: bool) -> None:
        """Look how the link stands. To be called often, and after what arrived was decoded.

        Args:
            waiting: more has come than was decoded. This process or its disk stood still: the time
                went by here, and nobody was silent.

        Raises:
            PortError: a device that beats has been silent for too long.
            LogUnwritable: a silence could not be stored.
        """
        decoder, profile = self._recorder.decoder, self._recorder.profile
        limits = profile.limits
        if decoder.frames != self._frames:
            self._frames, self._unproven = decoder.frames, 0
        if waiting:
            return
        now = self._clock.mono_us()
        if decoder.pending and now - self._last_us > profile.patience_ms * 1_000:
            await self._recorder.happened(RecordKind.QUIET)
        silent_ms = (now - max(self._opened_us, decoder.heard_us or 0)) // 1_000
        if silent_ms <= limits.silence_ms:
            return
        if decoder.ought_to_speak and decoder.link in _TO_SPEAK:
            await self._recorder.happened(RecordKind.SILENCE, str(silent_ms))
        if self._recorder.profile.has_beat and silent_ms > _GIVE_UP * limits.silence_ms:
            raise PortError(
                f"no heartbeat for {silent_ms // 1_000} s",
                "look at the shoe's power and cable; behind a device server, at its far side",
            )
