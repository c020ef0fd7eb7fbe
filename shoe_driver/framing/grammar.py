"""The grammar of wire forms: framers, checks and numberings, as data that compose freely.

A frame is `start content [check] end [check]`. A framer finds frames, a check says whether one is
whole, a numbering says which it is; each is chosen by itself. The decoder reads the tables here,
and so does `shoe_driver.learning`, which searches them for what explains an unknown capture.

Positions count from the first byte after `start` (a line's `prefix`); those of `cobs` and `slip`
count in what is unstuffed. Bytes are written in hex.
"""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct

__all__ = [
    "BINARY",
    "CHECK_BYTES",
    "CRCS",
    "CRC_NAMES",
    "DECIMAL",
    "FRAMER_KEYS",
    "FRAME_LIMIT",
    "HEX",
    "CheckSpec",
    "CrcParameters",
    "FramerKind",
    "FramerSpec",
    "NumberSpec",
    "Order",
    "WireForm",
    "check_names",
]

FRAME_LIMIT: Final = (
    512  # the most bytes that `framer.most` may allow; a card's report has some ten
)
DECIMAL: Final = "0123456789"
HEX: Final = "0123456789ABCDEF"
BINARY: Final = 256
"""The base of a number in binary bytes."""

FramerKind: TypeAlias = Literal["delimited", "line", "length", "cobs", "slip", "fixed"]
Order: TypeAlias = Literal["big", "little"]


class FramerSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How frames are found in the stream.

    Args:
        kind: the framer.
        most: most bytes of a frame, with all of its parts, unstuffed.
        start: the bytes that begin each frame, hex.
        end: the bytes that end each frame, hex.
        shape: the bytes of the content, position by position: ranges such as `30-39,41-46`; the
            last may end with `*`, for any number. Empty: anything but `start` and `end`.
        prefix: the text that begins each line.
        suffix: the text that ends each line, before the line end.
        at: position of the length.
        width: bytes of the length.
        order: their order.
        adds: bytes of a frame that the length does not count. With `cobs` and `slip` a length
            besides: 0 where there is none.
        size: bytes of every frame.
    """

    kind: FramerKind
    most: int
    start: str = ""
    end: str = ""
    shape: tuple[str, ...] = ()
    prefix: str = ""
    suffix: str = ""
    at: int = 0
    width: int = 1
    order: Order = "big"
    adds: int = 0
    size: int = 0


class CheckSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What each frame must pass.

    Args:
        kind: the check.
        variant: which of the usual parameters, for `crc8` and `crc32`.
        hex: the check is text, two digits a byte; else binary.
        lower: its letters are small.
        order: of a check of several bytes in binary.
        after_end: it follows `end`; else it precedes it.
        start: the span that is checked begins with `start`; else with the content.
        skip: bytes of the content that the span leaves out at its beginning.
        drop: bytes just before the check that the span leaves out.
    """

    kind: str = "none"
    variant: str = ""
    hex: bool = False
    lower: bool = False
    order: Order = "big"
    after_end: bool = False
    start: bool = False
    skip: int = 0
    drop: int = 0


class NumberSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How reports are numbered.

    Args:
        base: 2 to 36 is text, a digit a byte; 256 is binary.
        width: digits of a number; the most, where `field` counts.
        at: position of the number.
        field: the number is this field of the content (from 0), between `separator`s, unpadded.
        separator: one character.
        order: of a binary number.
        digits: the digits of text, when they are not `0-9A-Z`.
        first: the number after the last.
        last: the last number; by itself the greatest that fits.
        boot: the number of a power-up, and of nothing else.
    """

    base: int
    width: int
    at: int = 0
    field: int | None = None
    separator: str = ","
    order: Order = "big"
    digits: str = ""
    first: int = 0
    last: int | None = None
    boot: int | None = None

    @property
    def greatest(self) -> int:
        """The last number before the first comes again."""
        fits = int(self.base**self.width) - 1
        return fits if self.last is None else self.last


class WireForm(Struct, frozen=True, kw_only=True):
    """Framer, check and numbering of one device."""

    framer: FramerSpec
    check: CheckSpec = CheckSpec()
    number: NumberSpec | None = None

    @property
    def check_bytes(self) -> int:
        """Bytes of the check in a frame."""
        size = CHECK_BYTES.get(self.check.kind, 0)
        return 2 * size if self.check.hex else size


# By framer: the keys that it needs, and those that it may have. `kind` and `most` belong to all.
FRAMER_KEYS: Final[Mapping[FramerKind, tuple[frozenset[str], frozenset[str]]]] = {
    "delimited": (frozenset({"start", "end"}), frozenset({"shape"})),
    "line": (frozenset(), frozenset({"prefix", "suffix"})),
    "length": (frozenset({"adds"}), frozenset({"start", "at", "width", "order"})),
    "cobs": (frozenset(), frozenset({"at", "width", "order", "adds"})),
    "slip": (frozenset(), frozenset({"at", "width", "order", "adds"})),
    "fixed": (frozenset({"size"}), frozenset({"start"})),
}


class CrcParameters(Struct, frozen=True):
    """The parameters of a CRC, as the catalogue of CRC algorithms writes them.

    Args:
        width: bits.
        poly: the polynomial.
        init: the register's start.
        reflected: bits come in and go out the other way round.
        xorout: XORed at the end.
    """

    width: int
    poly: int
    init: int
    reflected: bool
    xorout: int


# name, polynomial, start, reflected, XORed at the end: G. Cook's catalogue of parametrised CRC
# algorithms, by the names that data sheets use.
_CRC8: Final = """
    smbus 07 00 0 00        maxim 31 00 1 00        autosar 2F FF 0 FF      bluetooth A7 00 1 00
    cdma2000 9B FF 0 00     darc 39 00 1 00         dvb-s2 D5 00 0 00       gsm-a 1D 00 0 00
    gsm-b 49 00 0 FF        hitag 1D FF 0 00        itu 07 00 0 55          i-code 1D FD 0 00
    lte 9B 00 0 00          mifare-mad 1D C7 0 00   nrsc-5 31 FF 0 00       opensafety 2F 00 0 00
    rohc 07 FF 1 00         j1850 1D FF 0 FF        tech-3250 1D FF 1 00    wcdma 9B 00 1 00
