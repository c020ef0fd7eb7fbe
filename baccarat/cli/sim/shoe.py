"""`baccarat sim shoe`: a dealing shoe on a pseudo-terminal, for any program that reads one.

It deals by itself, as a dealer would who follows only the draw table. It prints what really
happened on stdout, so that you can compare the reader's log with it.
"""

import asyncio
import secrets
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Final, cast

import click
import msgspec

from baccarat.cli.output_files import require_stdout
from baccarat.cli.shoe.line import stop_event
from baccarat.cli.value_types import FiniteFloatRange
from events.errors import InputError
from events.free_text import whole_number
from simulators.device.profiles import PROFILES, simulated_profile
from simulators.device.reports import Disclosure
from simulators.faults.registry import FAULTS, OF_A_TABLE, parse_faults
from simulators.shoe.cue import Cue, key_cues, message_cues
from simulators.shoe.standalone import ShoeRecord, StandaloneShoe

__all__ = ["shoe"]

_LIST: Final = "list"
_LAST_PORT: Final = 65535


@click.command()
@click.option("--link", type=click.Path(path_type=Path), metavar="PATH",
              help="Where the reader finds the port; made, and removed at the end.")  # fmt: skip
@click.option("--profile", default="enq-bcc", show_default=True,
              help=f"What it speaks: {', '.join(PROFILES)}.")  # fmt: skip
@click.option("--seed", type=int, help="Of cards and whims; else one is drawn and told.")
@click.option("--coups", type=click.IntRange(min=1), metavar="N",
              help="Deal so many coups; else until Ctrl-C.")  # fmt: skip
@click.option("--speed", type=FiniteFloatRange(min=0, max=1000), default=1.0, show_default=True,
              help="1 is a live table's pace, 0 as fast as the line takes it.")  # fmt: skip
@click.option("--disclosure", type=click.Choice(["immediate", "deferred"]), default="immediate",
              show_default=True, help="When it tells the faces.")  # fmt: skip
@click.option("--faults", default="", metavar="LIST",
              help="What goes wrong: all, or names with commas; `list` tells them.")  # fmt: skip
@click.option("--wait", "waits", metavar="key|udp:PORT",
              help="Wait before each card for the Enter key, or for a datagram.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="A JSON document a line, on stdout.")
def shoe(link: Path | None, faults: str, waits: str | None, as_json: bool, **given: object) -> None:
    """Deal from a simulated shoe until Ctrl-C, or for N coups, once a reader has opened PATH."""
    form = simulated_profile(str(given["profile"]))
    if faults == _LIST:
        click.echo(_table(form.unfit), nl=False)
        return
    if link is None:
        raise InputError("--link PATH is missing; name the path where the reader finds the port")
    require_stdout("what is dealt")
    seed, cue = given["seed"], Cue() if waits else None
    port = _port_of(waits)
    made = StandaloneShoe(
        link.absolute(),
        profile=form.id,
        disclosure=cast(Disclosure, given["disclosure"]),
        seed=secrets.randbelow(10**6) if seed is None else cast(int, seed),
        speed=cast(float, given["speed"]),
        faults=parse_faults(faults, form.unfit | OF_A_TABLE) if faults else (),
        tell=_print_json if as_json else _print_text,
        cue=cue.wait if cue else None,
    )
    asyncio.run(_deal(made, cast("int | None", given["coups"]), cue, port))


def _port_of(waits: str | None) -> int | None:
    """Return the UDP port of `--wait`; None for the key, or where nothing is waited for.

    Raises:
        InputError: it is neither.
    """
    if waits in {None, "key"}:
        return None
    kind, _, number = str(waits).partition(":")
    port = whole_number(number, _LAST_PORT) if kind == "udp" else None
    if not port:
        raise InputError(f"--wait {waits}: write key, or udp:PORT")
    return port


async def _deal(made: StandaloneShoe, coups: int | None, cue: Cue | None, port: int | None) -> None:
    with ExitStack() as stack:
        stop = stack.enter_context(stop_event())
        if cue is not None and port is None:
            stack.enter_context(key_cues(cue))
        elif cue is not None and port is not None:
            stack.callback((await message_cues(cue, port)).close)
        dealing = asyncio.ensure_future(made.run(coups))
        stopping = asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait({dealing, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            dealing.cancel()
            await asyncio.wait({dealing})
        if not dealing.cancelled():
            dealing.result()


def _table(unfit: frozenset[str]) -> str:
    width = max(map(len, FAULTS))
    return "".join(
        f"{name:{width}}  {meaning}{' (of a whole table only)' if name in OF_A_TABLE else ''}\n"
        for name, meaning in FAULTS.items()
        if name not in unfit
    )


def _print_json(said: ShoeRecord) -> None:
    sys.stdout.write(msgspec.json.encode(said).decode() + "\n")
    sys.stdout.flush()


def _print_text(said: ShoeRecord) -> None:
    words = {key: value for key, value in said.items() if key not in {"what", "shoe", "coup"}}
    where = f"{said.get('shoe', '')}/{said['coup']}" if "coup" in said else said.get("shoe", "")
    rest = " ".join(f"{key}={_word(value)}" for key, value in words.items())
    sys.stdout.write(f"{where:14} {said['what']:10} {rest}".rstrip() + "\n")
    sys.stdout.flush()


def _word(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
