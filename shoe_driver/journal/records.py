"""The raw journal's record format: bytes that arrived, and events on the link, each with its time.

A journal file is `MAGIC` and then records, each one `kind u8, length u32, mono_us u64, utc_ns u64,
payload, CRC-32 of all before`, big-endian. The first is a header that names the journal and holds
its whole wire profile, so a journal can be read without any other file. Events on the link are
records too, so that all shoe events, and their numbers, are a function of the journal alone.
"""

import hashlib
import re
import struct
import zlib
from collections.abc import Iterator
from enum import IntEnum
from typing import Final

import msgspec
from msgspec import Struct

from events.errors import LogRefused

__all__ = [
    "MAGIC",
    "PAYLOAD_LIMIT",
    "RECORD_LIMIT",
    "RULES",
    "JournalHeader",
    "JournalState",
    "Record",
    "RecordKind",
    "RecordReader",
    "encode_record",
    "holds_a_record",
    "parse_header",
    "parse_journal_state",
]

MAGIC: Final = b"BACSHOE\x01"  # the last byte is the format's version
PAYLOAD_LIMIT: Final = 0xFFFF  # a read is 4 KB, a profile 3 KB
RULES: Final = 2  # the version by which a journal begun now is decoded; see `JournalHeader`

_HEAD: Final = struct.Struct(">BIQQ")
_CRC: Final = struct.Struct(">I")

RECORD_LIMIT: Final = _HEAD.size + PAYLOAD_LIMIT + _CRC.size  # bytes of the longest record


class RecordKind(IntEnum):
    """The kind of a record. The numbers are stored, so they never change."""

    HEADER = 1  # a `JournalHeader`
    DATA = 2  # bytes from the device
    START = 3  # the driver was started; nothing earlier continues
    OPEN = 4  # the port was opened: its name
    CLOSE = 5  # the port was lost or closed: the reason
    SILENCE = 6  # silence past the limit: milliseconds, decimal
    QUIET = 7  # a frame begun did not go on
    CARRIED = 8  # the second record of a continuing file: a `JournalState`
    STALE = 9  # bytes that waited in a device server before we connected: kept, never decoded


class Record(Struct, frozen=True, gc=False):
    """One record.

    Args:
        kind: the kind of its payload.
        mono_us: when, by the monotonic clock, which restarts with the machine.
        utc_ns: when, nanoseconds since 1970.
        payload: by kind.
    """

    kind: RecordKind
    mono_us: int
    utc_ns: int
    payload: bytes = b""


