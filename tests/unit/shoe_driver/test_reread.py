"""A shoe event against its own bytes: those of the kept logs, and then with a lie in each."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from msgspec.structs import replace

from events.cards import Card
from events.types import (
    IN_A_FRAME,
    CardDrawn,
    CardRevealed,
    DeviceResult,
    LinkDown,
    Report,
    ReportLost,
    ShoeEvent,
)
from shoe_driver.profiles.catalogue import profile_names, shipped_texts
from shoe_driver.profiles.profile import parse_profile
from shoe_driver.reread import RawReader
from tests.support.kept.stories import LOG, events_of, kept_stories, unpack

PROFILES = {
    profile.digest: profile
    for profile in (parse_profile(text, source="shipped") for text in shipped_texts())
}


@cache
def spoken() -> list[tuple[ShoeEvent, str, RawReader]]:
    """The shoe events of all kept logs, each with its profile's id and reader."""
    readers = {digest: RawReader(profile) for digest, profile in PROFILES.items()}
    found = [msgspec.convert(each, ShoeEvent) for each in _kept()]
    return [
        (event, PROFILES[event.profile_hash].id, readers[event.profile_hash])
        for event in found
        if event.profile_hash in PROFILES
    ]


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
    kinds = {type(event.report) for event, _, _ in spoken()}
    assert {profile for _, profile, _ in spoken()} == set(profile_names())
    assert len(kinds.intersection(IN_A_FRAME)) > 5
    assert [(event, why) for event, _, reader in spoken()
            if (why := reader.contradiction(event)) is not None] == []  # fmt: skip


def test_every_lie_about_a_card_or_a_result_is_seen() -> None:
    several = {(event.raw, profile): (event, reader) for event, profile, reader in spoken()}
    told = [
        (lie, reader)
        for event, reader in list(several.values())[::2]
        if isinstance(event.report, IN_A_FRAME)
        for lie in lies(event)
    ]
    assert len(told) > 1_000
    assert [lie for lie, reader in told if reader.contradiction(lie) is None] == []


@pytest.mark.parametrize("report", [LinkDown(reason="gone"), ReportLost(expected="1", got="2")])
def test_what_is_in_no_frame_is_not_judged(report: Report) -> None:
    event, _, reader = spoken()[0]
    assert reader.contradiction(replace(event, report=report, raw="")) is None
