"""From bytes to events: the page's vectors and sequences, faults, and numbers that never change."""

import random

import pytest

from events.cards import Card, Hand
from events.types import ShoeEvent
from shoe_driver.decode import Decoder
from shoe_driver.link.states import LinkState
from shoe_driver.profiles.catalogue import profile_text
from shoe_driver.profiles.profile import parse_profile
from simulators.device.enq_bcc import EnqBccDevice
from simulators.device.printed_rules import PrintedPlace
from tests.support.shoe.shoe_bytes import NOISE, PROFILE, body, cut, frame, frames, said, stream

SEED = 20261127


def bare(*pieces: bytes) -> list[ShoeEvent]:
    """The events of a capture without times."""
    decoder = Decoder(PROFILE)
    return [event for piece in pieces for event in decoder.feed_bare(piece)] + decoder.finish()


VECTORS = {
    "power-up": ("05 30 53 03 36 30", "shoe_booted"),
    "Player 1 drawn, face withheld": ("05 31 44 81 80 03 37 37", "card_drawn player 1"),
    "Player 1 = 8S": ("05 31 44 81 B8 03 34 46", "card_drawn player 1 8S"),
}


@pytest.mark.parametrize(("text", "meaning"), VECTORS.values(), ids=VECTORS)
def test_published_vectors(text: str, meaning: str) -> None:
    raw = bytes.fromhex(text)
    [event] = bare(raw)
    assert said([event]) == [meaning]
    assert (event.seq, event.offset, event.raw) == (1, 0, raw.hex().upper())
    assert (event.device_seq, event.profile, event.profile_hash) == (
        chr(raw[1]),
        "enq-bcc",
        PROFILE.digest,
    )


# Body as hex, and what it means by the page. `?` is an unknown report.
BODIES = """
53             shoe_booted
50             shoe_ready
44 81 91       card_drawn player 1 AD
44 82 AD       card_drawn player 2 KC
44 83 BA       card_drawn player 3 TS
44 91 CB       card_drawn banker 1 JH
44 92 CC       card_drawn banker 2 QH
44 93 80       card_drawn banker 3
44 A0 B8       card_drawn 8S
44 C1 A2       first_card 2C
44 C1 80       first_card
44 D1 9B       burn_card JD 1
44 D0 A2       burn_card 2C 0
44 80 B8       ?  Player's card number nought
44 84 B8       ?  no hand has four cards
44 81 81       ?  suit nought
44 81 D1       ?  suit five
44 81 90       ?  rank nought
44 81 9E       ?  rank fourteen
44 B1 B8       ?  target three
44 E1 B8       ?  target six
44 81          ?  too short
44 81 B8 B8    ?  too long
44             ?  no data
49 81 B8       card_revealed player 1 8S
49 93 A2       card_revealed banker 3 2C
49 C1 A2       first_card 2C
49 81 80       ?  disclosed without a face
49 A0 B8       ?  disclosed for no hand
47 90          device_result player
47 A0          device_result tie
47 C0          device_result banker
47 D0          device_result banker True
47 91          device_result player True
47 A2          device_result tie True
47 C3          device_result banker True True
47 F0          round_forced_end
47 80          ?  winner nought
47 B0          ?  winner three
47 94          ?  a bit that means nothing
45 81          error_raised cannot_read
45 82          error_raised overdraw
45 C7          error_raised draw_timeout latched
45 83          error_raised button_mishandled
45 84          error_raised reversed_at_exit
45 85          error_raised reversed_midway
45 86          error_raised card_code
45 8C          error_raised error_12
65 82          error_cleared overdraw
65 C7          error_cleared draw_timeout
64 A1 80       card_out_of_game drawn_outside_game
64 A1 B8       card_out_of_game drawn_outside_game 8S
69 A1 B8       card_out_of_game overdrawn 8S
52 81 B8       card_carried_over player 1 8S
52 A1 B8       ?  carried over to no hand
53 81          ?  power-up has no data
58             ?  another kind
78 81 B8       ?  another kind
"""


@pytest.mark.parametrize("row", BODIES.strip().splitlines())
def test_code_table(row: str) -> None:
    text, _, meaning = row.partition("  ")
    raw = frame("1", bytes.fromhex(text))
    unknown = f"unknown_report {raw.hex().upper()}"
    [told] = said(bare(raw))
    wanted = meaning.strip()
    assert told == (unknown if wanted.startswith("?") else wanted)


