"""Bytes that come late, up to five seconds, lose no card and double none, in any profile.

What is late differs: bytes, pieces of a read, whole sendings, a report's further copies, or the
reader himself, who then takes everything at once. The truth is what the simulated shoe dealt.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import pytest

from events.types import (
    CardUnreadable,
    CopyConflict,
    FrameRejected,
    ReportLost,
    UnknownReport,
)
from simulators.device.profiles import GAMES
from simulators.device.reports import Disclosure
from tests.support.shoe.late_bytes import SECOND, STAGES, Played, play

SEED: Final = "20261129"
WAYS: Final[tuple[tuple[str, ...], ...]] = (
    *((stage,) for stage in STAGES),
    ("copies", "piece", "reader"),
    ("sending", "byte", "reader"),
)
MID_LINE: Final = ("byte", "piece")
# Half a line waits no longer than `partial_ms` for its rest, see below.
MID_LINE_MOST_US: Final = 290_000
TROUBLE: Final = (ReportLost, CopyConflict, CardUnreadable, UnknownReport)


def seeded(*words: object) -> str:
    seed = "/".join((SEED, *map(str, words)))
    print(f"seed {seed}")  # noqa: T201 - a failure shows how to repeat it
    return seed


def assert_true(played: Played) -> None:
    """Each card that fell was told once, in order, and nothing was found wrong."""
    assert [report for report in played.reports if isinstance(report, TROUBLE)] == []
    assert played.faces == played.fell
    assert played.draws == played.drawn


@pytest.mark.sweep
@pytest.mark.parametrize("speed", [1.0, 6.0])
@pytest.mark.parametrize("way", WAYS, ids="+".join)
@pytest.mark.parametrize(("profile", "disclosure"), GAMES)
def test_whatever_is_late_no_card_is_lost_and_none_is_doubled(
    profile: str, disclosure: Disclosure, way: Sequence[str], speed: float
) -> None:
    a_line = profile.startswith("text")
    most_us = MID_LINE_MOST_US * len(way) if a_line and set(way) & set(MID_LINE) else 5 * SECOND
    seed = seeded(profile, disclosure, *way, speed)
    played = play(profile, disclosure, way, seed, coups=15, most_us=most_us, speed=speed)
    assert len(played.fell) > 60
    assert_true(played)


@pytest.mark.parametrize("profile", ["text-line", "text-line-scan"])
@pytest.mark.parametrize("stage", MID_LINE)
def test_a_line_that_stands_still_in_its_midst_is_lost_aloud_and_never_another_card(
    profile: str, stage: str
) -> None:
    """No check tells a late rest from another line's: so it is told as lost, and not taken."""
    played = play(profile, "immediate", [stage], seeded(profile, stage), coups=200)
    lost = sum(isinstance(report, ReportLost) for report in played.reports)
    told, fell = played.faces, iter(played.fell)
    assert all(face in fell for face in told), "in order, and none that did not fall"
    assert 0 < len(played.fell) - len(told) <= lost


def test_of_each_line_that_is_lost_so_it_is_said_before_the_next_card() -> None:
    played = play("text-line-scan", "immediate", ["byte"], seeded("aloud"), coups=200)
    for one, other in pairwise(played.reports):
        if isinstance(one, FrameRejected):
            assert isinstance(other, ReportLost)
