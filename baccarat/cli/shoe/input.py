"""Read a capture for a command: bare bytes, or the bytes of a driver's journal with their times."""

import os
import sys
from pathlib import Path
from typing import Final

from msgspec import Struct

from events.errors import InputError, LogRefused
from shoe_driver.journal.records import MAGIC, Record, RecordKind, RecordReader

__all__ = ["CAPTURE_LIMIT", "CaptureInput", "read_capture"]

CAPTURE_LIMIT: Final = 64 * 1024 * 1024


class CaptureInput(Struct, frozen=True, kw_only=True):
    """A capture.

    Args:
        data: all bytes from the device.
        records: a journal's records; empty of bare bytes.
    """

    data: bytes
    records: tuple[Record, ...] = ()


def read_capture(file: str) -> CaptureInput:
    """Read a capture, a journal, or `-` for standard input.

    Raises:
        InputError: it cannot be read, is empty, or is larger than any capture should be.
        LogRefused: a journal is damaged.
    """
    try:
        source = sys.stdin.fileno() if file == "-" else os.open(Path(file), os.O_RDONLY)
        with os.fdopen(source, "rb", closefd=file != "-") as stream:
            data = stream.read(CAPTURE_LIMIT + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{file}: {why}; give a capture, a journal, or -") from error
    if len(data) > CAPTURE_LIMIT:
        raise InputError(f"{file}: over {CAPTURE_LIMIT // 1024**2} MiB; give a part of it")
    if not data:
        raise InputError(f"{file}: empty; record a capture with `baccarat shoe capture`")
    if not data.startswith(MAGIC[:-1]):
        return CaptureInput(data=data)
    try:
        records = tuple(RecordReader().feed(data))
    except LogRefused as error:
        raise LogRefused(f"{file}: {error}", 0) from error
    found = b"".join(record.payload for record in records if record.kind is RecordKind.DATA)
    return CaptureInput(data=found, records=records)