"""
_CRC16: Final = """
    ccitt-false 1021 FFFF 0 0000    xmodem 1021 0000 0 0000     modbus 8005 FFFF 1 0000
    arc 8005 0000 1 0000            kermit 1021 0000 1 0000     x25 1021 FFFF 1 FFFF
    usb 8005 FFFF 1 FFFF            maxim 8005 0000 1 FFFF      dnp 3D65 0000 1 FFFF
    buypass 8005 0000 0 0000        genibus 1021 FFFF 0 FFFF    aug-ccitt 1021 1D0F 0 0000
    mcrf4xx 1021 FFFF 1 0000        cdma2000 C867 FFFF 0 0000   cms 8005 FFFF 0 0000
    dds-110 8005 800D 0 0000        dect-r 0589 0000 0 0001     dect-x 0589 0000 0 0000
    en-13757 3D65 0000 0 FFFF       gsm 1021 0000 0 FFFF        a 1021 C6C6 1 0000
    lj1200 6F63 0000 0 0000         m17 5935 FFFF 0 0000        nrsc-5 080B FFFF 1 0000
    opensafety-a 5935 0000 0 0000   opensafety-b 755B 0000 0 0000
    profibus 1DCF FFFF 0 FFFF       riello 1021 B2AA 1 0000     t10-dif 8BB7 0000 0 0000
    teledisk A097 0000 0 0000       tms37157 1021 89EC 1 0000
"""
_CRC32: Final = """
    iso-hdlc 04C11DB7 FFFFFFFF 1 FFFFFFFF   bzip2 04C11DB7 FFFFFFFF 0 FFFFFFFF
    mpeg-2 04C11DB7 FFFFFFFF 0 00000000     cksum 04C11DB7 00000000 0 FFFFFFFF
    jamcrc 04C11DB7 FFFFFFFF 1 00000000     castagnoli 1EDC6F41 FFFFFFFF 1 FFFFFFFF
    base91-d A833982B FFFFFFFF 1 FFFFFFFF   aixm 814141AB 00000000 0 00000000
    autosar F4ACFB13 FFFFFFFF 1 FFFFFFFF    cd-rom-edc 8001801B 00000000 1 00000000
    mef 741B8CD7 FFFFFFFF 1 00000000        xfer 000000AF 00000000 0 00000000
"""


def _parameters(width: int, table: str) -> dict[str, CrcParameters]:
    words = table.split()
    rows = (words[at : at + 5] for at in range(0, len(words), 5))
    return {
        name: CrcParameters(width, int(poly, 16), int(init, 16), reflected == "1", int(xorout, 16))
        for name, poly, init, reflected, xorout in rows
    }


CRCS: Final[Mapping[str, Mapping[str, CrcParameters]]] = {
    "crc8": _parameters(8, _CRC8),
    "crc16": _parameters(16, _CRC16),
    "crc32": _parameters(32, _CRC32),
}
"""The usual parameters of each width; the first of `crc8` and `crc32` are meant without a name."""

CRC_NAMES: Final[Mapping[str, str]] = {
    "ibm-3740": "ccitt-false", "autosar": "ccitt-false", "acorn": "xmodem", "lte": "xmodem",
    "v-41-msb": "xmodem", "zmodem": "xmodem", "ibm": "arc", "lha": "arc", "ansi": "arc",
    "ccitt": "kermit", "ccitt-true": "kermit", "v-41-lsb": "kermit", "bluetooth": "kermit",
    "ibm-sdlc": "x25", "x-25": "x25", "iso-hdlc": "x25", "b": "x25", "maxim-dow": "maxim",
    "umts": "buypass", "verifone": "buypass", "epc": "genibus", "darc": "genibus",
    "i-code": "genibus", "spi-fujitsu": "aug-ccitt", "iso-iec-14443-3-a": "a",
}  # fmt: skip
"""Other names of CRCs of 16 bits."""

CHECK_BYTES: Final[Mapping[str, int]] = {
    "none": 0,
    "sum8": 1,
    "xor8": 1,
    "lrc": 1,
    "crc8": 1,
    **{f"crc16-{name}": 2 for name in (*CRCS["crc16"], *CRC_NAMES)},
    "crc32": 4,
}
"""The bytes of every check, by its name."""


def check_names() -> tuple[str, ...]:
    """Return the names of the checks, without the other names of CRCs."""
    return tuple(name for name in CHECK_BYTES if name.removeprefix("crc16-") not in CRC_NAMES)
