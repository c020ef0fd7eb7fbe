"""`baccarat shoe conform`: hold a shoe to its profile, and write a page to sign and keep."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import click
import msgspec

from baccarat.cli.main import EXIT_DONE, EXIT_NO
from baccarat.cli.output_files import write_whole
from baccarat.cli.shoe.input import read_capture
from baccarat.cli.shoe.line import endpoint_of, line_records, stop_event
from baccarat.cli.shown import say
from baccarat.cli.value_types import FiniteFloatRange
from baccarat.conformance.rules import RULES
from baccarat.conformance.session import Conformance, ConformanceSession
from baccarat.pages.printed import page_template
from events.clock import Clock, SystemClock, rfc3339
from events.errors import InputError, LinkError
from shoe_driver.journal.files import Journal
from shoe_driver.journal.records import Record, RecordKind
from shoe_driver.profiles.catalogue import load_profile, profile_text
from shoe_driver.profiles.profile import Profile
from shoe_driver.transports.endpoint import Endpoint

__all__ = ["conform", "conform_page", "live_records"]

_FEW = 3  # of what is still to do, shown at a time
_AGAIN_S = 0.5  # between two tries to open a line that was lost


@click.command()
@click.option("--profile", required=True, metavar="P", help="wire profile, such as enq-bcc")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="write the page to sign here")
@click.option("--seconds", type=FiniteFloatRange(min=0, min_open=True), help="end after so long")
@click.option("--json", "as_json", is_flag=True, help="one JSON document on stdout")
@click.argument("source", metavar="PORT|CAPTURE")
def conform(
    source: str, profile: str, output: Path | None, seconds: float | None, *, as_json: bool
) -> int:
    """Audit a shoe on PORT, or a CAPTURE of one, by its profile.

    Of a port the command says what to do next (power, burn, deal, squeeze, jam, unplug), until
    Ctrl-C. It acknowledges or asks as the profile says. With -o it keeps the journal too, as
    FILE.journal next to the page. Exit code 0: no rule was broken; 1: one was.
    """
    loaded = load_profile(profile)
    session = ConformanceSession(loaded)
    if source == "-" or Path(source).is_file():
        capture = read_capture(source)
        if capture.records:
            session.feed(capture.records)
        else:
            session.feed_bare(capture.data)
    else:
        asyncio.run(_walk(source, profile, loaded, session, output, seconds))
    outcome = session.finish()
    if output is not None:
        page = conform_page(outcome, loaded, source, rfc3339(SystemClock().utc_ns()))
        write_whole(output, page.encode(), "-o")
    if as_json:
        click.echo(msgspec.json.encode(outcome.document()))
    else:
        _tell(outcome, output)
    return EXIT_DONE if outcome.ok else EXIT_NO


def conform_page(outcome: Conformance, profile: Profile, source: str, written: str) -> str:
    """Return the page to sign.

    Args:
        outcome: of the session.
        profile: the shoe's.
        source: the port's or the capture's name.
        written: when, RFC 3339.
    """
    template = page_template("conform.html", {})
    return template.render(
        outcome=outcome, profile=profile, source=source, written=written, rules=RULES
    )


async def _walk(
    port: str,
    name: str,
    profile: Profile,
    session: ConformanceSession,
    output: Path | None,
    seconds: float | None,
) -> None:
    """Follow a port, store what comes where a page is kept, and say what to do next."""
    clock: Clock = SystemClock()
    endpoint = endpoint_of(port, profile.serial)
    journal = None
    if output is not None:
        kept = output.with_name(f"{output.name}.journal")
        if kept.exists():
            raise InputError(f"{kept}: exists already; a journal never replaces a file")
        journal = Journal.create_file(kept, output.stem, profile_text(name), clock)
    asked: tuple[str, ...] = ()
    try:
        with stop_event(seconds) as stop:
            async for records in live_records(endpoint, clock, stop, session):
                if journal is not None and records:
                    journal.append(records)
                session.feed(records)
                if (waiting := session.waiting[:_FEW]) != asked:
                    asked = waiting
                    say(f"next: {'; '.join(asked) or 'nothing more; end with Ctrl-C'}", err=True)
    finally:
        if journal is not None:
            journal.close()


async def live_records(
    endpoint: Endpoint, clock: Clock, stop: asyncio.Event, session: ConformanceSession
) -> AsyncIterator[list[Record]]:
    """Yield records of the line, and open it again when it was lost: a cable is to be pulled.

    The device hears what the session's decoder has to say, and half a frame does not wait for ever.

    Raises:
        LinkError: it cannot be opened the first time.
    """
    opened = held = False
    while not stop.is_set():
        try:
            async for records in line_records(endpoint, clock, stop, session.host):
                opened = held = True
                now_us = clock.mono_us()
                if not records and session.is_quiet(now_us):
                    records.append(Record(RecordKind.QUIET, now_us, clock.utc_ns(), b""))
                yield records
        except LinkError as error:
            if not opened:
                raise
            if held:
                reason = str(error).encode()
                yield [Record(RecordKind.CLOSE, clock.mono_us(), clock.utc_ns(), reason)]
            held = False
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_AGAIN_S):
                    await stop.wait()
        else:
            return


def _tell(outcome: Conformance, output: Path | None) -> None:
    for fault in outcome.faults:
        say(f"{fault.rule} at byte {fault.at}: {fault.text}")
    say(f"seen: {', '.join(outcome.seen) or 'nothing'}")
    say(f"never seen: {', '.join(outcome.never_seen) or 'nothing that the profile can show'}")
    verdict = "no rule was broken" if outcome.ok else f"{len(outcome.faults)} faults"
    say(f"{outcome.events} events: {verdict}")
    if output is not None:
        say(f"{output}: written, to print and sign")
