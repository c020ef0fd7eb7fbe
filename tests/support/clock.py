"""The clock that tests set."""

from dataclasses import dataclass

from events.mqtt.process import Instant


@dataclass
class FakeClock:
    """A `Clock` that stands still until a test moves it.

    Attributes:
        epoch_ns: wall time when the monotonic clock showed 0; changing it makes wall time jump.
        now_us: monotonic time; wall time moves with it.
        tick_us: by how much both go on before each reading of wall time.
    """

    epoch_ns: int = 1_795_815_607_123_456_789
    now_us: int = 1_000
    tick_us: int = 0

    def utc_ns(self) -> int:
        """See `events.clock.Clock.utc_ns`."""
        self.now_us += self.tick_us
        return self.epoch_ns + self.now_us * 1_000

    def mono_us(self) -> int:
        """See `events.clock.Clock.mono_us`."""
        return self.now_us

    @property
    def now(self) -> Instant:
        """Both readings."""
        return Instant(self.utc_ns(), self.mono_us())

    def passes(self, seconds: float) -> None:
        """Let time pass."""
        self.now_us += round(seconds * 1_000_000)


def ticking_clock() -> FakeClock:
    """Return a clock that goes on by a second at each reading of wall time."""
    return FakeClock(epoch_ns=0, now_us=1_795_815_607_000_000, tick_us=1_000_000)
