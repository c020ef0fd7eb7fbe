"""`baccarat sim wagers-feed` and `display-feed`: the kits for a source of wagers and a display."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click
import msgspec

from baccarat.cli.main import EXIT_DONE, EXIT_NO
from baccarat.cli.shown import say
from baccarat.cli.sim.cage_feed import kit_options, load_keys
from events.clock import SystemClock
from events.errors import InputError
from events.mqtt.bus import BusSettings
from events.mqtt.topics import Topics
from simulators.conformance.feeds import DisplayFeed, ProgramResult, WagerFeed
from simulators.conformance.log import make_steps
from simulators.conformance.screens import read_screen
from simulators.conformance.wagers import FAULTS, read_placed

__all__ = ["display_feed", "wagers_feed"]

_FILE: Final = click.Path(dir_okay=False, path_type=Path)
_T = TypeVar("_T")


@click.command("wagers-feed")
@kit_options("source", "wagers", patience_s=15.0)
@click.option(
    "--placed",
    type=_FILE,
    required=True,
    metavar="FILE",
    help='What it shows as placed: {"placed": ["wagers/w-901/0"]}.',
)
@click.option(
    "--message-key",
    metavar="FILE",
    type=_FILE,
    help="The source's message keys: its requests must be proved.",
)
def wagers_feed(
    *,
    settings: BusSettings,
    topics: Topics,
    rulebook: Any,
    user: str,
    placed: Path,
    message_key: Path | None,
    **how: Any,
) -> int:
    """Open betting to a source of wagers, lose requests and answers, and look at what it shows.

    Start the source on bac/v1/lab/t1 with the login `wagers` before or after. It places wagers in
    each coup, asks again where no answer comes, and writes what is placed into the file. Exit code
    0 when all of that is right, 1 when it is not.
    """
    made = WagerFeed(
        settings,
        topics,
        user,
        make_steps(len(FAULTS), topics, rulebook),
        clock=SystemClock(),
        look=_reader(placed, read_placed),
        keys=load_keys(message_key, topics),
    )
    return _judge(made.run, "source of wagers", **how)


@click.command("display-feed")
@kit_options("display", "display", patience_s=15.0)
@click.option(
    "--shown",
    type=_FILE,
    required=True,
    metavar="FILE",
    help='What it shows: {"live": true, "position": 242, "player": ["QD", null], ...}.',
)
def display_feed(
    *, settings: BusSettings, topics: Topics, rulebook: Any, user: str, shown: Path, **how: Any
) -> int:
    """Show two coups to a display, end the heartbeat, and look at what it shows.

    Start the display on bac/v1/lab/t1 with the login `display` before or after. It writes what it
    shows into the file. Exit code 0 when each screen is right, 1 when one is not.
    """
    made = DisplayFeed(
        settings,
        topics,
        user,
        make_steps(2, topics, rulebook),
        clock=SystemClock(),
        look=_reader(shown, read_screen),
    )
    return _judge(made.run, "display", **how)


def _reader(path: Path, read: Callable[[bytes], _T]) -> Callable[[], Awaitable[_T | None]]:
    """Return a reader of a file: None while there is none, or while it is being written."""

    def content() -> _T | None:
        try:
            return read(path.read_bytes())
        except (FileNotFoundError, InputError):
            return None

    async def look() -> _T | None:
        return await asyncio.to_thread(content)

    return look


def _judge(
    run: Callable[..., Any], program: str, *, wait_s: float, patience_s: float, as_json: bool
) -> int:
    if not as_json:
        say(f"waiting for the {program} ...", err=True)
    found: ProgramResult = asyncio.run(run(wait_s=wait_s, patience_s=patience_s))
    if as_json:
        click.echo(msgspec.json.encode(found))
    elif found.ok:
        say(f"The {program} is right, in {found.steps} steps.")
    else:
        say(f"The {program} is WRONG, after {found.steps} steps: {found.first_difference}")
    return EXIT_DONE if found.ok else EXIT_NO
