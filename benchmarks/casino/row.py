"""The row `casino` of `baccarat bench`: one table, then crowds of them, one after the other."""

from typing import Final

from baccarat.demo.machine import DemoBroken
from baccarat.local_brokers.mosquitto import find_mosquitto
from benchmarks.casino.command import PACE, play_casino
from benchmarks.casino.figures import SIZES, casino_figures
from benchmarks.casino.tables import Crowd
from benchmarks.instruments.figures import Figure
from benchmarks.instruments.watch import NotSeenInTime
from benchmarks.rows import BenchOptions, Unmeasurable
from events.errors import InputError
from simulators.people.console import RequestRefused

__all__ = ["measure"]

# One table alone would take an hour for seventy samples.
_HURRY: Final = 40.0
_HOUR_S: Final = 3_600.0
_SECONDS_LEAST: Final = 20.0
_SECONDS_MOST: Final = 60.0


def measure(options: BenchOptions) -> list[Figure]:
    """Measure crowds of 1, 50, 200 and 1,000 tables; `options.events` leaves out larger ones.

    Raises:
        Unmeasurable: there is no mosquitto.
    """
    try:
        find_mosquitto()
    except InputError as error:
        raise Unmeasurable(str(error)) from error
    most = options.events or SIZES[-1]
    left_out = f"left out by --events {most}"
    return casino_figures(
        {size: _crowd(options, size) if size <= most else left_out for size in SIZES}
    )


def _crowd(options: BenchOptions, tables: int) -> Crowd | str:
    speed = _HURRY if tables == 1 else 1.0
    wanted = options.samples * _HOUR_S / (tables * PACE * speed)
    seconds = round(max(_SECONDS_LEAST, min(_SECONDS_MOST, wanted)))
    with (
        options.folder() as folder,
        options.progress(f"seconds at {tables} tables", seconds) as advance,
    ):
        try:
            return play_casino(tables, folder, seconds, speed=speed, advance=advance)
        except (DemoBroken, RequestRefused, NotSeenInTime) as error:
            return str(error)
