"""The framer `line`: ends of lines, what is no line, and the rest of a line that was broken off."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoe_driver.framing.frames import Frame, Framer, Piece, Rejected
from shoe_driver.framing.grammar import FramerSpec, WireForm
from shoe_driver.framing.registry import make_framer

SEED = 20261127
LIMIT = 12
FLUSH = b""  # in a row of pieces: the stream is broken off


def framer(prefix: bytes = b"", suffix: bytes = b"", limit: int = LIMIT) -> Framer:
    around = (prefix.decode(), suffix.decode())
    spec = FramerSpec(kind="line", most=limit, prefix=around[0], suffix=around[1])
    return make_framer(WireForm(framer=spec))


def fed(*pieces: bytes, prefix: bytes = b"", suffix: bytes = b"") -> list[Piece]:
    made = framer(prefix, suffix)
    found: list[Piece] = []
    for piece in pieces:
        found += made.flush() if piece == FLUSH else made.feed(piece)
    assert made.offset == sum(map(len, pieces))
    return found + made.flush()


def shown(pieces: list[Piece]) -> list[object]:
    return [
        (p.offset, p.length, p.reason) if isinstance(p, Rejected) else (p.offset, p.body)
        for p in pieces
    ]


ROWS = {
    "CR, LF and CR LF": ([b"AB\rCD\nEF\r\nGH\n\rIJ\r"], [(0, b"AB"), (3, b"CD"), (6, b"EF"),
                                                           (10, b"GH"), (14, b"IJ")]),
    "nothing is no line": ([b"\r\n\r\n\n\n\r"], []),
    "LF comes with the next read": ([b"AB\r", b"\nCD\r"], [(0, b"AB"), (4, b"CD")]),
    "as long as may be": ([b"A" * LIMIT + b"\r"], [(0, b"A" * LIMIT)]),
    "as long as may be, its end later": ([b"A" * LIMIT, b"\r"], [(0, b"A" * LIMIT)]),
    "too long": ([b"A" * (LIMIT + 1) + b"\rB\r"], [(0, 14, "too_long"), (14, b"B")]),
    "too long, in parts": ([b"A" * 9, b"A" * 9, b"A\rB\r"], [(0, 20, "too_long"), (20, b"B")]),
    "a byte that is no text": ([b"A\xb0B\rC\r"], [(0, 4, "not_text"), (4, b"C")]),
    "a tab is no text": ([b"A\tB\r"], [(0, 4, "not_text")]),
    "a partial line is never emitted": ([b"12"], [(0, 2, "broken_line")]),
    "... and neither is its rest": (
        [b"00", FLUSH, b"52\r0007\r"], [(0, 2, "broken_line"), (2, 3, "broken_line"), (5, b"0007")]
    ),
    "... in parts": (
        [b"00", FLUSH, b"5", FLUSH, b"2\r0007\r"],
        [(0, 2, "broken_line"), (2, 1, "broken_line"), (3, 2, "broken_line"), (5, b"0007")],
    ),
    "after noise a line is whole": (
        [b"\xff\xfc", FLUSH, b"0007\r"], [(0, 2, "broken_line"), (2, b"0007")]
    ),
    "broken off between lines": ([b"0007\r", FLUSH, b"0008\r"], [(0, b"0007"), (5, b"0008")]),
}  # fmt: skip


@pytest.mark.parametrize(("pieces", "wanted"), ROWS.values(), ids=ROWS)
def test_lines(pieces: list[bytes], wanted: list[object]) -> None:
    assert shown(fed(*pieces)) == wanted


AROUND = {
    "stripped": ([b"\x0212\x03\r"], [(0, b"12")]),
    "no prefix: the rest of a line": ([b"2\x03\r\x0212\x03\r"], [(0, 3, "no_prefix"), (3, b"12")]),
    "no suffix": ([b"\x021\r\x0212\x03\r"], [(0, 3, "no_suffix"), (3, b"12")]),
    "nothing in it": ([b"\x02\x03\r"], [(0, 3, "not_text")]),
    "with a prefix the next line is whole": (
        [b"\x021", FLUSH, b"\x0212\x03\r"], [(0, 2, "broken_line"), (2, b"12")]
    ),
    "... and the rest of one is none": (
        [b"\x021", FLUSH, b"2\x03\r"], [(0, 2, "broken_line"), (2, 3, "no_prefix")]
    ),
}  # fmt: skip


@pytest.mark.parametrize(("pieces", "wanted"), AROUND.values(), ids=AROUND)
def test_prefix_and_suffix(pieces: list[bytes], wanted: list[object]) -> None:
    assert shown(fed(*pieces, prefix=b"\x02", suffix=b"\x03")) == wanted


hostile = st.lists(
    st.one_of(
        st.binary(max_size=20),
        st.sampled_from([b"[Game]<4S>\r\n", b"0001\r", b"\r", b"\n", b"\r\n", b"A" * 5000]),
    ),
    max_size=12,
).map(b"".join)


@given(hostile)
def test_the_lines_are_those_that_splitlines_finds(data: bytes) -> None:
    """The oracle: Python's own notion of lines, which bytes share (CR, LF, CR LF)."""
    whole = data[: max(data.rfind(b"\r"), data.rfind(b"\n")) + 1]
    wanted = [
        line
        for line in whole.splitlines()
        if 0 < len(line) <= LIMIT and all(32 <= byte < 127 for byte in line)
    ]
    assert [p.body for p in fed(data) if isinstance(p, Frame)] == wanted if data else True
