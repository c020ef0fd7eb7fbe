"""Devices that nobody has built, drawn at random from the grammar: codes, numbers and checks of
their own. They are written from the grammar's page; the product's framers and checks are not used.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import xor
from typing import Any, Final

RANKS: Final = "A23456789TJQK"
SUITS: Final = "SHDC"
FACES: Final = tuple(rank + suit for suit in SUITS for rank in RANKS)
# width, polynomial, start, reflected, XORed at the end, as the catalogue writes them.
CRCS: Final = {
    "crc8": (8, 0x07, 0, False, 0),
    "crc8 maxim": (8, 0x31, 0, True, 0),
    "crc8 autosar": (8, 0x2F, 0xFF, False, 0xFF),
    "crc16-ccitt-false": (16, 0x1021, 0xFFFF, False, 0),
    "crc16-xmodem": (16, 0x1021, 0, False, 0),
    "crc16-kermit": (16, 0x1021, 0, True, 0),
    "crc16-x25": (16, 0x1021, 0xFFFF, True, 0xFFFF),
    "crc16-modbus": (16, 0x8005, 0xFFFF, True, 0),
    "crc16-arc": (16, 0x8005, 0, True, 0),
    "crc16-usb": (16, 0x8005, 0xFFFF, True, 0xFFFF),
    "crc16-dnp": (16, 0x3D65, 0, True, 0xFFFF),
    "crc32": (32, 0x04C11DB7, 0xFFFFFFFF, True, 0xFFFFFFFF),
}
CHECKS: Final = ("none", "sum8", "xor8", "lrc", *CRCS)
FRAMERS: Final = ("delimited", "line", "length", "cobs", "slip", "fixed")


def crc(data: bytes, width: int, poly: int, start: int, reflected: bool, last: int) -> int:
    """A CRC by dividing polynomials, a bit at a time."""
    register, top, mask = start, 1 << width - 1, (1 << width) - 1
    for byte in data:
        bits = int(f"{byte:08b}"[::-1], 2) if reflected else byte
        register ^= bits << width - 8
        for _ in range(8):
            register = (register << 1 ^ (poly if register & top else 0)) & mask
    if reflected:
        register = int(f"{register:0{width}b}"[::-1], 2)
    return register ^ last


def check_bytes(name: str, data: bytes) -> tuple[int, int]:
    """A check's value, and its bytes."""
    if name in CRCS:
        return crc(data, *CRCS[name]), CRCS[name][0] // 8
    plain: dict[str, Callable[[bytes], int]] = {
        "sum8": lambda text: sum(text) % 256,
        "xor8": lambda text: reduce(xor, text, 0),
        "lrc": lambda text: (256 - sum(text)) % 256,
    }
    return (plain[name](data), 1) if name in plain else (0, 0)


def cobs(data: bytes) -> bytes:
    """COBS of fewer than 254 bytes."""
    return b"".join(bytes([len(part) + 1]) + part for part in data.split(b"\0")) + b"\0"


def slip(data: bytes) -> bytes:
    """SLIP, with a delimiter on both sides."""
    stuffed = b"".join({0xC0: b"\xdb\xdc", 0xDB: b"\xdb\xdd"}.get(b, bytes([b])) for b in data)
    return b"\xc0" + stuffed + b"\xc0"