SEQUENCES = {
    "immediate": (
        "S, D P1 9H, D B1 2D, D P2 8S, D B2 KC, G player, P",
        (
            "shoe_booted; card_drawn player 1 9H; card_drawn banker 1 2D; card_drawn player 2 8S; "
            "card_drawn banker 2 KC; device_result player; shoe_ready"
        ),
    ),
    "deferred": (
        (
            "D P1 --, D B1 --, D P2 --, D B2 --, D P3 --, "
            "I P1 AH, I B1 7D, I P2 3S, I B2 QC, I P3 4S, G player"
        ),
        (
            "card_drawn player 1; card_drawn banker 1; card_drawn player 2; card_drawn banker 2; "
            "card_drawn player 3; card_revealed player 1 AH; card_revealed banker 1 7D; "
            "card_revealed player 2 3S; card_revealed banker 2 QC; card_revealed player 3 4S; "
            "device_result player"
        ),
    ),
    "new shoe": (
        "S, D first 2C:1, D burn JD:1, D burn 2C:0, P",
        "shoe_booted; first_card 2C; burn_card JD 1; burn_card 2C 0; shoe_ready",
    ),
    "overdraw burned, two errors stand and one is cleared": (
        "D B2 --, E 2, E 7 latched, d other --, i other 5D, e 2, I P1 9H, G tie PP BP",
        (
            "card_drawn banker 2; error_raised overdraw; error_raised draw_timeout latched; "
            "card_out_of_game drawn_outside_game; card_out_of_game overdrawn 5D; "
            "error_cleared overdraw; card_revealed player 1 9H; device_result tie True True"
        ),
    ),
    "overdraw carried over": (
        "E 2, d other 5D, e 2, G six, R P1 5D, D B1 2D",
        (
            "error_raised overdraw; card_out_of_game drawn_outside_game 5D; "
            "error_cleared overdraw; device_result banker True; "
            "card_carried_over player 1 5D; card_drawn banker 1 2D"
        ),
    ),
    "power cycle in mid-coup": (
        "D P1 9H, D B1 2D, S, D P1 8S",
        "card_drawn player 1 9H; card_drawn banker 1 2D; shoe_booted; card_drawn player 1 8S",
    ),
    "forced end": (
        "D P1 9H, G forced",
        "card_drawn player 1 9H; round_forced_end",
    ),
    "the same face twice in a row is two cards": (
        "D P1 9H, D P2 9H",
        "card_drawn player 1 9H; card_drawn player 2 9H",
    ),
}


@pytest.mark.parametrize("copies", [1, 2, 3])
@pytest.mark.parametrize(("reports", "wanted"), SEQUENCES.values(), ids=SEQUENCES)
def test_sequence(reports: str, wanted: str, copies: int) -> None:
    data = stream(reports, copies)
    whole = bare(data)
    assert said(whole) == wanted.split("; ")
    assert bare(*cut(data, range(len(data)))) == whole
    assert [event.seq for event in whole] == list(range(1, len(whole) + 1))


def test_noise_at_power_up_is_rejected_and_the_power_up_is_heard() -> None:
    events = bare(NOISE + stream("S"))
    assert said(events) == ["frame_rejected noise FFFFFFFFC5FC 6", "shoe_booted"]
    assert [event.offset for event in events] == [0, 6]


def test_two_power_ups_in_a_row_with_copies_lost_are_two() -> None:
    boot = frame("0", b"S")
    assert said(bare(boot * 6)) == ["shoe_booted"] * 2
    assert said(bare(boot * 5)) == ["shoe_booted"] * 2


def test_a_lost_report_is_told_before_the_one_that_shows_it() -> None:
    one, _, three, *_ = frames("D P1 9H, D B1 2D, D P2 8S")
    assert said(bare(one + three)) == [
        "card_drawn player 1 9H",
        "report_lost 2 3",
        "card_drawn player 2 8S",
    ]


def test_a_number_of_a_power_up_on_a_card_is_a_loss_and_the_card_is_kept() -> None:
    drawn = [frame(seq, body("D P1 8S")) for seq in "501"]
    assert said(bare(*drawn, frame("0", b"S"), frame("1", b"P"))) == [
        "card_drawn player 1 8S",
        "report_lost 6 0",
        "card_drawn player 1 8S",
        "card_drawn player 1 8S",
        "shoe_booted",
        "shoe_ready",
    ]


