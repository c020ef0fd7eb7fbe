"""The framer `cobs`: stuffing against a second one, hostile bytes, and recovery at the next 00."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from shoe_driver.framing.chunks import STUFFINGS, cobs_encode
from shoe_driver.framing.frames import Frame, Framer, Piece, Rejected
from shoe_driver.framing.registry import make_framer
from shoe_driver.profiles.catalogue import load_profile
from tests.support.shoe.ref_bytes import drawn, ref_body, ref_frame, stuff, unstuffed, wrapped

SEED = 20261127
LIMIT = 64
cobs_decode = STUFFINGS["cobs"].decode
FORM = load_profile("ref-crc").wire
LONGEST = 11 + LIMIT + 2 + 1


def cobs() -> Framer:
    return make_framer(FORM)


def fed(*pieces: bytes) -> list[Piece]:
    framer = cobs()
    found = [out for piece in pieces for out in framer.feed(piece)]
    assert framer.offset == sum(map(len, pieces))
    return found + framer.flush()


# The examples of the paper, as they are told everywhere.
EXAMPLES = {
    "00": "01 01",
    "00 00": "01 01 01",
    "11 22 00 33": "03 11 22 02 33",
    "11 22 33 44": "05 11 22 33 44",
    "11 00 00 00": "02 11 01 01 01",
}


@pytest.mark.parametrize(("data", "stuffed"), EXAMPLES.items())
def test_stuffing_as_everywhere(data: str, stuffed: str) -> None:
    assert cobs_encode(bytes.fromhex(data)) == bytes.fromhex(stuffed)
    assert cobs_decode(bytes.fromhex(stuffed)) == bytes.fromhex(data)


@pytest.mark.parametrize("size", [0, 1, 253, 254, 255, 508, 509, 1000])
def test_long_stretches_without_a_nought(size: int) -> None:
    for data in (b"\x11" * size, b"\x11" * size + b"\0", b"\0" + b"\x11" * size):
        assert cobs_decode(cobs_encode(data)) == data
        assert cobs_decode(stuff(data)) == data
        assert unstuffed(cobs_encode(data)) == data


@given(st.binary(max_size=300))
def test_stuffing_is_undone_and_has_no_nought(data: bytes) -> None:
    assert 0 not in cobs_encode(data)
    assert cobs_decode(cobs_encode(data)) == data == cobs_decode(stuff(data))


def test_a_frame_without_its_delimiters() -> None:
    data = drawn(1, ms=5000)
    assert fed(data) == [Frame(1, data[1:-1], "1", ref_body(0x10, 1, b"\0\x18", ms=5000))]


REJECTED = {
    "noise, then a frame": (b"\xff\xff\xc5\xfc" + drawn(1), [(0, 5, "not_cobs"), "1"]),
    "broken off, then a frame": (drawn(1)[:9] + drawn(2), [(1, 9, "bad_length"), "2"]),
    "glued to a frame": (b"\xff" + drawn(1)[1:] + drawn(2), [(0, 19, "not_cobs"), "2"]),
    "wrong check": (drawn(1)[:-2] + b"\x77\0", [(1, 16, "bad_check")]),
    "too short": (b"\0\x03\x11\x22\0", [(1, 4, "bad_length")]),
    "len of another length": (
        wrapped(ref_body(0x10, 1, b"\0\x18")[:10] + b"\x03\x01\x18"), [(1, 17, "bad_length")]
    ),
    "too long": (b"\x11" * 100 + b"\0" + drawn(1), [(0, 102, "too_long"), "1"]),
    "cut at the end": (drawn(1) + drawn(2)[:5], ["1", (19, 4, "broken_frame")]),
}  # fmt: skip


@pytest.mark.parametrize(("data", "wanted"), REJECTED.values(), ids=REJECTED)
def test_what_is_no_valid_frame_is_told_with_its_place(data: bytes, wanted: list[object]) -> None:
    found = [
        (p.offset, p.length, p.reason) if isinstance(p, Rejected) else p.seq for p in fed(data)
    ]
    assert found == wanted


def test_the_longest_payload() -> None:
    for payload in (b"\x11" * LIMIT, bytes(LIMIT)):
        [found] = fed(ref_frame(0x23, 7, payload))
        assert isinstance(found, Frame)
    [found] = fed(ref_frame(0x23, 7, b"\x11" * (LIMIT + 1)))
    assert isinstance(found, Rejected)


def test_every_flipped_bit_is_seen() -> None:
    """CRC-16 sees every single flip; one that makes or unmakes a 00 leaves nothing whole either."""
    good = drawn(1, ms=0x01020304)
    for place in range(1, len(good) - 1):
        for bit in range(8):
            bad = good[:place] + bytes([good[place] ^ 1 << bit]) + good[place + 1 :]
            assert not [p for p in fed(bad) if isinstance(p, Frame)], (place, bit)


hostile = st.lists(
    st.one_of(
        st.binary(max_size=20),
        st.builds(drawn, st.integers(0, 65535)),
        st.sampled_from([b"\0", b"\0\0", b"\x11" * 5000, drawn(7)[:-1], drawn(7)[1:]]),
    ),
    max_size=12,
).map(b"".join)


@given(hostile)
def test_a_frame_between_delimiters_is_always_found(garbage: bytes) -> None:
    assert "9" in [p.seq for p in fed(garbage + drawn(9)) if isinstance(p, Frame)]


@pytest.mark.parametrize("size", [0, 1, 240, 241, 242, 254, 255])
def test_the_longest_frame_is_one_though_its_end_comes_later(size: int) -> None:
    framer = make_framer(replace(FORM, framer=replace(FORM.framer, most=13 + size)))
    whole = wrapped(ref_body(0x10, 0x1111, b"\x11" * size, boot=0x1111, ms=0x11111111))
    found = framer.feed(whole[:-1]) + framer.feed(whole[-1:])
    assert [piece.seq for piece in found if isinstance(piece, Frame)] == [str(0x1111)]


def test_a_chunk_without_end_is_said_to_be_too_long() -> None:
    framer = cobs()
    pieces = framer.feed(b"\x11" * (LONGEST + 1)) + framer.flush()
    assert pieces == [Rejected(0, b"\x11" * 64, LONGEST + 1, "too_long")]
