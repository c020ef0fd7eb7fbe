"""Any bytes over the line, at any split, and any bytes in a journal's file."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoe_driver.framing.frames import Frame
from shoe_driver.journal.records import MAGIC, Record, RecordKind, encode_record
from shoe_driver.profiles.catalogue import load_profile
from shoe_driver.profiles.profile import Profile
from tests.support.shoe.fuzzing import PROFILES, check, check_records, holds, pieces_of, read
from tests.support.shoe.ref_bytes import beat, drawn, ref_frame
from tests.support.shoe.shoe_bytes import frame

ENQ, REF, BRACKET, SCAN = map(load_profile, ("enq-bcc", "ref-crc", "text-line", "text-line-scan"))
GOOD = {
    ENQ.id: frame("1", b"D\x81\xb8"),
    BRACKET.id: b"[Game]<Card:4S>\r\n",
    SCAN.id: b"0001\r\n",
    REF.id: drawn(7),
}

whole_frames = st.one_of(
    st.builds(
        frame, st.sampled_from("0123456789"), st.sampled_from([b"S", b"G\x90", b"D\x81\xb8"])
    ),
    st.builds(drawn, st.integers(0, 80), st.integers(0, 0x4D)),
    st.builds(drawn, st.integers(65_530, 65_540)),
    st.builds(ref_frame, st.integers(0, 255), st.integers(0, 9), st.binary(max_size=5)),
    st.builds(lambda seq, boot: ref_frame(1, seq, boot=boot), st.integers(0, 1), st.integers(1, 3)),
    st.builds(
        lambda newest, oldest, unacked, ms: beat(newest, oldest, unacked, ms=ms),
        st.integers(0, 65_535),
        st.integers(0, 65_535),
        st.integers(0, 65_535),
        st.integers(0, 9000),
    ),
    st.sampled_from(
        [b"[Game]<Card:4S>\r\n", b"[Burn]<Game>\r", b"<Alarm:E3 X>\n", b"0001\r\n", b"0099\r"]
    ),
)
lines = st.lists(
    st.one_of(whole_frames, st.binary(max_size=20), st.sampled_from([b"\0", b"\x05", b"\r"])),
    max_size=20,
).map(b"".join)


@settings(max_examples=300)
@given(st.integers(0, 255), st.integers(0, 40), st.integers(0, 15), lines)
def test_whatever_comes(choice: int, step: int, reads: int, data: bytes) -> None:
    check(bytes([choice, step, reads]) + data)


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.id)
@given(garbage=st.one_of(st.binary(max_size=300), lines))
def test_resynchronised_within_two_frames(profile: Profile, garbage: bytes) -> None:
    good = GOOD[profile.id]
    found = [p for p in pieces_of(profile, garbage + good * 3) if isinstance(p, Frame)]
    [reference] = [p for p in pieces_of(profile, good) if isinstance(p, Frame)]
    assert [p.body for p in found[-2:]] == [reference.body] * 2


@pytest.mark.parametrize("profile", [ENQ, REF], ids=lambda profile: profile.id)
@given(data=st.data())
def test_no_frame_is_accepted_that_fails_its_check(profile: Profile, data: st.DataObject) -> None:
    good = bytearray(GOOD[profile.id] * 2)
    for _ in range(data.draw(st.integers(1, 6))):
        good[data.draw(st.integers(0, len(good) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    for piece in pieces_of(profile, bytes(good)):
        if isinstance(piece, Frame):
            assert holds(profile, piece)


@given(
    st.lists(
        st.tuples(st.sampled_from(RecordKind), st.binary(max_size=30)), min_size=1, max_size=6
    ),
    st.integers(0, 10**6),
    st.integers(1, 255),
    st.integers(1, 50),
)
def test_a_flipped_byte_in_a_journal_never_reads_as_something_else(
    contents: list[tuple[RecordKind, bytes]], place: int, flip: int, step: int
) -> None:
    records = [Record(kind, 1, 2, payload) for kind, payload in contents]
    file = bytearray(MAGIC + b"".join(map(encode_record, records)))
    file[place % len(file)] ^= flip
    found, _ = read([bytes(file)])
    assert found == records[: len(found)]
    assert len(found) < len(records)
    check_records(bytes(file), list(range(0, len(file), step)))