def test_a_power_up_with_a_number_that_is_not_due_is_a_loss() -> None:
    for seq, told in (("6", []), ("7", ["report_lost 6 7"])):
        events = bare(frame("5", b"P"), frame(seq, b"S"))
        assert said(events) == ["shoe_ready", *told, "shoe_booted"]


def test_a_kind_that_a_site_maps_to_a_power_up_has_its_number() -> None:
    text = profile_text("enq-bcc").replace(b"S = { report", b"B = { report", 1)
    decoder = Decoder(parse_profile(text, source="site"))
    events = decoder.feed_bare(frame("5", b"P") + frame("0", b"B") + frame("1", b"P"))
    assert said(events) == ["shoe_ready", "shoe_booted", "shoe_ready"]


def test_a_copy_with_another_body_is_a_conflict_and_no_second_card() -> None:
    data = frame("1", b"D\x81\xb8") + frame("1", b"D\x81\xb7") + frame("1", b"D\x81\xb8")
    events = bare(data)
    assert said(events) == ["card_drawn player 1 8S", "copy_conflict 1 ('4481B8', '4481B7')"]
    assert (events[1].device_seq, events[1].offset) == ("1", 8)


def test_a_report_of_which_one_copy_is_whole_is_accepted() -> None:
    [good] = frames("D P1 8S")
    flipped = good[:4] + bytes([good[4] ^ 1]) + good[5:]
    told = said(bare(flipped + good + flipped))
    assert [text.split()[0] for text in told] == ["frame_rejected", "card_drawn", "frame_rejected"]


def test_link_statistics() -> None:
    decoder = Decoder(PROFILE)
    decoder.feed_bare(stream("S, D P1 8S") + frame("2", b"P") + NOISE)
    decoder.finish()
    assert (decoder.frames, decoder.reports, decoder.rejected, decoder.short_copies) == (7, 3, 1, 1)
    assert decoder.offset == 3 * 6 + 3 * 8 + 6 + 6
    assert decoder.link is LinkState.DOWN  # a bare capture has no link


@pytest.mark.parametrize("seed", range(SEED, SEED + 5))
def test_a_lossy_noisy_line_never_invents_a_card(seed: int) -> None:
    """Whole reports in order, with copies lost and noise between: what is told is what was sent."""
    rng = random.Random(seed)
    reports = ["S"] + [
        f"D {rng.choice('PB')}{rng.randint(1, 3)} {rng.choice('A23456789TJQK')}{rng.choice('SHDC')}"
        for _ in range(300)
    ]
    data, kept = b"", []
    for report, copy in zip(reports, frames(", ".join(reports)), strict=True):
        copies = rng.choice([0, 1, 2, 3, 3, 3])
        kept += [report] if copies else []
        for _ in range(copies):
            noise = rng.randbytes(rng.choice([0, 0, 3])).replace(b"\x05", b"\x04")
            data += noise + copy
    told = [text for text in said(bare(data)) if text.split()[0] in ("card_drawn", "shoe_booted")]
    wanted = [
        "shoe_booted"
        if report == "S"
        else f"card_drawn {'player' if report[2] == 'P' else 'banker'} {report[3]} {report[5:]}"
        for report in kept
    ]
    assert told == wanted, f"seed {seed}"


def test_the_shipped_simulator_and_the_driver_agree() -> None:
    """Two halves written apart: what the simulated device says is what the driver hears."""
    device = EnqBccDevice(disclosure="deferred")
    copies = [
        device.power_up(),
        device.first_card(Card.C2),
        device.burn_card(Card.DJ, 1),
        device.card_drawn(PrintedPlace(hand=Hand.PLAYER, number=1), Card.S8),
        device.error_raised("draw_timeout", latched=True),
        device.error_cleared("draw_timeout"),
        device.drawn_outside(),
        device.out_of_play(Card.D5),
        device.revealed(PrintedPlace(hand=Hand.PLAYER, number=1), Card.S8),
        device.forced_end(),
        device.standby(),
    ]
    assert said(bare(b"".join(b"".join(report) for report in copies))) == [
        "shoe_booted",
        "first_card 2C",
        "burn_card JD 1",
        "card_drawn player 1",
        "error_raised draw_timeout latched",
        "error_cleared draw_timeout",
        "card_out_of_game drawn_outside_game",
        "card_out_of_game overdrawn 5D",
        "card_revealed player 1 8S",
        "round_forced_end",
        "shoe_ready",
    ]
