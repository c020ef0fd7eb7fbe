"""`baccarat practice`: a table on this machine whose dealer is the person at the console."""

import asyncio
import secrets
import sys
from pathlib import Path

import click
from rich.console import Console

from baccarat.cli.shoe.line import stop_event
from baccarat.demo.machine import DemoOptions, Machine
from baccarat.practice.button import ButtonPage
from baccarat.practice.session import Practice
from baccarat.services.registry import configure_logging, unwrapped_errors
from simulators.shoe.cue import Cue, key_cues

__all__ = ["practice"]


@click.command()
@click.option("--coups", type=click.IntRange(min=1), metavar="N",
              help="Practise so many coups; else until Ctrl-C.")  # fmt: skip
@click.option("--seed", type=int, help="Of cards and lessons; else one is drawn and told.")
@click.option("--rulebook", default="au-commission", show_default=True,
              help="A shipped one, or a file.")  # fmt: skip
@click.option("--profile", default="enq-bcc", show_default=True, help="Wire profile of the shoe.")
@click.option("--data", type=click.Path(path_type=Path), help="Folder for all that is kept.")
@click.option("--port", type=click.IntRange(1, 65535), help="The page's port on loopback.")
def practice(
    coups: int | None,
    seed: int | None,
    rulebook: str,
    profile: str,
    data: Path | None,
    port: int | None,
) -> None:
    """Deal yourself: you are the dealer, the shoe deals when told, and a coach watches."""
    options = DemoOptions(
        rounds=None,
        seed=secrets.randbelow(10**6) if seed is None else seed,
        speed=1.0,
        rulebook=rulebook,
        profile=profile,
        disclosure="immediate",
        data=data,
        port=port,
        people={"you": ("dealer", "supervisor")},
    )
    configure_logging("practice", quiet=True)
    out = Console(highlight=False, soft_wrap=True)
    with Machine(options) as machine, unwrapped_errors():
        out.print(f"Seed {options.seed}; everything is kept in {machine.data}")
        out.print(f"Your console: {machine.address}dealer as you, password {machine.password}")
        asyncio.run(_practise(options, machine, out, coups))


async def _practise(
    options: DemoOptions, machine: Machine, out: Console, coups: int | None
) -> None:
    cue = Cue()
    button = ButtonPage(cue)

    def say(line: str) -> None:
        out.print(line, markup=False)
        button.say(line)

    async with await button.start():
        out.print(f"The shoe's button: {button.address} (or the Enter key here)")
        sys.stdout.flush()
        with stop_event() as stop, key_cues(cue):
            session = asyncio.ensure_future(Practice(options, machine, say, cue).run(coups))
            stopping = asyncio.ensure_future(stop.wait())
            await asyncio.wait({session, stopping}, return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            session.cancel()
            await asyncio.gather(session, return_exceptions=not session.done())
