"""The driver's log: each kind of thing at once a few times, and then a line a minute."""

from structlog.testing import capture_logs

from shoe_driver.service.rate_limited_log import RateLimitedLogger


class Hand:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now_us = 0

    def mono_us(self) -> int:
        return self.now_us

    def utc_ns(self) -> int:
        return self.now_us * 1_000


def test_a_flood_is_a_handful_of_lines_and_a_count() -> None:
    clock = Hand()
    voice = RateLimitedLogger(clock)
    with capture_logs() as lines:
        for _ in range(10_000):
            voice.warning("link.down", reason="unplugged")
            clock.now_us += 10_000  # a hundred a second, for a hundred seconds
    assert len(lines) == 7
    assert "unsaid" not in lines[5]
    assert 5_990 < lines[6]["unsaid"] < 6_010
    assert all(line["reason"] == "unplugged" for line in lines)


def test_one_kind_of_thing_does_not_silence_another() -> None:
    voice = RateLimitedLogger(Hand())
    with capture_logs() as lines:
        for _ in range(50):
            voice.warning("link.down")
        voice.info("link.open")
    assert [line["event"] for line in lines] == ["link.down"] * 6 + ["link.open"]
    assert lines[-1]["log_level"] == "info"


def test_what_happens_seldom_is_always_said() -> None:
    clock = Hand()
    voice = RateLimitedLogger(clock)
    with capture_logs() as lines:
        for _ in range(100):
            voice.warning("link.down")
            clock.now_us += 61_000_000
    assert len(lines) == 100
