"""A whole table of processes that are killed at moments a seed draws, and what they leave behind.

Broker, driver, core, screens and cage are processes of their own, with SIGKILL for each. The moment
is a number of frames that the shoe has put on its line, and a moment more: so that a kill falls as
well into what follows a card as between two of its copies.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final

from baccarat.local_brokers.nats import EmbeddedBroker
from cage.ledger.database import parse_ledger_url
from cage.ledger.reading import open_ledger as reading_ledger
from events.errors import InputError, LedgerError
from events.log.reader import reading as reading_log
from events.proof.keys import make_signing_key
from simulators.device.profiles import simulated_form
from simulators.device.pty_port import Pace, PtyPort
from simulators.device.reports import Disclosure
from simulators.faults.registry import FaultPlan
from simulators.people.dealer_and_patrons import Croupier, Game, PlayedCoup
from simulators.shoe.dealing import DealingShoe
from table_core.rulebooks.shipped import load_rulebook
from tests.support.cage.cage_game import acknowledged, newest_settlement
from tests.support.machine.ports import free_port
from tests.support.machine.waiting import until
from tests.support.service.live_table import ORIGIN, LiveTable

_MORE: Final = """\
[data]
new_file = "shoe"

[checkpoints]
key = "table.key"

[displays]
port = {page}

