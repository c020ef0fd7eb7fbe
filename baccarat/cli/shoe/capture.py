"""`baccarat shoe capture`: record a shoe's bytes with times, for `baccarat shoe decode`."""

import asyncio
from pathlib import Path

import click

from baccarat.cli.shoe.line import endpoint_of, line_records, stop_event
from baccarat.cli.shown import say
from baccarat.cli.value_types import FiniteFloatRange
from events.clock import Clock, SystemClock
from events.errors import InputError
from shoe_driver.decode import Decoder
from shoe_driver.journal.files import Journal
from shoe_driver.journal.records import Record, RecordKind
from shoe_driver.profiles.catalogue import load_profile, profile_text
from shoe_driver.transports.endpoint import Endpoint

__all__ = ["capture"]

_MICROSECONDS = 1_000_000


@click.command()
@click.option("--profile", default="enq-bcc", metavar="P", help="wire profile; by itself enq-bcc")
@click.option("--seconds", type=FiniteFloatRange(min=0, min_open=True), help="end after so long")
@click.argument("port")
@click.argument("file", type=click.Path(path_type=Path))
def capture(port: str, file: Path, profile: str, seconds: float | None) -> None:
    """Record what comes from PORT into FILE, until Ctrl-C.

    PORT is a serial port's path or a transport's URL; it is only read, and nobody else may have it.
    FILE must not exist; each read is on disk, with its times, before the next is taken.
    """
    clock = SystemClock()
    loaded = load_profile(profile)
    endpoint = endpoint_of(port, loaded.serial)
    _claim(file)
    try:
        journal = Journal.create_file(file, file.stem, profile_text(profile), clock)
    except BaseException:
        file.unlink()
        raise
    decoder = Decoder(loaded, file.stem)
    began = clock.mono_us()
    try:
        asyncio.run(_record(endpoint, journal, decoder, clock, seconds))
    finally:
        journal.close()
        if decoder.offset or decoder.head:
            seconds_taken = (clock.mono_us() - began) / _MICROSECONDS
            say(_summary(file, profile, decoder, seconds_taken), err=True)
        else:
            file.unlink()  # the line was never opened: there is nothing to keep


async def _record(
    endpoint: Endpoint, journal: Journal, decoder: Decoder, clock: Clock, seconds: float | None
) -> None:
    reason = "capture ended"
    with stop_event(seconds) as stop:
        try:
            async for records in line_records(endpoint, clock, stop):
                _store(records, journal, decoder)
        except Exception as error:
            reason = str(error)
            raise
        finally:
            if decoder.head:
                close = Record(RecordKind.CLOSE, clock.mono_us(), clock.utc_ns(), reason.encode())
                _store([close], journal, decoder)


def _store(records: list[Record], journal: Journal, decoder: Decoder) -> None:
    if records:
        journal.append(records)
        for record in records:
            decoder.feed(record)


def _claim(file: Path) -> None:
    """Create the file, which must not exist: a capture cannot be repeated.

    Raises:
        InputError: it exists, or cannot be made.
    """
    try:
        file.touch(exist_ok=False)
    except FileExistsError as error:
        raise InputError(f"{file}: exists already; a capture never replaces a file") from error
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}; name a new file for the capture") from error


def _summary(file: Path, profile: str, decoder: Decoder, seconds: float) -> str:
    said = (
        f"{file}: {decoder.offset} bytes in {seconds:.1f} s; as {profile}: {decoder.frames} valid "
        f"frames, {decoder.reports} reports, {decoder.rejected} rejected"
    )
    if decoder.offset and not decoder.frames:
        return f"{said}; wrong baud or wrong profile?"
    return f"{said}; see: baccarat shoe decode --profile {profile} {file}"
