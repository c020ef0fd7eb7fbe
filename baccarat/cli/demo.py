"""`baccarat demo`: run a whole table on this machine."""

import asyncio
import secrets
import sys
from pathlib import Path
from typing import Final, cast

import click
import msgspec
from rich.console import Console

from baccarat.cli.value_types import FiniteFloatRange
from baccarat.demo.counters import DemoStatistics
from baccarat.demo.machine import DemoOptions, Machine
from baccarat.demo.play import DemoResult, GameObserver, play
from baccarat.demo.screen import LineScreen, LiveScreen, print_summary
from baccarat.demo.spectator import Spectator
from baccarat.services.registry import configure_logging, unwrapped_errors
from events.money import Currency
from simulators.device.profiles import simulated_form, simulated_profile
from simulators.device.reports import Disclosure
from simulators.faults.registry import parse_faults

__all__ = ["demo"]

_EXIT_INTERRUPTED: Final = 130


@click.command()
@click.option("--rounds", type=click.IntRange(min=1), help="Play so many coups; else until Ctrl-C.")
@click.option("--seed", type=int, help="Of cards, wagers and whims; else one is drawn and told.")
@click.option("--speed", type=FiniteFloatRange(min=0, max=1000), default=1.0, show_default=True,
              help="1 is a live table's pace, 0 as fast as it goes.")  # fmt: skip
@click.option("--rulebook", default="au-commission", show_default=True,
              help="A shipped one, or a file.")  # fmt: skip
@click.option("--profile", default="enq-bcc", show_default=True, help="Wire profile of the shoe.")
@click.option("--disclosure", type=click.Choice(["immediate", "deferred"]), default="immediate",
              show_default=True, help="When the shoe tells the faces.")  # fmt: skip
@click.option("--faults", default="", metavar="LIST",
              help="What goes wrong: all, or names with commas between them.")  # fmt: skip
@click.option("--data", type=click.Path(path_type=Path), help="Folder for all that is kept.")
@click.option("--port", type=click.IntRange(1, 65535), help="The page's port on loopback.")
@click.option("--mqtt-port", type=click.IntRange(1, 65535), help="The broker's port on loopback.")
@click.option("--json", "as_json", is_flag=True, help="One document on stdout at the end.")
def demo(as_json: bool, **given: object) -> int:
    """Play a whole table on this machine: broker, shoe, driver, table, screens, patrons, cage."""
    seed, faults = given.pop("seed"), str(given.pop("faults"))
    form = simulated_profile(simulated_form(str(given["profile"])))
    form.device(cast(Disclosure, given["disclosure"]))
    chosen = {
        "seed": secrets.randbelow(10**6) if seed is None else seed,
        "faults": parse_faults(faults, form.unfit) if faults else (),
    }
    options = msgspec.convert(
        given | chosen,
        DemoOptions,
        dec_hook=lambda kind, value: kind(value),
    )
    configure_logging("demo", quiet=True)
    out = Console(stderr=as_json)
    with Machine(options) as machine:
        out.print(
            f"Seed {options.seed}; everything is kept in {machine.data}; "
            f"MQTT on 127.0.0.1:{machine.table.bus.port}, topics {machine.table.topics.root}/#",
            soft_wrap=True,
        )
        out.print(f"The table's screen: {machine.address}", soft_wrap=True, highlight=False)
        if machine.password is not None:
            out.print(
                f"Consoles: {machine.address}console as dealer or supervisor, password "
                f"{machine.password}",
                soft_wrap=True,
                highlight=False,
            )
        ledger = DemoStatistics()
        onlooker = _observer(machine, ledger, out, options)
        with unwrapped_errors():
            played = asyncio.run(play(options, machine, ledger, onlooker))
    return _print_result(played, options, out, machine.rulebook.money, as_json=as_json)


def _observer(
    machine: Machine,
    ledger: DemoStatistics,
    out: Console,
    options: DemoOptions,
) -> GameObserver:
    spectator = Spectator(machine.table.bus_settings("spectator"), machine.table.topics)
    if out.is_terminal:
        title = f"baccarat {machine.table.rulebook}, {options.disclosure} disclosure"
        return LiveScreen(spectator, ledger, out, title)
    return LineScreen(spectator, out.file, machine.rulebook.money)


def _print_result(
    played: DemoResult, options: DemoOptions, out: Console, currency: Currency, *, as_json: bool
) -> int:
    if as_json:
        sys.stdout.write(msgspec.json.encode(played.summary).decode() + "\n")
    else:
        print_summary(out, played.summary, currency)
    # Without a number of rounds, Ctrl-C is the normal end.
    return _EXIT_INTERRUPTED if played.interrupted and options.rounds is not None else 0