[cage]
"""
_SERVICES: Final = ("shoe", "table", "displays", "cage")
# A card lost costs a person's look, and so time: the driver and the core carry what matters most.
_VICTIMS: Final = (
    ("shoe",),
    ("table",),
    ("table",),
    ("cage",),
    ("displays",),
    ("broker",),
    ("broker wiped",),
    ("shoe", "table"),
    ("table", "cage"),
    ("shoe", "table", "displays", "cage", "broker wiped"),
)
_FRAMES_MOST: Final = 400  # between two kills; a coup has some thirty
_FRAME_S: Final = 0.01  # a frame takes longer than this on a serial line
# Behind the frame, at the most; a settlement is out before the end of it.
_LATER_S: Final = (0.0, 0.0, 0.04)
_AWAY_S: Final = (0.0, 0.0, 0.0, 0.1, 0.6)
_AGAIN: Final = 0.15  # of the killed are killed once more while they start
_STARTING_S: Final = 0.8
_PATIENCE_S: Final = 0.8  # of people, for what they see on the table
_AFTER: Final = 5  # coups in peace when the killing is over
_AT_REST_S: Final = 120.0  # far above what it takes
_LOOK_S: Final = 0.1


@dataclass
class KilledTable:
    """A game that is over, all processes stopped in order.

    Args:
        folder: with all that they kept.
        rulebook: that was played.
        log: the table's.
        ledger: the cage's.
        public: the public key's line.
        played: every coup as it fell.
        killed: how often, by name.
        seconds: that the killing took.
    """

    folder: Path
    rulebook: str
    log: Path
    ledger: Path
    public: str
    played: list[PlayedCoup] = field(default_factory=list)
    killed: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


class _CountedPort(PtyPort):
    """Counts what the shoe puts on its line, and holds it for a moment where somebody waits."""

    def __init__(self, link: Path) -> None:
        super().__init__(link)
        self.over = False
        self._left = 0
        self._reached = asyncio.Event()

    async def write(self, data: bytes, *, pace: Pace | None = None) -> int:
        at = await super().write(data, pace=pace)
        self._left -= 1
        if self._left == 0:
            self._reached.set()
            await asyncio.sleep(_FRAME_S)
        return at

    async def after(self, frames: int) -> None:
        """Wait for so many more of them, or for the end of the game."""
        self._left = frames
        self._reached.clear()
        if not self.over:
            await self._reached.wait()

    def end(self) -> None:
        """Nobody waits any more."""
        self.over = True
        self._reached.set()


class _Processes:
    """The broker and the services."""

    def __init__(self, live: LiveTable, broker: EmbeddedBroker) -> None:
        self._live, self._broker = live, broker

    def start(self, names: Sequence[str]) -> None:
        for name in names:
            if name.startswith("broker"):
                self._broker.restart(wipe=name == "broker wiped")
            else:
                self._live.start(name)

    def kill(self, names: Sequence[str]) -> None:
        self.none_has_ended()
        for name in names:
            if name.startswith("broker"):
                self._broker.kill()
            else:
                self._live.children[name].kill()

    def none_has_ended(self) -> None:
        """A service that ends by itself has refused something, and should not."""
        ended = {name: child.code for name, child in self._live.children.items()}
        assert not any(code is not None for code in ended.values()), (ended, self._live.path)


async def play_and_kill(
    folder: Path,
    *,
    seed: int,
    seconds: float,
    rulebook: str,
    profile: str,
    disclosure: Disclosure,
) -> KilledTable:
    """Play and kill for so long, then a few coups in peace, until everybody has read everything.

    Args:
        folder: an empty one.
        seed: of cards, wagers, victims and moments.
        seconds: of killing.
        rulebook: its id.
        profile: the shoe's.
        disclosure: when it tells the faces.
    """
    public = make_signing_key(folder / "table.key", ORIGIN).verifier
    with EmbeddedBroker.start(folder / "broker") as broker:
        page, port = free_port(), _CountedPort(folder / "line" / "shoe")
        live = LiveTable(
            folder,
            broker.port,
            seed=seed,
            more=_MORE.format(page=page),
            dealing=DealingShoe(seed=seed, disclosure=disclosure, profile=simulated_form(profile)),
            port=port,
            game=Game(
                rulebook=load_rulebook(rulebook),
                faults=FaultPlan(seed, ()),  # somebody repairs, and nothing is planned
                patience_s=_PATIENCE_S,
            ),
        )
        game = KilledTable(
            folder, rulebook, live.log, folder / "cage.sqlite", str(public), live.played
        )
        processes, rng = _Processes(live, broker), random.Random(f"{seed}/kills")
        async with live.at_play(*_SERVICES, beside=(live.shoe.run(),)) as croupier:
            await _play(game, croupier, port, _kill(game, processes, port, rng), seconds)
            await _at_rest(game, processes, page)
        game.refused = croupier.tally.refused
    return game


async def _play(
    game: KilledTable,
    croupier: Croupier,
    port: _CountedPort,
    kill: Coroutine[object, object, None],
    seconds: float,
) -> None:
    now = asyncio.get_running_loop().time
    began = now()
    async with asyncio.TaskGroup() as group:
        killing = group.create_task(kill)
        while now() < began + seconds:
            await croupier.play(croupier.tally.coups + 1)
        port.end()
        await killing
        game.seconds = round(now() - began, 1)
        await croupier.play(croupier.tally.coups + _AFTER)


async def _kill(
    game: KilledTable, processes: _Processes, port: _CountedPort, rng: random.Random
) -> None:
    due: list[tuple[str, ...]] = []
    while not port.over:
        due = due or rng.sample(_VICTIMS, len(_VICTIMS))  # each has its turn
        victims = due.pop()
        await port.after(rng.randint(1, _FRAMES_MOST))
        await asyncio.sleep(rng.uniform(0, rng.choice(_LATER_S)))
        while True:
            processes.kill(victims)
            game.killed.update(victims)
            await asyncio.sleep(rng.choice(_AWAY_S))
            processes.start(victims)
            if rng.random() >= _AGAIN:
                break
            await asyncio.sleep(rng.uniform(0, _STARTING_S))


async def _at_rest(game: KilledTable, processes: _Processes, page: int) -> None:
    """The cage has booked and acknowledged all of it, and the screen shows the last coup."""
    reached: dict[str, Callable[[], bool]] = {
        "booked": lambda: _booked(game.ledger) == _end(game.log),
        "acknowledged": lambda: acknowledged(game.log, "cage") >= newest_settlement(game.log),
        "shown": lambda: _shown(page) == _end(game.log),
    }

    def holds(what: str) -> bool:
        processes.none_has_ended()
        return reached[what]()

    for what in reached:
        holding = partial(asyncio.to_thread, holds, what)
        await until(holding, f"all of it is {what}", _AT_REST_S, every=_LOOK_S)


def _end(log: Path) -> int:
    with reading_log(log) as read:
        return read.end


def _booked(ledger: Path) -> int:
    try:
        with reading_ledger(parse_ledger_url(str(ledger))) as read:
            place = read.cursor(ORIGIN)
    except (InputError, LedgerError):  # it is being made
        return 0
    return place[0] if place else 0


def _shown(page: int) -> int:
    """The position of what a browser that opens the scoreboard is told first; 0 for nothing."""
    connection = HTTPConnection("127.0.0.1", page, timeout=5)
    try:
        connection.request("GET", "/events")
        answer = connection.getresponse()
        lines = [answer.readline() for _ in range(6)]
    except (OSError, HTTPException):
        return 0
    finally:
        connection.close()
    ids = [line[3:].strip() for line in lines if line.startswith(b"id:")]
    return int(ids[0].partition(b"-")[0]) if ids else 0
