"""`baccarat shoe decode`: bytes that a shoe sent, or a driver's journal, as shoe events."""

import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from events.errors import InputError
from events.shoe import ShoeEvent
from shoe_driver.decode import Decoder
from shoe_driver.edge.catalogue import load_profile
from shoe_driver.profile import Profile
from shoe_driver.records import MAGIC, RecordReader, parse_header

__all__ = ["decode", "shoe"]

_READ_SIZE: Final = 65_536


@click.group()
def shoe() -> None:
    """Decode what a shoe said."""


@shoe.command()
@click.option("--profile", required=True, metavar="P", help="wire profile, such as enq-bcc")
@click.option("--json", "as_json", is_flag=True, help="one JSON document a line")
@click.argument("file")
def decode(profile: str, file: str, as_json: bool) -> None:
    """Decode FILE (- is standard input): bare bytes, or a driver's journal.

    A line for each shoe event on stdout; a summary last, on stderr.
    """
    decoding = _Decoding(load_profile(profile))
    line = _json_line if as_json else _human_line
    for events in decoding.run(_blocks(file)):
        # Lines go out with the bytes that made them: the other end of a pipe may be live.
        sys.stdout.write("".join([line(event) for event in events]))
        sys.stdout.flush()
    click.echo(decoding.summary(), err=True)


def _blocks(file: str) -> Iterator[bytes]:
    """The input as it comes, a block at a time."""
    try:
        with nullcontext(sys.stdin) if file == "-" else Path(file).open("rb") as source:
            while block := os.read(source.fileno(), _READ_SIZE):
                yield block
    except OSError as error:
        raise InputError(
            f"{file}: {error.strerror}; give a capture, a journal, or - for standard input"
        ) from error


class _Decoding:
    """One input from its first byte to its last."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._decoder = Decoder(profile)
        self._notes: list[str] = []

    def run(self, blocks: Iterator[bytes]) -> Iterator[list[ShoeEvent]]:
        """The events of each block; a journal begins with its magic header."""
        head = b""
        for block in blocks:
            head += block
            if not MAGIC.startswith(head):
                break
        decode = self._journal if head.startswith(MAGIC[:-1]) else self._bare  # of any version
        return decode(chain([head], blocks))

    def _bare(self, blocks: Iterator[bytes]) -> Iterator[list[ShoeEvent]]:
        for block in blocks:
            yield self._decoder.feed_bare(block)
        yield self._decoder.finish()

    def _journal(self, blocks: Iterator[bytes]) -> Iterator[list[ShoeEvent]]:
        reader = RecordReader()
        first = True
        for block in blocks:
            events = []
            for record in reader.feed(block):
                if first:
                    header, first = parse_header(record), False
                    self._decoder = Decoder(self._profile, header.journal)
                    if header.profile_digest != self._profile.digest:
                        self._notes.append("it was written with another edition of the profile")
                events += self._decoder.feed(record)
            yield events
        if reader.pending:
            self._notes.append(f"an unfinished record of {reader.pending} bytes at its end")

    def summary(self) -> str:
        """One line about the whole."""
        decoder = self._decoder
        counted = (
            f"{decoder.head} events from {decoder.offset} bytes: {decoder.frames} valid frames, "
            f"{decoder.reports} reports, {decoder.rejected} rejected, "
            f"{decoder.short_copies} short of copies"
        )
        return "; ".join([counted, *self._notes])


def _document(event: ShoeEvent) -> dict[str, Any]:
    report: dict[str, Any] = msgspec.to_builtins(event.report)
    document = {"seq": event.seq, **report, "offset": event.offset, "raw": event.raw}
    # Bare captures have no times.
    return document | {"utc": event.utc} if event.utc else document


def _json_line(event: ShoeEvent) -> str:
    return msgspec.json.encode(_document(event)).decode() + "\n"


def _human_line(event: ShoeEvent) -> str:
    document = _document(event)
    lead = f"{document.pop('seq'):>6}  {document.pop('offset'):>8}  {document.pop('utc', '')}"
    kind, raw = document.pop("kind"), document.pop("raw")
    said = " ".join(f"{key}={value}" for key, value in document.items())
    return f"{lead}  {kind:<18} {said:<36} {raw}".rstrip() + "\n"