class JournalHeader(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """The first record of a journal's file.

    Args:
        journal: its id; with a number it identifies a shoe event for ever.
        profile: the wire profile's file, as text.
        segment: the number of this file within the journal, from 1.
        rules: the version of the rules that make and number its events, to its end, whatever build
            reads it. Version 2 knows late copies, version 1 did not. An older journal has no such
            field.
    """

    journal: str
    profile: str
    segment: int = 1
    rules: int = 1

    @property
    def profile_digest(self) -> str:
        """SHA-256 of that file, hex."""
        return hashlib.sha256(self.profile.encode()).hexdigest()


class JournalState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The state of a journal when its next segment was begun: between coups, with nothing pending.

    With it a segment alone decodes to the same events as in the whole journal. A new journal that
    follows another one of the same device begins with one too: numbers from 0, link down.

    Args:
        head: the number of the newest event.
        offset: how many bytes from the device had been decoded.
        link: the state of the link.
        heard_us: monotonic arrival of the newest valid frame, or None.
        memory: the duplicate filter's state, or None before the first frame.
    """

    head: int
    offset: int
    link: str
    heard_us: int | None
    memory: str | None


def encode_record(record: Record) -> bytes:
    """Return the record's bytes."""
    head = _HEAD.pack(record.kind, len(record.payload), record.mono_us, record.utc_ns)
    return b"".join((head, record.payload, _CRC.pack(zlib.crc32(record.payload, zlib.crc32(head)))))


def parse_header(record: Record) -> JournalHeader:
    """Parse a journal's first record.

    Raises:
        LogRefused: it is not a header, or its rules are known only to a newer build.
    """
    try:
        if record.kind is RecordKind.HEADER:
            header = msgspec.json.decode(record.payload, type=JournalHeader)
            if header.rules <= RULES:
                return header
            raise LogRefused(
                f"the journal is read by rules {header.rules}, and this build knows {RULES}: "
                "use the build that wrote it",
                len(MAGIC),
            )
    except ValueError as error:
        raise LogRefused(f"the journal's header: {error}", len(MAGIC)) from error
    raise LogRefused("the journal does not begin with its header", len(MAGIC))


def parse_journal_state(record: Record) -> JournalState:
    """Parse the state of a journal from a segment's second record.

    Raises:
        LogRefused: the record does not hold one.
    """
    try:
        if record.kind is RecordKind.CARRIED:
            return msgspec.json.decode(record.payload, type=JournalState)
    except ValueError as error:
        raise LogRefused(f"the segment's second record: {error}") from error
    raise LogRefused("the segment does not say where the journal stood")


class RecordReader:
    """Parses a journal's bytes, however they are split.

    Attributes:
        position: where the last whole record ends.
        rest: the bytes after it, which are no whole record, or not yet.
        rest: the bytes after the last whole record.
    """

    def __init__(self) -> None:
        self.position = 0
        self.rest = b""

    def feed(self, data: bytes) -> Iterator[Record]:
        """Take the next bytes and yield the records they complete.

        Raises:
            LogRefused: these are not a journal's bytes, or not of this build's format; `position`
                is where the bad record begins.
        """
        self.rest += data
        at = 0
        try:
            if self.position == 0 and len(self.rest) >= len(MAGIC):
                _expect_magic(self.rest)
                at = len(MAGIC)
            elif self.position == 0:
                return
            while (end := self._end(at)) is not None:
                record = _parse(self.rest, at, end)
                if record is None:
                    raise LogRefused("the journal is damaged: a checksum fails", self.position + at)
                at = end
                yield record
        finally:
            self.position += at
            self.rest = self.rest[at:]

    def _end(self, at: int) -> int | None:
        """Return where the record at `at` ends, or None while it is incomplete."""
        if len(self.rest) < at + _HEAD.size:
            return None
        kind, length, _, _ = _HEAD.unpack_from(self.rest, at)
        if kind not in RecordKind._value2member_map_ or length > PAYLOAD_LIMIT:
            reason = "the journal is damaged, or of a newer build: no record that this one knows"
            raise LogRefused(reason, self.position + at)
        end = at + _HEAD.size + int(length) + _CRC.size
        return end if end <= len(self.rest) else None


def holds_a_record(data: bytes) -> bool:
    """Report whether there is a whole record anywhere in these bytes.

    A torn tail, which ends the file, has none after it; damage within the file has.
    """
    for match in _CANDIDATE.finditer(data):
        at = match.start()
        if at + _HEAD.size <= len(data):
            end = at + _HEAD.size + int(_HEAD.unpack_from(data, at)[1]) + _CRC.size
            if end <= len(data) and _parse(data, at, end) is not None:
                return True
    return False


# At any byte (a lookahead, so that candidates may overlap): a known kind, and a legal length.
_CANDIDATE: Final = re.compile(rb"(?=[\x01-\x09]\x00\x00)")


def _expect_magic(data: bytes) -> None:
    if not data.startswith(MAGIC):
        raise LogRefused(f"no journal of this build's format: it begins {data[:8].hex()}", 0)


def _parse(data: bytes, start: int, end: int) -> Record | None:
    """Parse the record in `data[start:end]`; None if its checksum fails."""
    body = data[start : end - _CRC.size]
    if zlib.crc32(body) != _CRC.unpack_from(data, end - _CRC.size)[0]:
        return None
    kind, _, mono_us, utc_ns = _HEAD.unpack_from(data, start)
    return Record(RecordKind(kind), mono_us, utc_ns, body[_HEAD.size :])
