"""Measure how fast the framers split a burst, next to a bare scan of the same bytes.

A burst is the input after a stall: ten megabytes that were waiting, in reads of 4 KB, of every card
at every place. The floor searches for the byte that begins or ends a frame and does nothing else;
no framer in Python can do less. `decode` is the whole way from bytes to numbered shoe events.
"""

import re
import time
from collections.abc import Callable
from itertools import cycle, islice
from statistics import median
from typing import Final

from benchmarks.instruments.figures import Figure, side_by_side
from benchmarks.rows import BenchOptions
from shoe_driver.decode import Decoder
from shoe_driver.framing.checks import check_function
from shoe_driver.framing.chunks import cobs_encode, slip_encode
from shoe_driver.framing.registry import make_framer
from shoe_driver.profiles.catalogue import load_profile
from shoe_driver.profiles.profile import Profile, parse_profile

__all__ = ["BURST_BYTES", "framing", "measure"]

BURST_BYTES: Final = 10_000_000
_READ: Final = 4096
_ROUNDS: Final = 5
_MOST_MS_PER_MB: Final = 500.0  # the house's goal: 2 MB/s

_PLACES: Final = tuple(hand << 4 | number for hand in (1, 2) for number in (1, 2, 3))
_CARDS: Final = tuple(suit << 4 | rank for suit in (1, 2, 3, 4) for rank in range(1, 14))


_crc: Final = check_function("crc16-ccitt-false")
_FORM: Final = """
form = 2
id = "composed"
loss_detection = "weak"
disclosure = "immediate"
result = "none"
{framer}
[check]
kind = "crc16-modbus"
[number]
base = 256
width = 1
at = 1
[serial]
baud = 115200
[limits]
partial_ms = 100
silence_ms = 60000
[codes]
variant = "fields"
fields = {{ card = {{ at = 4, width = 2 }} }}
kinds = {{ "" = {{ report = "card_drawn" }} }}
[codes.faces]
{faces}
"""
# By figure: the floor's mark, the framer's section, and what it makes of content with its check.
_COMPOSED: Final[dict[str, tuple[bytes, str, Callable[[bytes], bytes]]]] = {
    "length": (
        rb"\xaa",
        '[framer]\nkind = "length"\nmost = 16\nstart = "AA"\nadds = 2',
        lambda content: b"\xaa" + content,
    ),
    "fixed": (
        rb"\xaa",
        '[framer]\nkind = "fixed"\nmost = 9\nstart = "AA"\nsize = 9',
        lambda content: b"\xaa" + content,
    ),
    "slip": (
        rb"\xc0",
        '[framer]\nkind = "slip"\nmost = 16',
        lambda content: b"\xc0" + slip_encode(content) + b"\xc0",
    ),
    "delimited": (
        rb"\x02",
        '[framer]\nkind = "delimited"\nmost = 16\nstart = "02"\nend = "03"\nshape = ["00-FF*"]',
        lambda content: b"\x02" + content + b"\x03",
    ),
}


def _composed(framer: str) -> Profile:
    faces = "\n".join(
        f'{suit:02X}{rank:02X} = "{letter}{name}"'
        for suit, name in enumerate("SHDC", start=1)
        for rank, letter in enumerate("A23456789TJQK", start=1)
    )
    text = _FORM.format(framer=framer, faces=faces)
    return parse_profile(text.encode(), source="composed")


def _composed_burst(name: str, size: int) -> bytes:
    """Return frames of one form: length, number, kind, place, suit, rank, CRC-16."""
    check = check_function("crc16-modbus")
    frames = []
    for number, (place, card) in enumerate((p, c) for p in _PLACES for c in _CARDS):
        content = bytes((7, number % 256, 0x44, place, card >> 4, card & 15))
        frames.append(_COMPOSED[name][2](content + check(content).to_bytes(2, "big")))
    return _filled(frames, size)


def measure(options: BenchOptions) -> list[Figure]:
    """Measure the row `framing`."""
    return framing(min(options.samples, _ROUNDS), options.events or BURST_BYTES)


def framing(rounds: int, size: int = BURST_BYTES) -> list[Figure]:
    """Return a figure for each framer.

    Args:
        rounds: how often each burst is split.
        size: bytes in a burst.
    """
    return [
        _figure("enq", load_profile("enq-bcc"), b"\x05", _enq_burst(size), rounds),
        _figure("line", load_profile("text-line"), rb"[\r\n]", _line_burst(size), rounds),
        _figure("cobs", load_profile("ref-crc"), b"\x00", _cobs_burst(size), rounds),
        *(
            _figure(name, _composed(framer), mark, _composed_burst(name, size), rounds)
            for name, (mark, framer, _) in _COMPOSED.items()
        ),
    ]


def _figure(name: str, profile: Profile, mark: bytes, burst: bytes, rounds: int) -> Figure:
    reads = [burst[at : at + _READ] for at in range(0, len(burst), _READ)]
    product, floor, decode = [], [], []
    for _ in range(rounds):
        framer = make_framer(profile.wire)
        floor.append(_cost(reads, re.compile(mark).findall))
        product.append(_cost(reads, framer.feed))
        decode.append(_cost(reads, Decoder(profile).feed_bare))
    p50, floor_p50 = median(product), median(floor)
    return Figure(
        **side_by_side((p50, max(product)), (floor_p50, max(floor)), digits=3),
        name=f"framing-{name}",
        unit="ms/MB",
        samples=rounds,
        goal=f"p50 <= {_MOST_MS_PER_MB:g} ms/MB, which is 2 MB/s; p99 is the slowest round",
        met=p50 <= _MOST_MS_PER_MB,
        detail={
            "MB/s": round(1000 / p50, 1),
            "MB/s, bytes to events": round(1000 / median(decode), 1),
        },
    )


def _cost(reads: list[bytes], take: Callable[[bytes], object]) -> float:
    """Return milliseconds for each megabyte."""
    began = time.perf_counter_ns()
    for read in reads:
        take(read)
    return (time.perf_counter_ns() - began) / sum(map(len, reads))


def _filled(frames: list[bytes], size: int) -> bytes:
    least = min(map(len, frames))
    return b"".join(islice(cycle(frames), size // least))[:size]


def _enq_burst(size: int) -> bytes:
    """Return three copies of each frame, as a shoe sends them."""
    bodies = [bytes((0x44, 0x70 + place, 0x80 + card)) for place in _PLACES for card in _CARDS]
    frames = []
    for seq, body in islice(zip(cycle(b"123456789"), cycle(bodies), strict=False), 9 * len(bodies)):
        check = seq ^ 3
        for byte in body:
            check ^= byte
        frames.append(b"\x05%c%b\x03%02X" % (seq, body, check) * 3)
    return _filled(frames, size)


def _line_burst(size: int) -> bytes:
    faces = [rank + suit for suit in "SHDC" for rank in "A23456789TJQK"]
    return _filled([f"[Game]<Card:{face}>\r\n".encode() for face in faces], size)


def _cobs_burst(size: int) -> bytes:
    frames = []
    drawn = cycle((place, card) for place in _PLACES for card in _CARDS)
    for seq, (place, card) in zip(range(1, 1 << 16), drawn, strict=False):
        head = b"\x01\x10\x02\xa7%b%b\x02" % (
            seq.to_bytes(2, "big"),
            (seq * 700).to_bytes(4, "big"),
        )
        body = head + bytes((place, card))
        frames.append(b"\0%b\0" % cobs_encode(body + _crc(body).to_bytes(2, "big")))
    return _filled(frames, size)
