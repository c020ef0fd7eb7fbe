"""`baccarat shoe monitor`: show a shoe's line live, without writing to it."""

import asyncio
import sys
from collections import deque
from collections.abc import Iterable
from typing import Final

import click
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from baccarat.cli.output_files import require_stdout
from baccarat.cli.shoe.decode import document_of, json_line
from baccarat.cli.shoe.line import endpoint_of, line_records, stop_event
from baccarat.cli.shown import add_shown_row, say
from events.clock import Clock, SystemClock
from events.types import ShoeEvent
from shoe_driver.decode import Decoder
from shoe_driver.journal.records import Record, RecordKind
from shoe_driver.profiles.catalogue import load_profile
from shoe_driver.transports.endpoint import Endpoint

__all__ = ["LineMonitor", "monitor"]

_SHOWN_EVENTS: Final = 20
_RATE_OVER_US: Final = 10_000_000
_MICROSECONDS: Final = 1_000_000


@click.command()
@click.option("--profile", required=True, metavar="P", help="wire profile, such as enq-bcc")
@click.option("--json", "as_json", is_flag=True, help="one JSON document for each event")
@click.argument("port")
def monitor(port: str, profile: str, as_json: bool) -> None:
    """Show what is said on PORT, until Ctrl-C; one JSON document a line where nobody watches.

    PORT is a serial port's path or a transport's URL; it is only read, and nobody else may have it:
    of a live table look at `link/shoe` instead.
    """
    require_stdout("what is seen")
    loaded = load_profile(profile)
    endpoint = endpoint_of(port, loaded.serial)
    watched = LineMonitor(Decoder(loaded), SystemClock())
    follow = _lines if as_json or not sys.stdout.isatty() else _screen
    try:
        asyncio.run(follow(watched, endpoint))
    finally:
        say(watched.line(), err=True)


class LineMonitor:
    """Counts of a line while it is monitored.

    Args:
        decoder: fresh, of the profile.
        clock: measures ages and rates.
    """

    def __init__(self, decoder: Decoder, clock: Clock) -> None:
        self._decoder = decoder
        self._clock = clock
        self._newest: deque[ShoeEvent] = deque(maxlen=_SHOWN_EVENTS)
        self._arrivals: deque[tuple[int, int]] = deque()

    def take(self, records: Iterable[Record]) -> list[ShoeEvent]:
        """Return the events that the records decode to."""
        events = []
        for record in records:
            events += self._decoder.feed(record)
            if record.kind is RecordKind.DATA:
                self._arrivals.append((record.mono_us, len(record.payload)))
        self._newest.extend(events)
        return events

    def line(self) -> str:
        """Return the state of the line in one line."""
        decoder, now = self._decoder, self._clock.mono_us()
        while self._arrivals and now - self._arrivals[0][0] > _RATE_OVER_US:
            self._arrivals.popleft()
        rate = sum(size for _, size in self._arrivals) * _MICROSECONDS / _RATE_OVER_US
        heard = decoder.heard_us
        age = "never" if heard is None else f"{(now - heard) / _MICROSECONDS:.1f} s ago"
        copies = "/".join(map(str, decoder.copies)) or "-"
        noise = "; wrong baud or wrong profile?" if decoder.rejected and not decoder.frames else ""
        return (
            f"link {decoder.link.value}, last valid frame {age}; {decoder.frames} frames, "
            f"{decoder.reports} reports, copies {copies}, {decoder.rejected} rejected, "
            f"{decoder.offset} bytes, {rate:.0f} bytes/s{noise}"
        )

    def screen(self) -> Group:
        """Return the newest events above the state of the line."""
        table = Table("seq", "at", "what", "", "bytes")
        for event in self._newest:
            document = document_of(event)
            kind = str(document.pop("kind"))
            said = " ".join(
                f"{key}={value}"
                for key, value in document.items()
                if key not in {"seq", "offset", "raw", "utc"}
            )
            add_shown_row(table, str(event.seq), event.utc[11:23], kind, said, event.raw)
        return Group(table, Text(self.line()))


async def _lines(watched: LineMonitor, endpoint: Endpoint) -> None:
    with stop_event() as stop:
        async for records in line_records(endpoint, SystemClock(), stop):
            sys.stdout.write("".join(map(json_line, watched.take(records))))
            sys.stdout.flush()


async def _screen(watched: LineMonitor, endpoint: Endpoint) -> None:
    with stop_event() as stop, Live(console=Console(), auto_refresh=False) as live:
        async for records in line_records(endpoint, SystemClock(), stop):
            watched.take(records)
            live.update(watched.screen(), refresh=True)
