"""Measure how fast the framers split a burst, next to a bare scan of the same bytes.

A burst is the input after a stall: ten megabytes that were waiting, in reads of 4 KB. The floor
searches for the byte that begins or ends a frame and does nothing else; no framer in Python can do
less. `decode` is the whole way from bytes to numbered shoe events. The shipped profiles are
measured first, then every framer with every kind of check and numbering, in processor time.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice
from statistics import median
from typing import Final, NamedTuple, TypeAlias

from benchmarks.instruments.figures import Figure, side_by_side
from benchmarks.rows import BenchOptions
from shoe_driver.decode import Decoder
from shoe_driver.framing.checks import check_function
from shoe_driver.framing.chunks import cobs_encode, slip_encode
from shoe_driver.framing.grammar import CHECK_BYTES
from shoe_driver.framing.registry import make_framer
from shoe_driver.profiles.catalogue import load_profile
from shoe_driver.profiles.profile import Profile, parse_profile

__all__ = ["BURST_BYTES", "combinations", "framing", "measure"]

BURST_BYTES: Final = 10_000_000
_READ: Final = 4096
_ROUNDS: Final = 5
# The house's goals: 2 MB/s, and 1 MB/s to events.
_MOST_MS_PER_MB: Final = 500.0
_MOST_MS_PER_MB_DECODED: Final = 1_000.0
_PART: Final = 50  # of a burst, for each check and numbering

_PLACES: Final = tuple(hand << 4 | number for hand in (1, 2) for number in (1, 2, 3))
_CARDS: Final = tuple(suit << 4 | rank for suit in (1, 2, 3, 4) for rank in range(1, 14))


_crc: Final = check_function("crc16-ccitt-false")
_FORM: Final = """
form = 2
id = "composed"
loss_detection = "none"
disclosure = "immediate"
result = "none"
[framer]
most = 24
{framer}
[check]
kind = "{check}"
hex = {hex}
{number}
[serial]
baud = 115200
[limits]
partial_ms = 100
silence_ms = 60000
[codes]
variant = "fields"
text = true
fields = {{ card = {{ {card}, width = 2 }} }}
kinds = {{ "" = {{ report = "card_drawn" }} }}
[codes.faces]
{faces}
"""
_FACES: Final = tuple(rank + suit for suit in "SHDC" for rank in "A23456789TJQK")
_REPORTS: Final = tuple((place, face.encode()) for place in _PLACES for face in _FACES)
_CHECKS: Final = ("none", "sum8", "xor8", "lrc", "crc8", "crc16-modbus", "crc32")
# The section of each numbering, what writes a number, and where the card then is.
_Numbering: TypeAlias = tuple[str, Callable[[int], bytes], str]
_NO_NUMBER: Final[_Numbering] = ("", lambda _: b"", "at = 3")
_BINARY: Final[tuple[_Numbering, ...]] = (
    _NO_NUMBER,
    ("[number]\nbase = 256\nwidth = 1", lambda n: bytes([n % 256]), "at = 4"),
    ("[number]\nbase = 256\nwidth = 2", lambda n: (n % 65_536).to_bytes(2, "big"), "at = 5"),
)
_TEXT: Final[tuple[_Numbering, ...]] = (
    _NO_NUMBER,
    ("[number]\nbase = 10\nwidth = 3", lambda n: b"%03d" % (n % 1_000), "at = 6"),
    ("[number]\nbase = 16\nwidth = 2", lambda n: b"%02X" % (n % 256), "at = 5"),
    ("[number]\nbase = 10\nwidth = 4\nfield = 0", lambda n: b"%d," % (n % 10_000), "field = 2"),
)


class _Composed(NamedTuple):
    """A framer of form 2.

    Args:
        mark: what the floor searches for.
        framer: its keys; `{size}` is the size of a frame.
        framed: content and check to a frame.
        text: whether frames are text, with a check in hex.
    """

    mark: bytes
    framer: str
    framed: Callable[[bytes, bytes], bytes]
    text: bool = False


_COMPOSED: Final = {
    "length": _Composed(
        rb"\xaa",
        'kind = "length"\nstart = "AA"\nat = {after_number}\nadds = 0',
        lambda content, check: b"\xaa" + content + check,
    ),
    "fixed": _Composed(
        rb"\xaa",
        'kind = "fixed"\nstart = "AA"\nsize = {size}',
        lambda content, check: b"\xaa" + content + check,
    ),
    "cobs-composed": _Composed(
        rb"\x00", 'kind = "cobs"', lambda content, check: cobs_encode(content + check) + b"\0"
    ),
    "slip": _Composed(
        rb"\xc0",
        'kind = "slip"',
        lambda content, check: b"\xc0" + slip_encode(content + check) + b"\xc0",
    ),
    "delimited": _Composed(
        rb"\x02",
        'kind = "delimited"\nstart = "02"\nend = "03"\nshape = ["00-FF*"]',
        lambda content, check: b"\x02" + content + check + b"\x03",
    ),
    "delimited-text": _Composed(
        rb"\x02",
        'kind = "delimited"\nstart = "02"\nend = "03"',
        lambda content, check: b"\x02" + content + check + b"\x03",
        text=True,
    ),
    "line-composed": _Composed(
        rb"[\r\n]", 'kind = "line"', lambda content, check: content + check + b"\r\n", text=True
    ),
}


def _combination(
    composed: _Composed, check: str, numbering: _Numbering, size: int
) -> tuple[Profile, bytes]:
    """Return the profile of a framer, a check and a numbering, and a burst of its cards."""
    section, number, card = numbering
    value, width = check_function(check), CHECK_BYTES.get(check, 0)
    written = b"%%0%dX" % (2 * width)
    frames = []
    least = 6 + len(number(0)) + width  # a start, and a report of five bytes
    for n, (place, face) in zip(range(size // least + 1), cycle(_REPORTS), strict=False):
        if composed.text:
            content = number(n) + (b"C%X,%s" if "field" in card else b"C%X%s") % (place, face)
        else:  # the first byte is the frame's length, where the framer has one
            content = number(n) + bytes((least, 0x44, place)) + face
        told = written % value(content) if composed.text else value(content).to_bytes(width, "big")
        frames.append(composed.framed(content, told if width else b""))
    text = _FORM.format(
        framer=composed.framer.format(size=len(frames[0]), after_number=len(number(0))),
        check=check,
        hex=str(composed.text and width > 0).lower(),
        number=section,
        card=card,
        faces="\n".join(f'{face} = "{face}"' for face in _FACES),
    )
    return parse_profile(text.encode(), source="composed"), b"".join(frames)[:size]


def combinations(name: str, size: int) -> Iterator[tuple[Profile, bytes]]:
    """Yield profile and burst of a composed framer with every check and numbering.

    Args:
        name: of the framer, as in the figure's name.
        size: bytes in a burst.
    """
    composed = _COMPOSED[name]
    for check in _CHECKS:
        for numbering in _TEXT if composed.text else _BINARY:
            yield _combination(composed, check, numbering, size)


def measure(options: BenchOptions) -> list[Figure]:
    """Measure the row `framing`."""
    return framing(min(options.samples, _ROUNDS), options.events or BURST_BYTES)


def framing(rounds: int, size: int = BURST_BYTES) -> list[Figure]:
    """Return a figure for each framer.

    Args:
        rounds: how often each burst is split.
        size: bytes in a burst.
    """
    shipped = (
        ("enq", "enq-bcc", rb"\x05", _enq_burst(size)),
        ("line", "text-line", rb"[\r\n]", _line_burst(size)),
        ("cobs", "ref-crc", rb"\x00", _cobs_burst(size)),
    )
    return [
        *(
            _figure(
                name,
                [_costs(load_profile(profile), mark, burst, 1) for _ in range(rounds)],
                "p99 is the slowest round",
            )
            for name, profile, mark, burst in shipped
        ),
        *(_everycombination(name, rounds, max(size // _PART, _READ)) for name in _COMPOSED),
    ]


def _everycombination(name: str, rounds: int, size: int) -> Figure:
    """Return the figure of a framer with every check and numbering: each must meet the goals."""
    mark = _COMPOSED[name].mark
    costs = [_costs(profile, mark, burst, rounds) for profile, burst in combinations(name, size)]
    return _figure(name, costs, "p99 is the slowest check and numbering")


class _Costs(NamedTuple):
    """Milliseconds of processor time for each megabyte."""

    product: float
    floor: float
    decode: float


def _costs(profile: Profile, mark: bytes, burst: bytes, rounds: int) -> _Costs:
    """Return the medians of all rounds."""
    reads = [burst[at : at + _READ] for at in range(0, len(burst), _READ)]
    scan = re.compile(mark).findall
    measured = [
        (
            _cost(reads, make_framer(profile.wire).feed),
            _cost(reads, scan),
            _cost(reads, Decoder(profile).feed_bare),
        )
        for _ in range(rounds)
    ]
    return _Costs(*map(median, zip(*measured, strict=True)))


def _figure(name: str, costs: Sequence[_Costs], slowest: str) -> Figure:
    product, floor, decode = zip(*costs, strict=True)
    return Figure(
        **side_by_side((median(product), max(product)), (median(floor), max(floor)), digits=3),
        name=f"framing-{name}",
        unit="ms/MB",
        samples=len(costs),
        goal=f"p99 <= {_MOST_MS_PER_MB:g} ms/MB, which is 2 MB/s, and 1 MB/s to events; {slowest}",
        met=max(product) <= _MOST_MS_PER_MB and max(decode) <= _MOST_MS_PER_MB_DECODED,
        detail={
            "MB/s, slowest": round(1000 / max(product), 1),
            "MB/s, bytes to events, slowest": round(1000 / max(decode), 1),
        },
    )


def _cost(reads: list[bytes], take: Callable[[bytes], object]) -> float:
    """Return milliseconds of processor time for each megabyte."""
    began = time.process_time_ns()
    for read in reads:
        take(read)
    return (time.process_time_ns() - began) / sum(map(len, reads))


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
