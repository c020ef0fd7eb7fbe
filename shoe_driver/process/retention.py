"""Retention: which old journal files may go. Never one that the core, a coup or a person needs."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from shoe_driver.process.effects import JournalFile

__all__ = ["JournalRetention", "droppable_files"]

_SECONDS_A_DAY: Final = 86_400


class JournalRetention(Struct, frozen=True, kw_only=True):
    """How long raw journals are kept. Files that are needed stay in any case.

    Args:
        days: files older than this may go; None is for ever.
        megabytes: the oldest may go while all together are larger; None is without limit.
        segment_bytes: after a file of this size another is begun, between coups.
    """

    days: int | None = None
    megabytes: int | None = None
    segment_bytes: int = 4 * 1024 * 1024


def droppable_files(
    files: Sequence[JournalFile], keep: JournalRetention, released: int, now_s: float
) -> list[JournalFile]:
    """Return the files to drop now.

    Args:
        files: all of them, the oldest first.
        keep: the site's setting.
        released: the core needs no event of the newest journal up to this one, and none of older
            journals.
        now_s: seconds since 1970.

    Returns:
        The oldest of them, without a gap: all files after one that stays also stay.
    """
    total = sum(file.size for file in files)
    gone = []
    for file in files:
        needed = file.last is None or file.last > released
        old = keep.days is not None and now_s - file.written_s > keep.days * _SECONDS_A_DAY
        many = keep.megabytes is not None and total > keep.megabytes * 1_000_000
        if needed or not (old or many):
            break
        gone.append(file)
        total -= file.size
    return gone
