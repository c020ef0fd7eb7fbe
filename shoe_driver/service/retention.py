"""Retention: which old journal files may go. Never one that the core, a coup or a person needs."""

import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

import structlog
from msgspec import Struct

from shoe_driver.journal.folder import JournalFolder
from shoe_driver.service.journal_segments import JournalChain

__all__ = ["JournalRetention", "OldFile", "drop_old_files", "droppable_files"]

_SECONDS_A_DAY: Final = 86_400

_log: Final = structlog.get_logger()


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


class OldFile(Struct, frozen=True):
    """A journal's file.

    Args:
        path: its path.
        size: bytes.
        written_s: when it was last written, seconds since 1970.
        needed: whether somebody may still have to read it.
    """

    path: Path
    size: int
    written_s: float
    needed: bool


def droppable_files(
    files: Sequence[OldFile], keep: JournalRetention, now_s: float
) -> list[OldFile]:
    """Return the files to drop now.

    Args:
        files: all of them, the oldest first.
        keep: the site's setting.
        now_s: seconds since 1970.

    Returns:
        The oldest of them, without a gap: all files after one that stays also stay.
    """
    total = sum(file.size for file in files)
    gone = []
    for file in files:
        old = keep.days is not None and now_s - file.written_s > keep.days * _SECONDS_A_DAY
        many = keep.megabytes is not None and total > keep.megabytes * 1_000_000
        if file.needed or not (old or many):
            break
        gone.append(file)
        total -= file.size
    return gone


def drop_old_files(
    folder: JournalFolder, chain: JournalChain, keep: JournalRetention, released: int | None
) -> None:
    """Drop the files that the site does not want to keep and nobody needs.

    Args:
        folder: the driver's folder.
        chain: its newest journal.
        keep: the site's setting.
        released: the core needs no event of that journal up to this one, and none of older
            journals; None until the core has reported it.
    """
    if released is None or folder.on_hold:
        return
    ends_at = {path: base for (_, path), (base, _) in pairwise(chain.files)}
    ends_at[chain.path] = released + 1  # the newest is never dropped
    try:
        files = []
        for path in folder.files():
            status = path.stat()
            needed = ends_at.get(path, 0) > released
            files.append(OldFile(path, status.st_size, status.st_mtime, needed))
        for old in droppable_files(files, keep, time.time()):
            folder.drop(old.path)
            chain.forget(old.path)
            _log.info("journal.dropped", file=old.path.name, bytes=old.size)
    except OSError as error:
        _log.warning("journal.not_dropped", reason=str(error))
