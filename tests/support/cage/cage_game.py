"""A whole table of processes with two ledgers that read it over a bad road, and are killed.

One ledger is kept in SQLite and one in PostgreSQL. What goes wrong, and before which coup, is drawn
from a seed.
"""

import asyncio
import random
import sqlite3
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from cage.ledger.database import parse_ledger_url
from cage.ledger.reading import open_ledger
from events.log.reader import reading as reading_log
from events.types.table import CoupSettled
from simulators.people.dealer_and_patrons import Game
from table_core.rulebooks.shipped import load_rulebook
from tests.support.brokers.brokers import Broker
from tests.support.brokers.rough_road import RoughRoad, rough_road
from tests.support.cage.ledgers import STREAM
from tests.support.machine.tasks import background
from tests.support.machine.waiting import until
from tests.support.property.postgres import Postgres
from tests.support.service.live_table import LiveTable
from tests.support.service.second_look import SecondLook

__all__ = ["CageGame", "acknowledged", "newest_settlement", "play_cage_game"]

_USERS = """\
[users]
dealer = ["dealer"]
supervisor = ["supervisor"]
wagers = ["wagers"]
cage = ["cage"]
auditor = ["cage"]
floor = ["supervisor"]
"""
_EVERY_LOOK = 7  # coups, on the average, between two second looks
_CATCH_UP_S = 180.0  # far above what it takes
_LOOK_S = 0.2
_COUP_S = 120.0  # the same
_PAUSE_S = 0.1  # at the most from a coup's end to what goes wrong


@dataclass
class CageGame:
    """A game that is over.

    Args:
        log: the table's log.
        ledgers: user to the ledger's URL.
        coups: played.
        done: what went wrong, how often.
        road: what the road did to messages.
        looks: corrections that were taken.
        refused: corrections that were not.
        played_s: how long it was played, seconds.
        caught_up_s: how long the ledgers took for the rest, seconds.
    """

    log: Path
    ledgers: Mapping[str, str]
    coups: int = 0
    done: Counter[str] = field(default_factory=Counter)
    road: Counter[str] = field(default_factory=Counter)
    looks: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    played_s: float = 0.0
    caught_up_s: float = 0.0


async def play_cage_game(
    folder: Path,
    broker: Broker,
    postgres: Postgres,
    *,
    seed: int,
    coups: int,
    faults: Mapping[str, int],
    rulebook: str,
    away_from: int | None = None,
) -> CageGame:
    """Play it, and wait until both ledgers have read all of the log.

    Args:
        folder: an empty one.
        broker: to be killed and wiped.
        postgres: to be killed.
        seed: of cards, wagers and what goes wrong.
        coups: to play.
        faults: how often: `cage`, `auditor`, `table`, `broker`, `wiped`, `postgres`, `cut`.
        rulebook: its id.
        away_from: behind this coup both ledgers are off until the last has been played.
    """
    rng = random.Random(seed)
    ledgers = {"cage": str(folder / "cage.sqlite"), "auditor": postgres.database()}
    schedule = _drawn(rng, coups, faults)
    if away_from is not None:
        schedule = sorted([*schedule, *((away_from, f"{user} away") for user in ledgers)])
    live = LiveTable(
        folder,
        broker.port,
        seed=rng.randrange(2**32),
        game=Game(rulebook=load_rulebook(rulebook)),
        more=_USERS,
    )
    game = CageGame(live.log, ledgers)
    async with rough_road(rng, broker.port) as road:
        table = _Table(live, broker, postgres, road, game)
        await table.play(rng, coups, schedule)
        game.road = road.counts
    return game


def _drawn(rng: random.Random, coups: int, faults: Mapping[str, int]) -> list[tuple[int, str]]:
    """Behind which coup what goes wrong."""
    names = [name for name, times in faults.items() for _ in range(times)]
    return sorted((rng.randint(1, coups - 1), name) for name in names)


