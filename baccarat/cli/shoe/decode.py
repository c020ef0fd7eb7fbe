"""`baccarat shoe decode`: turn a shoe's bytes, or a driver's journals, into shoe events."""

import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from baccarat.cli.output_files import require_stdout
from baccarat.cli.shown import say
from events.errors import InputError, LogRefused
from events.free_text import show_text
from events.types import ShoeEvent
from shoe_driver.decode import Decoder
from shoe_driver.journal.records import (
    MAGIC,
    RECORD_LIMIT,
    JournalHeader,
    RecordKind,
    RecordReader,
    holds_a_record,
    parse_header,
)
from shoe_driver.profiles.catalogue import load_profile, profile_names
from shoe_driver.profiles.profile import Profile, parse_profile

__all__ = ["decode", "document_of", "human_line", "json_line"]

_READ_SIZE: Final = 65_536


@click.command()
@click.option("--profile", metavar="P", help="wire profile, such as enq-bcc; a journal has its own")
@click.option("--json", "as_json", is_flag=True, help="one JSON document a line")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
def decode(profile: str | None, files: tuple[str, ...], as_json: bool) -> None:
    """Decode FILE (- is standard input): bare bytes, or a driver's journal.

    A journal is read by the edition of the profile that its driver read it by, and that it holds;
    by another one only where --profile names its FILE.toml. Bare bytes need --profile.

    Of a journal in several files, give them in order. A line for each shoe event on stdout; a
    summary last, on stderr. Of a damaged journal, the events up to the damage, and exit code 2.
    """
    decoding = _Decoding(profile)
    require_stdout("what is decoded")
    line = json_line if as_json else human_line
    for file in files:
        for events in decoding.run(file, _blocks(file)):
            # Events are printed as soon as their bytes arrive: the other end of a pipe may be live.
            sys.stdout.write("".join([line(event) for event in events]))
            sys.stdout.flush()
    say(decoding.summary(), err=True)


def _blocks(file: str) -> Iterator[bytes]:
    """Yield the input as it arrives, a block at a time."""
    if file == "-" and sys.stdin is None:
        raise InputError("-: standard input is closed; give a capture or a journal")
    try:
        with nullcontext(sys.stdin) if file == "-" else Path(file).open("rb") as source:
            while block := os.read(source.fileno(), _READ_SIZE):
                yield block
    except OSError as error:
        raise InputError(
            f"{file}: {error.strerror}; give a capture, a journal, or - for standard input"
        ) from error


