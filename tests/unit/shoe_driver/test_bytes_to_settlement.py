"""From the bytes of each profile to a settled coup, and what each profile's losses do to one.

Player 9S KH is 9, Banker 2D 3C is 5: a natural, complete on four cards in the order P B P B.
"""

import pytest
from msgspec.structs import replace

from events.types import AlarmRaised, AnyReport, CoupMisaligned, CoupSettled, TableEvent
from shoe_driver.decode import Decoder
from shoe_driver.profiles.catalogue import load_profile
from table_core.state.coup import Phase
from tests.support.shoe.ref_bytes import beat, ref_frame
from tests.support.shoe.shoe_bytes import stream
from tests.support.table.coups import CONTEXT, World

BRACKET = (
    b"[Game]<Card:9S>\r\n",
    b"[Game]<Card:2D>\r\n",
    b"[Game]<Card:HK>\r\n",
    b"[Game]<Card:3C>\r\n",
)
# By the table of text-line-scan: 9 of spades, 2 of diamonds, king of hearts, 3 of clubs.
SCAN = (b"0009\r\n", b"0028\r\n", b"0026\r\n", b"0042\r\n")
REF = (
    ref_frame(1, 0),
    ref_frame(0x10, 1, bytes([0x11, 0x19])),
    ref_frame(0x10, 2, bytes([0x21, 0x32])),
    ref_frame(0x10, 3, bytes([0x12, 0x2D])),
    ref_frame(0x10, 4, bytes([0x22, 0x43])),
    ref_frame(0x30, 5, bytes([1, 0])),
)
ENQ = tuple(
    stream(report, first_seq=number)
    for number, report in enumerate(
        ("D P1 9S", "D B1 2D", "D P2 KH", "D B2 3C", "G player"), start=1
    )
)


def table(profile: str) -> tuple[World, Decoder]:
    shipped = load_profile(profile)
    world = World(replace(CONTEXT, result_required=shipped.result == "required"))
    world.ready()
    return world, Decoder(shipped)


def play(world: World, decoder: Decoder, *pieces: bytes) -> list[TableEvent]:
    """What the table makes of these bytes."""
    said: list[AnyReport] = [e.report for piece in pieces for e in decoder.feed_bare(piece)]
    return world.say(*said)


def paid(events: list[TableEvent]) -> list[int]:
    """What the last phase of each coup pays."""
    settled = [event.settlement for event in events if isinstance(event, CoupSettled)]
    return [settlement.paid for settlement in settled if settlement.winner is not None]


COUPS = {
    "enq-bcc": ((), ENQ),
    "text-line": ((), BRACKET),
    "text-line-scan": ((), SCAN),
    "ref-crc": (REF[:1], REF[1:]),
    "ref-crc, cards in another order": (REF[:1], (REF[2], REF[1], REF[4], REF[3], REF[5])),
}


@pytest.mark.parametrize("title", COUPS)
def test_a_coup_settles(title: str) -> None:
    world, decoder = table(title.partition(",")[0])
    before, coup = COUPS[title]
    play(world, decoder, *before)
    world.open()
    world.bet((1, "player", 10_000))
    world.close()
    events = play(world, decoder, *coup)
    assert paid(events) == [20_000]  # the stake of 100.00 and as much again
    assert not [event for event in events if isinstance(event, CoupMisaligned)]


LOSSES = {
    "a line with a flipped bit": ("text-line", (), (*BRACKET[:1], b"[Game]<Card:\xb2D>\r\n")),
    "half a line": ("text-line-scan", (), (*SCAN[:1], b"00\xff", b"\r\n")),
    "a number that no resend brings": (
        "ref-crc", REF[:1], (REF[1], REF[3], beat(4, 3, 2, ms=3000)),
    ),
    "a power-up in mid-coup": ("ref-crc", REF[:1], (REF[1], ref_frame(1, 0, boot=9))),
}  # fmt: skip


@pytest.mark.parametrize(("profile", "before", "coup"), LOSSES.values(), ids=LOSSES)
def test_what_may_hide_a_card_misaligns(
    profile: str, before: tuple[bytes, ...], coup: tuple[bytes, ...]
) -> None:
    world, decoder = table(profile)
    play(world, decoder, *before)
    world.open()
    world.close()
    play(world, decoder, *coup)
    world.say(*(event.report for event in decoder.finish()))
    assert world.state.phase is Phase.MISALIGNED
    assert paid(world.log) == []


@pytest.mark.parametrize(
    ("profile", "line"),
    [
        ("text-line", b"[Game]<Game>\r\n"),
        ("text-line", b"[Game]<Card:XX>\r\n"),
        ("text-line-scan", b"9\r\n"),
    ],
)
def test_a_card_that_was_not_read_lies_at_its_place(profile: str, line: bytes) -> None:
    world, decoder = table(profile)
    world.open()
    world.close()
    lines = BRACKET if profile == "text-line" else SCAN
    events = play(world, decoder, lines[0], line, lines[2], lines[3])
    alarms = [event.alarm for event in events if isinstance(event, AlarmRaised)]
    assert "unreadable_card" in alarms
    assert paid(events) == []
