"""A shoe event against its own bytes: those of the kept logs, and then with a lie in each."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from msgspec.structs import replace

from events.cards import Card
from events.types.shoe_reports import (
    CardDrawn,
    CardRevealed,
    DeviceResult,
    LinkDown,
    Report,
    ReportLost,
    ShoeEvent,
)
from shoe_driver.profiles.catalogue import load_profile, profile_names
from shoe_driver.profiles.profile import Profile
from shoe_driver.wire_check import IN_A_FRAME, contradiction
from tests.support.kept.stories import LOG, events_of, kept_stories, unpack

PROFILES = {each.digest: each for each in map(load_profile, profile_names())}


@cache
def spoken() -> list[tuple[ShoeEvent, Profile]]:
    """The shoe events of all kept logs that shipped profiles read."""
    found = [msgspec.convert(each, ShoeEvent) for each in _kept()]
    return [(event, PROFILES[event.profile_hash]) for event in found
            if event.profile_hash in PROFILES]  # fmt: skip


def _kept() -> Iterator[object]:
    for story in kept_stories():
        with TemporaryDirectory() as folder:
            there = unpack(story, Path(folder) / "story")
            for event in events_of(there) if (there / LOG).exists() else ():
                if event["type"] == "shoe_reported":
                    yield event["data"]["source"]


def lies(event: ShoeEvent) -> Iterator[ShoeEvent]:
    """The same event as somebody would change it on its way."""
    report = event.report
    face = getattr(report, "face", None)
    if face is not None:
        yield replace(event, raw=event.raw[: len(event.raw) // 4 * 2])
        yield replace(event, report=replace(report, face=next(c for c in Card if c is not face)))
    if isinstance(report, CardDrawn | CardRevealed) and report.number is not None:
        yield replace(event, report=replace(report, number=report.number % 3 + 1))
    if isinstance(report, DeviceResult):
        other = "player" if report.winner != "player" else "banker"
        yield replace(event, report=replace(report, winner=other))
        yield replace(event, report=replace(report, player_pair=not report.player_pair))
    yield replace(event, raw="")
    yield replace(event, raw="no hex")


def test_every_kept_event_agrees_with_its_bytes() -> None:
    kinds = {type(event.report) for event, _ in spoken()}
    assert len({profile.id for _, profile in spoken()}) == len(PROFILES)
    assert len(kinds.intersection(IN_A_FRAME)) > 5
    assert [(event, why) for event, profile in spoken()
            if (why := contradiction(event, profile)) is not None] == []  # fmt: skip


def test_every_lie_about_a_card_or_a_result_is_seen() -> None:
    several = {(event.raw, profile.id): (event, profile) for event, profile in spoken()}
    told = [
        (lie, profile)
        for event, profile in list(several.values())[::2]
        if isinstance(event.report, IN_A_FRAME)
        for lie in lies(event)
    ]
    assert len(told) > 1_000
    assert [lie for lie, profile in told if contradiction(lie, profile) is None] == []


@pytest.mark.parametrize("report", [LinkDown(reason="gone"), ReportLost(expected="1", got="2")])
def test_what_is_in_no_frame_is_not_judged(report: Report) -> None:
    event, profile = spoken()[0]
    assert contradiction(replace(event, report=report, raw=""), profile) is None
