"""Has the WAL beside a log lost a commit? SQLite itself never says so.

When SQLite recovers a WAL it takes the frames up to the first whose salts or checksum are wrong,
and drops the rest without a word. That is right for the torn end of a commit that never returned,
and wrong for a byte that changed under commits that did. So the frames are walked here first, as
the SQLite file format (section 4, "The Write-Ahead Log") describes them.

A commit of several frames can be torn anywhere by a power cut before it returned: the disk writes
in what order it likes. Only the newest commit can, since every commit is forced to the disk before
the next begins. So a frame that SQLite would stop at is damage if a commit of the same WAL
generation (the same salts) stands behind the one that the frame belongs to. Frames of other salts
are what an earlier generation left behind, and are not looked at.
"""

import struct
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final

__all__ = ["wal_damage", "wal_of"]

_HEADER: Final = struct.Struct(">6I2I")
_FRAME: Final = struct.Struct(">4I2I")
# Sums are over little-endian words with the first, over big-endian ones with the second.
_ORDERS: Final = {0x377F0682: "<", 0x377F0683: ">"}
_SUMMED_OF_HEADER: Final = 24
_SUMMED_OF_FRAME: Final = 8
_PAGE_SIZES: Final = frozenset(1 << bits for bits in range(9, 17))
_WORD: Final = 0xFFFF_FFFF

_Sums = tuple[int, int]


def wal_of(path: Path) -> Path:
    """The name of the WAL of the log at `path`."""
    return path.with_name(path.name + "-wal")


def wal_damage(wal: Path) -> str | None:
    """What makes SQLite drop commits of this WAL, in one line; None if nothing does.

    Args:
        wal: the WAL's file, which may be missing, and is only read.

    Raises:
        OSError: it cannot be read.
    """
    try:
        data = wal.read_bytes()  # at once, and summed after: a writer may be going on
    except FileNotFoundError:
        return None
    return _damage(BytesIO(data), wal.name)


def _damage(file: BinaryIO, name: str) -> str | None:
    head = file.read(_HEADER.size)
    if len(head) < _HEADER.size:
        return None  # cut while it was made: the header is on the disk before any frame is
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
        if ends > 1:  # the end of the bad frame's own commit, and that of a later one
            return (
                f"frame {bad} of {name} is damaged, so that SQLite would drop it and the commits "
                f"behind it, at least that of frame {number}"
            )
    return None


def _summed(order: str, data: bytes, sums: _Sums) -> _Sums:
    """The running sums with `data`, an even number of 32-bit words, added."""
    first, second = sums
    words = iter(struct.unpack(f"{order}{len(data) // 4}I", data))
    for one, two in zip(words, words, strict=True):
        first = (first + one + second) & _WORD
        second = (second + two + first) & _WORD
    return first, second
