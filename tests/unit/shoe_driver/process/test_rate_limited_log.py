"""The driver's log: each kind of thing at once a few times, and then a line a minute."""

from events.mqtt.process import LogLine
from shoe_driver.process.rate_limited_log import RateLimitedLog
from tests.support.shoe.scripted_driver import ScriptedDriver


def said(script: ScriptedDriver, times: int, every_us: int) -> list[LogLine]:
    """The lines of a link that is lost so many times."""
    log = RateLimitedLog()
    for _ in range(times):
        script.do(log.warning("link.down", reason="unplugged"))
        script.now_us += every_us
    script.do(log.info("link.open"))
    return script.lines


def test_a_flood_is_a_handful_of_lines_and_a_count() -> None:
    *lines, opened = said(
        ScriptedDriver(), 10_000, 10_000
    )  # a hundred a second, for a hundred seconds
    assert len(lines) == 7
    assert "unsaid" not in lines[5].fields
    unsaid = lines[6].fields["unsaid"]
    assert isinstance(unsaid, int)
    assert 5_990 < unsaid < 6_010
    assert all(line.fields["reason"] == "unplugged" for line in lines)
    # One kind of thing does not silence another.
    assert (opened.level, opened.event) == ("info", "link.open")


def test_what_happens_seldom_is_always_said() -> None:
    assert len(said(ScriptedDriver(), 100, 61_000_000)) == 101
