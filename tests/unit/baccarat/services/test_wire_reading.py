"""A shoe event is read by the profile that it cites, which is kept beside the log or nowhere."""

from pathlib import Path

import pytest

from baccarat.rulebooks.editions import ProfileKeeper, keep_profiles
from baccarat.services.wire_reading import WireReading
from events.cards import Card, Hand
from events.types import CardDrawn, LinkUp, Report, ShoeEvent
from shoe_driver.decode import Decoder
from shoe_driver.profiles.catalogue import load_profile
from tests.support.shoe.shoe_bytes import stream
from tests.support.table.coups import drawn

PROFILE = load_profile("enq-bcc")
DECODER = Decoder(PROFILE)
(SAID,) = DECODER.feed_bare(stream("D P1 9H"))


def event(report: Report, profile_hash: str = PROFILE.digest) -> ShoeEvent:
    return ShoeEvent(
        journal="j1", seq=1, profile=PROFILE.id, profile_hash=profile_hash, offset=0, raw=SAID.raw,
        mono_us=0, utc=SAID.utc, report=report,  # type: ignore[arg-type] # any of them
    )  # fmt: skip


@pytest.mark.parametrize("proved", [False, True])
def test_an_event_is_read_by_what_it_cites(tmp_path: Path, *, proved: bool) -> None:
    log = tmp_path / "log" / "table.sqlite"
    keeper = ProfileKeeper(log, keep_profiles(log, ["enq-bcc"]), tmp_path / "journal")
    read = WireReading(log, keeper, lambda: proved)
    true = drawn(Hand.PLAYER, 1, "9H")
    assert SAID.report == true
    assert read(event(true)) is None
    assert read(event(LinkUp())) is None
    said = read(event(CardDrawn(hand=Hand.PLAYER, number=1, face=Card.H8)))
    assert said == "card_drawn: the shoe's own bytes do not say so"
    unknown = read(event(true, "0" * 64))
    assert (unknown is None) is proved
    assert proved or "is kept nowhere" in str(unknown)
