"""Detect a WAL that has lost a commit, which SQLite itself never reports.

When SQLite recovers a WAL, it takes the frames up to the first with wrong salts or checksum, and
silently drops the rest. That is right for the torn end of a commit that never returned, and wrong
for a byte that changed under commits that did. So this module walks the frames first, as the SQLite
file format (section 4, "The Write-Ahead Log") describes them.

A power cut can tear a commit of several frames anywhere before it returned: the disk writes in any
order. Only the newest commit can be torn, since every commit is forced to the disk before the next
begins. So a frame at which SQLite would stop is damage if a later commit of the same WAL generation
(the same salts) follows the frame's own. Frames of other salts are left from an earlier generation
and are ignored.
"""

import struct
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final

__all__ = ["wal_damage", "wal_of"]

_HEADER: Final = struct.Struct(">6I2I")
_FRAME: Final = struct.Struct(">4I2I")
# The magic number says whether checksums are over little-endian or big-endian words.
_ORDERS: Final = {0x377F0682: "<", 0x377F0683: ">"}
_SUMMED_OF_HEADER: Final = 24
_SUMMED_OF_FRAME: Final = 8
_PAGE_SIZES: Final = frozenset(1 << bits for bits in range(9, 17))
_WORD: Final = 0xFFFF_FFFF

_Sums = tuple[int, int]


def wal_of(path: Path) -> Path:
    """Return the path of the WAL of the log at `path`."""
    return path.with_name(path.name + "-wal")


def wal_damage(wal: Path) -> str | None:
    """Return why SQLite would drop commits of this WAL, in one line; None if it would not.

    Args:
        wal: the WAL's file, which may be missing; it is only read.

    Raises:
        OSError: it cannot be read.
    """
    try:
        data = wal.read_bytes()  # in one read, summed afterwards: a writer may be going on
    except FileNotFoundError:
        return None
    return _damage(BytesIO(data), wal.name)


def _damage(file: BinaryIO, name: str) -> str | None:
    head = file.read(_HEADER.size)
    if len(head) < _HEADER.size:
        return None  # cut while it was made: the header is on the disk before any frame
    magic, _, size, _, *salts, first, second = _HEADER.unpack(head)
    order = _ORDERS.get(magic)
    sums = _summed(order or ">", head[:_SUMMED_OF_HEADER], (0, 0))
    if order is None or size not in _PAGE_SIZES or sums != (first, second):
        return f"the header of {name} is damaged, so that SQLite would drop all commits in it"
    number, bad, ends = 0, None, 0
    while len(frame := file.read(_FRAME.size + size)) == _FRAME.size + size:
        number += 1
        page, commit, *of, first, second = _FRAME.unpack_from(frame)
        if bad is None:
            sums = _summed(order, frame[:_SUMMED_OF_FRAME], sums)
            sums = _summed(order, frame[_FRAME.size :], sums)
            if of != salts or page == 0 or sums != (first, second):
                bad = number
        if bad is not None and of == salts and commit:
            ends += 1
        if ends > 1:  # the end of the bad frame's own commit, and the end of a later one
            return (
                f"frame {bad} of {name} is damaged, so that SQLite would drop it and the commits "
                f"behind it, at least that of frame {number}"
            )
    return None


def _summed(order: str, data: bytes, sums: _Sums) -> _Sums:
    """Add `data`, an even number of 32-bit words, to the running checksums."""
    first, second = sums
    words = iter(struct.unpack(f"{order}{len(data) // 4}I", data))
    for one, two in zip(words, words, strict=True):
        first = (first + one + second) & _WORD
        second = (second + two + first) & _WORD
    return first, second
