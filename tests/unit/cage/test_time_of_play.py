"""Time of play comes from gaps between events, never across a clock that was set."""

import pytest

from cage.reports.time_of_play import seconds_of_play

AT = "2026-11-27T21:40:{:02d}.000000000Z"


@pytest.mark.parametrize(
    ("times", "seconds"),
    [
        ([], 0),
        ([AT.format(5)], 0),
        ([AT.format(5), AT.format(30), AT.format(50)], 45),
        (["1970-01-01T00:00:07Z", "1970-01-01T00:00:27Z", AT.format(5), AT.format(30)], 45),
        ([AT.format(5), AT.format(30), "1970-01-01T00:00:07Z", "1970-01-01T00:00:27Z"], 45),
        ([AT.format(5), AT.format(30), AT.format(10), AT.format(30)], 45),
        (["2026-11-27T21:40:00Z", "2026-11-27T22:40:00Z", "2026-11-27T23:40:01Z"], 3600),
    ],
    ids=["none", "one", "in order", "first 1970", "then 1970", "goes back", "closed for a while"],
)
def test_only_gaps_of_up_to_an_hour_are_play(times: list[str], seconds: float) -> None:
    assert seconds_of_play(times) == seconds
