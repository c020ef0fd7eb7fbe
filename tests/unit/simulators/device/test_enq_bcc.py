"""The simulated device's frames against byte vectors that were written down before it."""

from functools import reduce
from operator import xor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.cards import Card, Hand
from simulators.device.enq_bcc import (
    ERROR_CODES,
    EnqBccDevice,
    card_byte,
    frame,
    result_byte,
    target_byte,
)
from simulators.device.printed_rules import PrintedPlace, outcome
from simulators.device.reports import Disclosure

PLAYER_1 = PrintedPlace(Hand.PLAYER, 1)


def _hex(copies: tuple[bytes, ...]) -> str:
    assert len(set(copies)) == 1, "the copies of a report differ"
    return copies[0].hex(" ").upper()


def _body(copies: tuple[bytes, ...]) -> str:
    """Kind and data, without seq and check."""
    return f"{copies[0][2:3].decode()} {copies[0][3:-3].hex(' ').upper()}".strip()


def test_power_up_is_the_published_frame() -> None:
    assert _hex(EnqBccDevice().power_up()) == "05 30 53 03 36 30"


def test_a_face_shown_is_the_published_frame() -> None:
    device = EnqBccDevice()
    device.power_up()
    assert _hex(device.card_drawn(PLAYER_1, Card.S8)) == "05 31 44 81 B8 03 34 46"


def test_a_face_withheld_is_the_published_frame() -> None:
    device = EnqBccDevice(disclosure="deferred")
    device.power_up()
    assert _hex(device.card_drawn(PLAYER_1, Card.S8)) == "05 31 44 81 80 03 37 37"


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_a_report_goes_out_as_equal_copies_under_one_seq(copies: int) -> None:
    device = EnqBccDevice(copies=copies)
    reports = [device.power_up(), device.standby(), device.standby()]
    assert [len(report) for report in reports] == [copies] * 3
    assert [_hex(report)[3:5] for report in reports] == ["30", "31", "32"]


def test_seq_is_zero_at_power_up_only_and_then_goes_round_from_one_to_nine() -> None:
    device = EnqBccDevice()
    reports = [device.power_up(), *(device.standby() for _ in range(19)), device.power_up()]
    assert "".join(chr(report[0][1]) for report in reports) == "012345678912345678910"


@pytest.mark.parametrize(
    ("card", "byte"),
    [("DA", 0x91), ("CK", 0xAD), ("ST", 0xBA), ("HQ", 0xCC), ("S8", 0xB8), ("C2", 0xA2)],
)
def test_a_card_is_suit_and_rank(card: str, byte: int) -> None:
    assert card_byte(Card[card]) == byte


def test_no_two_faces_share_a_byte_and_none_looks_withheld() -> None:
    assert len({card_byte(card) for card in Card} | {card_byte(None)}) == 53


@pytest.mark.parametrize(
    ("cards", "byte"),
    [
        ("9S 2D KH 3C", 0x90),  # Player
        ("8S 8D QD QS", 0xA0),  # Tie
        ("7S 2D KH 3C 4H", 0xC0),  # Banker with nine
        ("KS 4D KH 2C AS", 0xD1),  # Banker with six, Player pair
        ("KS QD 2H QC 3D 6H", 0xD2),  # Banker with six, Banker pair
        ("3S 3D 3H 3C", 0xA3),  # Tie, both pairs
    ],
)
def test_a_result_is_winner_and_pairs(cards: str, byte: int) -> None:
    called = outcome([Card(text) for text in cards.split()])
    assert result_byte(called) == byte
    device = EnqBccDevice()
    assert _body(device.result(called)) == f"G {byte:02X}"


def test_a_new_shoe_shows_its_first_card_and_counts_its_burn_down() -> None:
    device = EnqBccDevice(disclosure="deferred")
    said = [
        _body(device.power_up()),
        _body(device.first_card(Card.C2)),
        _body(device.burn_card(Card.DJ, 1)),
        _body(device.burn_card(Card.C2, 0)),
    ]
    assert said == ["S", "D C1 A2", "D D1 9B", "D D0 A2"]


def test_deferred_faces_are_told_one_by_one_at_their_places() -> None:
    device = EnqBccDevice(disclosure="deferred")
    banker_1 = PrintedPlace(Hand.BANKER, 1)
    said = [device.card_drawn(PLAYER_1, Card.S8), device.card_drawn(banker_1, Card.HK)]
    assert [_body(report) for report in said] == ["D 81 80", "D 91 80"]
    burst = [device.revealed(PLAYER_1, Card.S8), device.revealed(banker_1, Card.HK)]
    assert [_body(report) for report in burst] == ["I 81 B8", "I 91 CD"]


@pytest.mark.parametrize("disclosure", ["immediate", "deferred"])
def test_a_card_that_cannot_be_read_is_counted_without_its_face(disclosure: Disclosure) -> None:
    device = EnqBccDevice(disclosure=disclosure)
    assert _body(device.card_unread(PrintedPlace(Hand.BANKER, 2))) == "D 92 80"


def test_an_overdraw_that_is_burned() -> None:
    """The published sequence `E82 [EC7] d i e`: two errors stand and one is cleared."""
    device = EnqBccDevice()
    said = [
        _body(device.error_raised("overdraw")),
        _body(device.error_raised("draw_timeout", latched=True)),
        _body(device.drawn_outside()),
        _body(device.out_of_play(Card.H9)),
        _body(device.error_cleared("overdraw")),
    ]
    assert said == ["E 82", "E C7", "d A1 80", "i A1 C9", "e 82"]


def test_an_overdrawn_card_carried_over_is_the_next_coups_first_card() -> None:
    device = EnqBccDevice()
    assert _body(device.carried_over(PLAYER_1, Card.H9)) == "R 81 C9"
    deferred = EnqBccDevice(disclosure="deferred")
    assert _body(deferred.carried_over(PLAYER_1, Card.H9)) == "R 81 80"


def test_a_forced_end_has_no_winner() -> None:
    assert _body(EnqBccDevice().forced_end()) == "G F0"


def test_standby_and_error_numbers() -> None:
    device = EnqBccDevice()
    assert _body(device.standby()) == "P"
    assert sorted(ERROR_CODES.values()) == [1, 2, 3, 4, 5, 6, 7]


@given(
    seq=st.integers(0, 9),
    kind=st.sampled_from("SPDIGEediR"),
    data=st.binary(max_size=4).map(lambda raw: bytes(byte | 0x80 for byte in raw)),
)
def test_every_frame_checks_out_and_its_data_is_told_from_its_marks(
    seq: int, kind: str, data: bytes
) -> None:
    sent = frame(seq, kind, data)
    assert sent[0] == 0x05
    assert sent[-3] == 0x03
    assert sent[-2:] == f"{reduce(xor, sent[1:-2]):02X}".encode()
    assert sent[1:-3] == str(seq).encode() + kind.encode() + data
    assert target_byte(1, 3) == 0x93