class _Table:
    """The processes, and what is done to them."""

    def __init__(
        self,
        live: LiveTable,
        broker: Broker,
        postgres: Postgres,
        road: RoughRoad,
        game: CageGame,
    ) -> None:
        self._live, self._game = live, game
        self._broker, self._postgres, self._road = broker, postgres, road
        for user, ledger in game.ledgers.items():
            url = f"mqtt://{user}:x@127.0.0.1:{road.port}/{STREAM}"
            options = ["--url", url, "--ledger", ledger, "--patient"]
            live.commands[user] = [sys.executable, "-m", "baccarat", "cage", "run", *options]
        self._newest = 0
        self._away: set[str] = set()

    async def play(self, rng: random.Random, coups: int, faults: list[tuple[int, str]]) -> None:
        live, now = self._live, asyncio.get_running_loop().time
        looks = SecondLook(live.config.bus_settings("floor"), live.config.topics, "floor", rng)
        began = now()
        async with live.at_play("shoe", "table", *self._game.ledgers, beside=(looks.run(),)):
            await self._play(looks, rng, coups, faults)
            self._game.played_s = round(now() - began, 1)
            self._game.coups = live.croupier.tally.coups
            self._game.looks, self._game.refused = looks.done, looks.refused
            self._road.smooth = True
            began = now()
            live.start(*self._away)
            self._newest = newest_settlement(self._game.log)
            for user in self._game.ledgers:
                # Beside the loop, which carries the ledgers' messages.
                all_read = partial(asyncio.to_thread, self._all_read, user)
                await until(all_read, f"{user} has read everything", _CATCH_UP_S, every=_LOOK_S)
            self._game.caught_up_s = round(now() - began, 1)

    async def _play(
        self, looks: SecondLook, rng: random.Random, coups: int, faults: list[tuple[int, str]]
    ) -> None:
        tally, begun = self._live.croupier.tally, 0
        async with background(self._live.croupier.play(coups)) as (playing,):
            while not playing.done():
                await until(
                    lambda begun=begun: tally.coups > begun or playing.done(), "a coup", _COUP_S
                )
                begun = tally.coups
                if rng.randrange(_EVERY_LOOK) == 0:
                    await looks.look()
                while faults and faults[0][0] <= tally.coups:
                    await asyncio.sleep(rng.uniform(0, _PAUSE_S))
                    self._go_wrong(faults.pop(0)[1])
            await playing

    def _go_wrong(self, what: str) -> None:
        self._game.done[what] += 1
        match what:
            case "cut":
                self._road.cut()
            case "broker" | "wiped":
                self._broker.kill()
                self._broker.restart(wipe=what == "wiped")
            case "postgres":
                self._postgres.kill()
                self._postgres.start()
            case "cage away" | "auditor away":
                user = what.partition(" ")[0]
                self._live.children[user].stop()
                self._away.add(user)
            case _:
                self._live.start(what)

    def _all_read(self, user: str) -> bool:
        code = self._live.children[user].code
        assert code is None, f"{user} has ended with code {code}"
        with open_ledger(parse_ledger_url(self._game.ledgers[user])) as ledger:
            place = ledger.cursor(STREAM)
        with reading_log(self._game.log) as log:
            if place is None or place[0] != log.end:
                return False
        return acknowledged(self._game.log, user) >= self._newest


def acknowledged(log: Path, user: str) -> int:
    """How far a cage has acknowledged, by the log of a table that may be at play."""
    with closing(sqlite3.connect(f"file:{log}?mode=ro", uri=True)) as read:
        name = f"consumer/{user}/cage"
        row = read.execute("SELECT position FROM cursor WHERE name = ?", (name,)).fetchone()
    return int(row[0]) if row else 0


def newest_settlement(log: Path) -> int:
    """Its position."""
    with reading_log(log) as read:
        return max(each.position for each in read.read() if each.type == CoupSettled.TYPE)
