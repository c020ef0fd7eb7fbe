"""What holds for every framer: garbage costs little, and what is held back is said."""

import random
from typing import NamedTuple

import pytest

from shoe_driver.framing.frames import RAW_LIMIT, Frame, Framer, Rejected
from shoe_driver.framing.grammar import FramerSpec, WireForm
from shoe_driver.framing.registry import make_framer
from shoe_driver.profiles.catalogue import load_profile
from tests.support.shoe.ref_bytes import drawn
from tests.support.shoe.shoe_bytes import frame

SEED = 20261127
RANDOM = random.Random(SEED).randbytes(1_000_000)


class Kind(NamedTuple):
    """A framer, how much it may hold, what garbage may cost, and a frame that ends garbage."""

    form: WireForm
    held: int
    rejects: int
    whole: bytes

    def made(self) -> Framer:
        return make_framer(self.form)


# No framer holds more than one frame could be.
KINDS = {
    "enq": Kind(load_profile("enq-bcc").wire, 21, 260, frame("1", b"D\x81\xb8")),
    "cobs": Kind(load_profile("ref-crc").wire, 11 + 64 + 2 + 1, 299, drawn(1)),
    "line": Kind(WireForm(framer=FramerSpec(kind="line", most=12)), 12, 1_499, b"\r0007\r"),
}
GARBAGE = [
    *((name, RANDOM) for name in KINDS),
    ("enq", b"\x05" * 1_000_000),  # begun for ever
    ("enq", b"\x05\x31\x44" * 333_334),  # broken off for ever
    ("enq", b"\xff" * 1_000_000),  # a line stuck at one
    ("cobs", b"\x01" * 1_000_000),  # never delimited
    ("cobs", b"\0" * 1_000_000),  # delimiters for ever
    ("line", b"A" * 1_000_000),  # a line for ever
    ("line", b"\r" * 1_000_000),  # ends for ever
]


@pytest.mark.parametrize(
    ("name", "garbage"), GARBAGE, ids=[f"{name} {data[:3].hex()}" for name, data in GARBAGE]
)
def test_a_megabyte_of_garbage_costs_few_rejects_and_no_memory(name: str, garbage: bytes) -> None:
    kind, pieces = KINDS[name], []
    framer = kind.made()
    for start in range(0, len(garbage), 4096):
        pieces += framer.feed(garbage[start : start + 4096])
        assert len(framer.__dict__["_held"]) <= kind.held
    pieces += framer.feed(kind.whole)
    assert sum(isinstance(piece, Rejected) for piece in pieces) <= kind.rejects, f"seed {SEED}"
    (whole,) = kind.made().feed(kind.whole)
    assert isinstance(whole, Frame)
    assert isinstance(pieces[-1], Frame)
    assert (pieces[-1].raw, pieces[-1].body) == (whole.raw, whole.body)
    assert all(len(piece.raw) <= RAW_LIMIT for piece in pieces if isinstance(piece, Rejected))


# What is fed, and whether bytes are held back after each and after the stream is broken off.
PENDING = {
    "enq": ((frame("0", b"S"), b"\x05\x31", b"\x44\x03\x37\x36", b"\xff"), "0 1 0 1 0"),
    "cobs": ((drawn(1), b"\x05\x11", b"\0", b"\0"), "0 1 1 1 0"),
    "line": ((b"0007\r", b"\n", b"00", b"08\r", b"\xff\r"), "0 0 1 0 1 0"),
}


@pytest.mark.parametrize("name", PENDING)
def test_pending_says_whether_bytes_are_held_back(name: str) -> None:
    framer, (fed, expected) = KINDS[name].made(), PENDING[name]
    seen = []
    for data in fed:
        framer.feed(data)
        seen.append(framer.pending)
    framer.flush()
    assert " ".join(str(int(each)) for each in (*seen, framer.pending)) == expected