@dataclass
class MadeUp:
    """One device.

    What `learn` is to find: `framer`, `check` with `hex`, and `numbering`.
    """

    framer: str
    check: str
    hex: bool
    numbering: dict[str, int] | None
    text: bool
    codes: dict[str, bytes]
    start: bytes
    end: bytes
    kind: bytes
    order: str
    covers_start: bool
    after_end: bool
    number_first: bool
    first: int
    number_order: str
    separator: bytes
    talkative: bool
    sent: int = field(default=0)

    @property
    def name(self) -> str:
        """The check's name without its variant."""
        return self.check.split()[0]

    def number(self) -> bytes:
        """The next number."""
        value = self.first + self.sent
        self.sent += 1
        if self.numbering is None:
            return b""
        base, width = self.numbering["base"], self.numbering["width"]
        value %= base**width
        if base == 256:
            number: bytes = value.to_bytes(width, "big")
            return number if self.number_order == "big" else number[::-1]
        digits = "0123456789ABCDEF"
        return "".join(digits[value // base**place % base] for place in range(width))[::-1].encode()

    def report(self, body: bytes) -> bytes:
        """A frame."""
        parts = [self.number(), self.kind, body]
        if not self.number_first:
            parts[0], parts[1] = parts[1], parts[0]
        content = self.separator.join(part for part in parts if part)
        if self.check != "none" and self.text:
            content += self.separator
        return self._framed(content)

    def _framed(self, content: bytes) -> bytes:
        value, size = check_bytes(self.check, b"")
        width = size * 2 if self.hex else size
        if self.framer == "length":
            content = bytes([len(content) + width]) + content
        span = (self.start if self.covers_start else b"") + content
        if self.after_end:
            span += self.end
        value, size = check_bytes(self.check, span)
        check = b"%0*X" % (size * 2, value) if self.hex else value.to_bytes(size, "big")
        if self.order == "little":
            check = check[::-1]
        if not size:
            check = b""
        if self.framer in ("cobs", "slip"):
            return (cobs if self.framer == "cobs" else slip)(content + check)
        if self.framer in ("length", "fixed"):
            return self.start + content + check
        tail = self.end + check if self.after_end else check + self.end
        return self.start + content + tail

    def card(self, face: str) -> bytes:
        """The report of a card."""
        return self.report(self.codes[face])


def drawn(seed: int | str) -> MadeUp:
    """A device."""
    dice = random.Random(seed)
    framer = dice.choice(FRAMERS)
    text = framer == "line" or (framer == "delimited" and dice.random() < 0.5)
    check = dice.choice(CHECKS)
    hexed = text or (framer == "delimited" and dice.random() < 0.5)
    after_end = framer == "delimited" and dice.random() < 0.5
    numbered = dice.random() < 0.75
    if text:
        base = dice.choice((10, 16))
        width = dice.randint(1, 3)
    else:
        base, width = dice.choice(((256, 1), (256, 2), (10, 1), (10, 2), (16, 2)))
    start, end = _delimiters(dice, framer, text=text)
    return MadeUp(
        framer=framer,
        check=check,
        hex=hexed and check != "none",
        numbering={"base": base, "width": width} if numbered else None,
        text=text,
        codes=_codes(dice, text=text),
        start=start,
        end=end,
        kind=_kind(dice, text=text),
        order=dice.choice(("big", "little")) if not hexed else "big",
        covers_start=bool(start) and dice.random() < 0.5,
        after_end=after_end,
        number_first=dice.random() < 0.5,
        first=dice.randint(0, 60_000 if base == 256 else 900),
        number_order=dice.choice(("big", "little")),
        separator=b"," if text and dice.random() < 0.5 else b"",
        talkative=framer != "fixed" and dice.random() < 0.5,
    )


def _kind(dice: random.Random, *, text: bool) -> bytes:
    if text:
        return dice.choice((b"C", b"CARD", b"D"))
    return bytes([dice.randint(0x20, 0x6F)])


def _delimiters(dice: random.Random, framer: str, *, text: bool) -> tuple[bytes, bytes]:
    if framer == "line":
        return dice.choice((b"", b"", b"$", b"#")), dice.choice((b"\r", b"\n", b"\r\n"))
    if framer == "delimited":
        pairs = ((2, 3), (1, 4), (0x7B, 0x7D)) if text else ((0xF0, 0xF7), (0xFA, 0xFB), (2, 3))
        first, last = dice.choice(pairs)
        return bytes([first]), bytes([last])
    if framer in ("length", "fixed"):
        return dice.choice((b"\xaa", b"\xaa\x55", b"\x7e")), b""
    return b"", b""


def _codes(dice: random.Random, *, text: bool) -> dict[str, bytes]:
    if text:
        form = dice.choice((lambda f: f, lambda f: f[1] + f[0], None))
        if form is not None:
            return {face: form(face).encode() for face in FACES}
        numbers = dice.sample(range(100), 52)
        return {face: b"%02d" % number for face, number in zip(FACES, numbers, strict=True)}
    style = dice.choice(("nibbles", "pair", "table"))
    suits, ranks = dice.sample(range(4), 4), dice.sample(range(13), 13)
    high = dice.choice((0x30, 0x40, 0x80))
    if style == "table":
        values = dice.sample(range(0x10, 0x70), 52)
        return {face: bytes([value]) for face, value in zip(FACES, values, strict=True)}
    made = {}
    for face in FACES:
        rank, suit = ranks[RANKS.index(face[0])] + 1, suits[SUITS.index(face[1])]
        pair = bytes([high + suit, rank])
        made[face] = pair if style == "pair" else bytes([high + (suit << 4) + rank & 0xFF])
    return made


def capture(device: MadeUp, cards: Sequence[str], seed: int | str, *, noise: float = 0.01) -> bytes:
    """What a reader sees of these cards: one byte in a hundred is wrong, gone, or too many."""
    dice = random.Random(seed)
    sent = []
    for number, card in enumerate(cards, start=1):
        sent.append(device.card(card))
        if device.talkative and number % 5 == 0:
            sent.append(device.report(b"END" if device.text else b"\x6d\x21\x01"))
    out = bytearray()
    for byte in b"".join(sent):
        if dice.random() >= noise:
            out.append(byte)
            continue
        match dice.randrange(3):
            case 0:
                out.append(dice.randrange(256))
            case 1:
                out += bytes([byte, dice.randrange(256)])
    return bytes(out)


def shoe(seed: int | str, count: int = 200) -> list[str]:
    """Cards out of eight decks."""
    deck = list(FACES) * 8
    random.Random(seed).shuffle(deck)
    return deck[:count]


def wanted(device: MadeUp) -> dict[str, Any]:
    """What `learn` should say."""
    return {
        "framer": device.framer,
        "check": device.name,
        "hex": device.hex,
        "numbering": device.numbering,
    }
