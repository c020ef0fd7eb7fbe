"""`baccarat sim casino`: play many tables on this machine, and measure their resources."""

import asyncio
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click
import msgspec

from baccarat.cli.output_files import require_stdout
from baccarat.cli.value_types import FiniteFloatRange
from baccarat.demo.many_tables import BrokerKind, Pit
from baccarat.services.registry import configure_logging, unwrapped_errors
from benchmarks.casino.tables import Crowd, CrowdConditions, SettledCoup, measure_crowd
from simulators.people.casino import Casino, TableAddress
from simulators.people.dealer_and_patrons import PlayedCoup

__all__ = ["PACE", "casino", "play_casino"]

_SEED: Final = 20261127
PACE: Final = 70.0
"""Coups an hour of a live table."""

_SECONDS: Final = 60
_HOUR_S: Final = 3_600.0
_FOLDER: Final = click.Path(exists=True, file_okay=False, writable=True, path_type=Path)


@click.command(short_help="many tables, and what they take")
@click.option("--tables", type=click.IntRange(min=1, max=2_000), required=True, help="How many.")
@click.option("--coups-an-hour", type=FiniteFloatRange(min=1), default=PACE, show_default=True,
              help="That each of them plays, at speed 1.")  # fmt: skip
@click.option("--seconds", type=click.IntRange(min=1), default=_SECONDS, show_default=True,
              help="For how long to measure, once every table plays.")  # fmt: skip
@click.option("--speed", type=FiniteFloatRange(min=0, max=1000), default=1.0, show_default=True,
              help="1 is a live table's pace, 2 twice as fast, 0 as fast as it goes.")  # fmt: skip
@click.option("--broker", type=click.Choice(["mosquitto", "nats"]), default="mosquitto",
              show_default=True, help="The distribution's, or our own.")  # fmt: skip
@click.option("--data", type=_FOLDER, help="On the disk to use; else the temporary folder.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document, on stdout.")
def casino(
    tables: int,
    coups_an_hour: float,
    seconds: int,
    speed: float,
    broker: BrokerKind,
    data: Path | None,
    *,
    as_json: bool,
) -> int:
    """Play at many tables: one broker, one process a service for all of them.

    Ends with 1 where a settlement did not reach the subscriber.
    """
    require_stdout("what was measured")
    configure_logging("casino", quiet=True)
    with tempfile.TemporaryDirectory(prefix="baccarat-casino-", dir=data) as folder:
        found = play_casino(
            tables,
            Path(folder),
            seconds,
            coups_an_hour=coups_an_hour,
            speed=speed,
            broker=broker,
        )
    if as_json:
        sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
    else:
        _print(found)
    return 1 if found.unseen else 0


def play_casino(
    tables: int,
    folder: Path,
    seconds: float,
    *,
    coups_an_hour: float = PACE,
    speed: float = 1.0,
    broker: BrokerKind = "mosquitto",
    advance: Callable[[int], object] = lambda _: None,
) -> Crowd:
    """Play at so many tables, and measure for so many seconds once all of them play.

    Args:
        tables: how many.
        folder: empty, for everything durable.
        seconds: to measure.
        coups_an_hour: of each table, at speed 1.
        speed: of everything, 1 is a live table's pace, 0 as fast as possible.
        broker: the kind of broker.
        advance: called with the number of seconds measured.

    Raises:
        TableError: a service ended, a table could not be played at, or (Unseen) the machine has no
            time for so many.
    """
    with Pit(tables, folder, broker) as pit, unwrapped_errors():
        period_s = _HOUR_S / (coups_an_hour * speed) if speed else 0.0
        return asyncio.run(_played(pit, folder, seconds, speed, period_s, advance))


class _Played:
    """Gives the casino the interface of `benchmarks.casino.tables.Tables`."""

    def __init__(self, pit: Pit, period_s: float, speed: float) -> None:
        places = [
            TableAddress(
                settings=each.bus_settings("croupier"), topics=each.topics, link=pit.link(each)
            )
            for each in pit.configs
        ]
        self._pit = pit
        self._settled: list[SettledCoup] = []
        self.casino = Casino(places, seed=_SEED, period_s=period_s, speed=speed, on_coup=self._note)

    async def run(self) -> None:
        with self.casino:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pit.watch())
                group.create_task(self.casino.run())

    @property
    def begun(self) -> int:
        return self.casino.begun

    def taken(self) -> list[SettledCoup]:
        settled, self._settled = self._settled, []
        return settled

    def _note(self, place: TableAddress, coup: PlayedCoup) -> None:
        if coup.phase == "settled":
            settled = SettledCoup(place.topics.settlement, coup.coup, coup.dealt.decided_ns)
            self._settled.append(settled)


async def _played(
    pit: Pit,
    folder: Path,
    seconds: float,
    speed: float,
    period_s: float,
    advance: Callable[[int], object],
) -> Crowd:
    under = CrowdConditions(
        topics=[each.topics for each in pit.configs],
        pids=pit.pids,
        broker_port=pit.broker.port,
        folder=folder,
        seconds=seconds,
        coups_an_hour=_HOUR_S / period_s if period_s else 0.0,
    )
    return await measure_crowd(_Played(pit, period_s, speed), under, advance)


def _print(found: Crowd) -> None:
    click.echo(f"{found.tables} tables, {found.coups_an_hour:g} coups an hour each")
    click.echo(f"{found.coups} coups settled in {found.seconds:g} s, {found.unseen} not seen")
    click.echo(f"settled after  p50 {found.p50_ms:g} ms  p99 {found.p99_ms:g} ms")
    disk = f"p99 {found.disk_p99_ms:g} ms, at most {found.disk_most_ms:g} ms"
    click.echo(f"a forced write to the disk meanwhile  {disk}")
    for name, taken in found.processor.items():
        memory = f"{found.memory_mb[name]:.0f} MB" if name in found.memory_mb else ""
        click.echo(f"  {name:8} {taken:6.3f} of a processor  {memory}")
    click.echo(f"{found.table_mb:g} MB of the services' memory a table; load {found.load:g}")
