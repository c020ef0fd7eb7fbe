"""The framer against every split, hostile bytes, and a second framer written another way."""

from functools import reduce
from operator import xor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoe_driver.framing.frames import RUN_LIMIT, Frame, Framer, Piece, Rejected
from shoe_driver.framing.registry import make_framer
from tests.support.shoe.shoe_bytes import NOISE, PROFILE, body, cut, frame, stream

SEED = 20261127
DATA_LIMIT = 16

MIXED = b"".join(
    (
        NOISE,
        stream("S,D P1 8S,D B1 --"),
        b"\x05\x31\x44",  # broken off
        frame("4", body("G tie")),
        b"\x05\x05\x05\x31\x44\x81\x80\x03\x30\x30",  # begun three times, and a wrong check
        b"\x05\x32\x41\x03\x37",  # nearly whole
        frame("5", body("E 2")),
        b"noise\x03\x00",
        b"\x05\x36",
    )
)


def enq() -> Framer:
    return make_framer(PROFILE.wire)


def fed(*pieces: bytes) -> list[Piece]:
    framer = enq()
    found = [out for piece in pieces for out in framer.feed(piece)]
    assert framer.offset == sum(map(len, pieces))
    return found + framer.flush()


REJECTED = {
    "noise at power-up": ("FF FF FF FF C5 FC 05 30 53 03 36 30", [(0, 6, "noise"), "S"]),
    "wrong check": ("05 31 44 81 B8 03 34 45", [(0, 8, "bad_check")]),
    "check in lower case": ("05 31 44 81 B8 03 34 66", [(0, 8, "broken_frame")]),
    "broken off, then whole": ("05 31 44 05 30 53 03 36 30", [(0, 3, "broken_frame"), "S"]),
    "begun twice": ("05 05 30 53 03 36 30", [(0, 1, "broken_frame"), "S"]),
    "begun anew within the check": (
        "05 30 53 03 36 05 30 53 03 36 30",
        [(0, 5, "broken_frame"), "S"],
    ),
    "data without bit 7": ("05 31 44 41 80 03 42 37", [(0, 8, "broken_frame")]),
    "no digit for seq": ("05 41 53 03 31 31", [(0, 6, "broken_frame")]),
    "control byte for kind": ("05 30 01 03 33 32", [(0, 6, "broken_frame")]),
    "too much data": ("05 31 44" + "80" * (DATA_LIMIT + 1) + "03 36 36", [(0, 23, "broken_frame")]),
    "stale half of a frame": ("81 80 03 37 37 05 30 53 03 36 30", [(0, 5, "noise"), "S"]),
    "truncated at the end": ("05 30 53 03 36 30 05 31", ["S", (6, 2, "broken_frame")]),
    "two wrong checks": (
        "05 31 44 03 30 30 05 31 44 03 30 30",
        [(0, 6, "bad_check"), (6, 6, "bad_check")],
    ),
}


@pytest.mark.parametrize(("text", "wanted"), REJECTED.values(), ids=REJECTED)
def test_what_is_no_valid_frame_is_told_with_its_place(text: str, wanted: list[object]) -> None:
    found = [
        (p.offset, p.length, p.reason) if isinstance(p, Rejected) else p.body.decode()
        for p in fed(bytes.fromhex(text))
    ]
    assert found == wanted


def test_the_longest_data_that_is_allowed() -> None:
    raw = frame("1", b"X" + b"\x80" * DATA_LIMIT)
    assert fed(raw) == [Frame(0, raw, "1", b"X" + b"\x80" * DATA_LIMIT)]


def test_every_split_point_and_a_byte_at_a_time() -> None:
    whole = fed(MIXED)
    assert [type(piece).__name__ for piece in whole].count("Frame") == 11
    for place in range(len(MIXED) + 1):
        assert fed(MIXED[:place], MIXED[place:]) == whole
    assert fed(*cut(MIXED, range(len(MIXED)))) == whole


def test_every_two_split_points_of_one_report() -> None:
    data = NOISE + stream("D P1 8S", copies=2)
    whole = fed(data)
    for first in range(len(data)):
        for second in range(first, len(data)):
            assert fed(data[:first], data[first:second], data[second:]) == whole


hostile = st.lists(
    st.one_of(
        st.binary(max_size=12),
        st.sampled_from(
            [frame("1", b"D\x81\xb8"), frame("2", b"P"), b"\x05", b"\x05\x31", b"\x03"]
        ),
        st.builds(
            frame, st.sampled_from("0123456789"), st.sampled_from([b"S", b"G\x90", b"d\xa1\x80"])
        ),
        st.sampled_from([b"\xff" * (RUN_LIMIT - 1), b"\x05" * RUN_LIMIT]),
    ),
    max_size=12,
).map(b"".join)


@given(hostile)
def test_a_framer_written_as_a_walk_over_bytes_finds_the_same_frames(data: bytes) -> None:
    assert [(p.offset, p.raw) for p in fed(data) if isinstance(p, Frame)] == walked(data)


_GRAMMAR = {
    # state: bytes that go on, and where to; 05 always begins anew, all else ends the frame
    "seq": (range(0x30, 0x3A), "kind"),
    "kind": (range(0x20, 0x7F), "data"),
    "data": (range(0x80, 0x100), "data"),
    "high": (b"0123456789ABCDEF", "low"),
    "low": (b"0123456789ABCDEF", "whole"),
}


def walked(data: bytes) -> list[tuple[int, bytes]]:
    """The oracle: one byte after the other, by the page's grammar."""
    found: list[tuple[int, bytes]] = []
    start, state = 0, "idle"
    for place, byte in enumerate(data):
        if byte == 5:
            start, state = place, "seq"
        elif state == "data" and byte == 3:
            state = "high"
        elif state != "idle":
            wanted, then = _GRAMMAR[state]
            state = then if byte in wanted and place - start < 3 + DATA_LIMIT + 3 else "idle"
            if state == "data" and place - start >= 3 + DATA_LIMIT:
                state = "idle"
        if state == "whole":
            raw, state = data[start : place + 1], "idle"
            if reduce(xor, raw[1:-2]) == int(raw[-2:], 16):
                found.append((start, raw))
    return found


def test_noise_is_told_of_by_4096_bytes_of_which_64_are_shown() -> None:
    shown = b"\xff" * 64
    assert fed(b"\xff" * 5000) == [
        Rejected(0, shown, 4096, "noise"),
        Rejected(4096, shown, 904, "noise"),
    ]