class _Decoding:
    """Decodes inputs from their first byte to their last."""

    def __init__(self, profile: str | None) -> None:
        self._asked = None if profile is None else load_profile(profile)
        self._by_id = profile in profile_names()
        self._file = ""
        self._header: JournalHeader | None = None
        self._before: JournalHeader | None = None
        self._decoders = [Decoder(self._asked)] if self._asked else []
        self._events = self._bytes = 0
        self._notes: list[str] = []

    @property
    def _decoder(self) -> Decoder:
        return self._decoders[-1]

    def run(self, file: str, blocks: Iterator[bytes]) -> Iterator[list[ShoeEvent]]:
        """Yield the events of each block; a journal begins with its magic header."""
        self._file, self._before, self._header = file, self._header, None
        for events in self._decoded(blocks):
            self._events += len(events)
            yield events

    def _decoded(self, blocks: Iterator[bytes]) -> Iterator[list[ShoeEvent]]:
        head = b""
        for block in blocks:
            head += block
            if not MAGIC.startswith(head):
                break
        decode = self._journal if head.startswith(MAGIC[:-1]) else self._bare  # of any version
        return decode(chain([head], blocks))

    def _bare(self, blocks: Iterator[bytes]) -> Iterator[list[ShoeEvent]]:
        if self._asked is None:
            raise InputError(
                f"{self._file}: bare bytes do not say what they are read by; name it by --profile, "
                f"such as {profile_names()[0]}"
            )
        for block in blocks:
            self._bytes += len(block)
            yield self._decoder.feed_bare(block)
        yield self._decoder.finish()

    def _journal(self, blocks: Iterator[bytes]) -> Iterator[list[ShoeEvent]]:
        reader, damage = RecordReader(), None
        for block in blocks:
            events, damage = self._records(reader, block)
            yield events
            if damage is not None:
                break
        self._tail(reader, damage, blocks)

    def _records(
        self, reader: RecordReader, block: bytes
    ) -> tuple[list[ShoeEvent], LogRefused | None]:
        """Return the events of the next bytes, and the damage after them if there is any."""
        events = []
        try:
            for record in reader.feed(block):
                if self._header is None:
                    self._begin(parse_header(record))
                if record.kind is RecordKind.DATA:
                    self._bytes += len(record.payload)
                events += self._decoder.feed(record)
        except LogRefused as damage:
            return events, damage
        return events, None

    def _begin(self, header: JournalHeader) -> None:
        self._header, before = header, self._before
        if before is not None and before.journal == header.journal:
            if header.segment == before.segment + 1:
                return  # the journal goes on
            follows = f"{self._file}: file {header.segment} of its journal follows {before.segment}"
            self._notes.append(f"{follows}: one is missing, or they are out of order")
        self._decoders.append(Decoder(self._edition_of(header), header.journal))

    def _edition_of(self, header: JournalHeader) -> Profile:
        """Return the profile for a journal: its header names the id and the edition."""
        asked = self._asked
        if asked is None or (self._by_id and header.profile_digest != asked.digest):
            own = parse_profile(header.profile.encode(), source=f"in {self._file}")
            if asked is None or own.id == asked.id:
                return own
        if header.profile_digest != asked.digest:
            self._notes.append("it was written with another edition of the profile")
        return asked

    def _tail(
        self, reader: RecordReader, damage: LogRefused | None, blocks: Iterator[bytes]
    ) -> None:
        """Check the bytes after the whole records as the driver does: torn off, or damaged.

        Raises:
            LogRefused: they are damaged: the header is not whole, or something follows the damage.
        """
        at, size = reader.position, len(reader.rest)
        if self._header is None:
            raise self._refused(damage or "the journal is damaged: no header is whole", at)
        window = reader.rest[1:]
        while not (whole := holds_a_record(window)) and (block := next(blocks, b"")):
            window = window[-RECORD_LIMIT:] + block
            size += len(block)
        if whole:
            raise self._refused(damage or "the journal is damaged: a record has no end", at)
        if size:
            self._notes.append(f"a torn tail of {size} bytes at offset {at} was left out")

    def _refused(self, reason: LogRefused | str, at: int) -> LogRefused:
        return LogRefused(f"{self._file}: {reason} (byte {at})", at)

    def summary(self) -> str:
        """Return a summary in one line."""
        each = self._decoders
        counted = (
            f"{self._events} events from {self._bytes} bytes: "
            f"{sum(d.frames for d in each)} valid frames, "
            f"{sum(d.reports for d in each)} reports, {sum(d.rejected for d in each)} rejected, "
            f"{sum(d.short_copies for d in each)} short of copies"
        )
        return "; ".join([counted, *self._notes])


def document_of(event: ShoeEvent) -> dict[str, Any]:
    """Return a shoe event as it is shown, with its report's fields next to its own."""
    report: dict[str, Any] = msgspec.to_builtins(event.report)
    document = {"seq": event.seq, **report, "offset": event.offset, "raw": event.raw}
    # Bare captures have no times.
    return document | {"utc": event.utc} if event.utc else document


def json_line(event: ShoeEvent) -> str:
    """Return a shoe event as one JSON document with a line end."""
    return msgspec.json.encode(document_of(event)).decode() + "\n"


def human_line(event: ShoeEvent) -> str:
    """Return a shoe event for people, with a line end."""
    document = document_of(event)
    lead = f"{document.pop('seq'):>6}  {document.pop('offset'):>8}  {document.pop('utc', '')}"
    kind, raw = document.pop("kind"), document.pop("raw")
    said = " ".join(f"{key}={value}" for key, value in document.items())
    return show_text(f"{lead}  {kind:<18} {said:<36} {raw}".rstrip()) + "\n"
