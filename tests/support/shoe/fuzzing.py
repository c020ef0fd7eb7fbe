"""What holds for the shoe link whatever bytes come: one function for every fuzzer.

The first bytes choose the profile and the cuts; the rest is what comes over the line, or out of a
journal's file.
"""

from collections.abc import Iterator
from itertools import pairwise

from events.errors import LogRefused
from events.types import ShoeEvent
from shoe_driver.decode import Decoder
from shoe_driver.framing.frames import Frame, Piece
from shoe_driver.framing.registry import make_framer
from shoe_driver.journal.records import MAGIC, Record, RecordKind, RecordReader, encode_record
from shoe_driver.link.resend_window import KEPT
from shoe_driver.profiles.catalogue import load_profile, profile_names
from shoe_driver.profiles.profile import Profile
from tests.support.shoe.ref_bytes import crc, ref_frame, stuff
from tests.support.shoe.shoe_bytes import cut, frame, left_out

PROFILES = tuple(map(load_profile, profile_names()))
# What of a stream may be in no piece.
_BETWEEN = {"delimited": b"", "cobs": b"\0", "line": b"\r\n"}
# What a journal tells besides bytes, by the next byte of the input.
_HAPPENINGS = (
    (RecordKind.OPEN, b"pty:x"),
    (RecordKind.CLOSE, b"gone"),
    (RecordKind.START, b""),
    (RecordKind.SILENCE, b"60001"),
    (RecordKind.QUIET, b""),
    (RecordKind.STALE, b"\x05"),
)


def check(data: bytes) -> None:
    """Everything, of one input."""
    if len(data) < 3:
        return
    profile, places, rest = PROFILES[data[0] % len(PROFILES)], _places(data[1], len(data)), data[3:]
    if data[0] & 0x80:  # no fuzzer guesses a check: the input says what stands in the frames
        rest = framed(profile, rest)
    check_framer(profile, rest, places)
    check_decoder(profile, rest, places)
    check_journal(profile, rest, data[2])
    check_records(rest, places)


def framed(profile: Profile, data: bytes) -> bytes:
    """Frames that hold their check, of whatever the input says."""
    out, at = b"", 0
    while at + 5 < len(data):
        kind, one, two, size = data[at], data[at + 1], data[at + 2], data[at + 3] % 6
        payload = data[at + 4 : at + 4 + size]
        at += 4 + size
        if profile.framer == "delimited":
            body = bytes([0x20 + kind % 95]) + bytes(byte | 0x80 for byte in payload)
            out += frame(str(one % 10), body) * (two % 4)
        elif profile.framer == "cobs":
            seq, boot = (one - 8) % 65536, 1 + two % 2
            out += ref_frame(kind % 0x34, seq, payload, boot=boot, ms=two * 250)
        else:
            faces = ("[Game]<Card:", "[Burn]<", "<Alarm:", "00", "")
            out += faces[kind % 5].encode() + payload + b">\r\n"[one % 2 :]
    return out


def _places(step: int, size: int) -> list[int]:
    return list(range(step, size, step)) if step else []


def pieces_of(profile: Profile, *parts: bytes) -> list[Piece]:
    framer = make_framer(profile.wire)
    found = [piece for part in parts for piece in framer.feed(part)]
    held: bytes = framer.__dict__["_held"]
    assert len(held) <= 256
    return found + framer.flush()


def check_framer(profile: Profile, data: bytes, places: list[int]) -> None:
    """However it is cut: the same pieces, apart, ends of frames between them, and checks hold."""
    whole = pieces_of(profile, data)
    assert pieces_of(profile, *cut(data, places)) == whole
    assert not left_out(data, whole).strip(_BETWEEN[profile.framer])
    for piece in whole:
        assert piece.raw == data[piece.offset : piece.offset + len(piece.raw)]
        if isinstance(piece, Frame):
            assert holds(profile, piece)


def holds(profile: Profile, frame: Frame) -> bool:
    """The check, written another way."""
    if profile.framer == "delimited":
        register = 0
        for byte in frame.raw[1:-2]:
            register ^= byte
        return frame.raw[-2:] == f"{register:02X}".encode()
    if profile.framer == "cobs":
        return frame.raw == stuff(frame.body + crc(frame.body).to_bytes(2, "big"))
    return all(0x20 <= byte < 0x7F for byte in frame.body) and bool(frame.body)


def check_decoder(profile: Profile, data: bytes, places: list[int]) -> None:
    """However it is cut: the same events, numbered without gaps, and memory that is bounded."""
    whole = _bare(profile, [data])
    assert _bare(profile, cut(data, places)) == whole
    assert [event.seq for event in whole] == list(range(1, len(whole) + 1))


def _bare(profile: Profile, parts: list[bytes]) -> list[ShoeEvent]:
    decoder = Decoder(profile)
    events = [event for part in parts for event in decoder.feed_bare(part)]
    check_bounds(decoder)
    told = decoder.greeting() + decoder.replies()
    assert bool(told) == (profile.framer == "cobs")
    return events + decoder.finish()


def check_bounds(decoder: Decoder) -> None:
    """What a listener keeps of the past has an end."""
    listener = decoder._protocol
    window = listener.__dict__.get("_window")
    if window is not None:
        assert len(window._held) <= KEPT + 1
        assert len(window._recent) <= KEPT
    assert len(listener.memory or "") < 100_000


def check_journal(profile: Profile, data: bytes, step: int) -> None:
    """A journal says the same twice, whatever happened on the link and however it was read."""
    records = list(_records(data, step % 16 + 1))
    first, second = Decoder(profile, "j"), Decoder(profile, "j")
    events = [event for record in records for event in first.feed(record)]
    split = [
        Record(record.kind, record.mono_us, record.utc_ns, piece)
        for record in records
        for piece in (
            cut(record.payload, [step % 7]) if record.kind is RecordKind.DATA else [record.payload]
        )
    ]
    assert [event for record in split for event in second.feed(record)] == events
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    # A resent report is told late, and what had waited before a connection is not counted.
    if profile.framer != "cobs" and RecordKind.STALE not in {record.kind for record in records}:
        assert all(a.offset <= b.offset for a, b in pairwise(events) if not b.raw)
    assert (first.head, first.link) == (len(events), second.link)


def _records(data: bytes, step: int) -> Iterator[Record]:
    for number, start in enumerate(range(0, len(data), step)):
        part = data[start : start + step]
        now = number * 100_000
        if part[0] < 2 * len(_HAPPENINGS) and number % 3 == 0:
            kind, payload = _HAPPENINGS[part[0] % len(_HAPPENINGS)]
            yield Record(kind, now, now * 1000, payload)
        yield Record(RecordKind.DATA, now, now * 1000, part)


def check_records(data: bytes, places: list[int]) -> None:
    """A journal's file of any bytes is read or refused, and cuts do not matter."""
    good = MAGIC + encode_record(Record(RecordKind.DATA, 1, 2, data[:9]))
    for file in (data, MAGIC + data, good + data):
        assert read(cut(file, places)) == read([file])
    [first, *_], _ = read([good + data])
    assert first.payload == data[:9]


def read(parts: list[bytes]) -> tuple[list[Record], bool]:
    reader = RecordReader()
    found: list[Record] = []
    try:
        for part in parts:
            found.extend(reader.feed(part))
    except LogRefused:
        return found, True
    return found, False
