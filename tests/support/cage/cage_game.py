"""A whole table of processes with two ledgers that read it over a bad road, and are killed.

One ledger is kept in SQLite and one in PostgreSQL. What goes wrong, and before which coup, is drawn
from a seed; afterwards each ledger is held against the log, by sums that know nothing of its code.
"""

import asyncio
import random
import sqlite3
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median

import msgspec

from benchmarks.instruments.postgres import Postgres
from cage.ledger.database import parse_ledger_url
from cage.ledger.reading import Filter, open_ledger
from events.commands import Ack, Command, CorrectHands, CorrectWager, VoidCoup, WagerRequest
from events.log.reader import reading as reading_log
from events.mqtt.bus import BusSettings
from events.mqtt.messages import Message
from events.mqtt.topics import Topics
from events.types import CoupSettled, Settlement, decode_data
from simulators.people.console import Console, refused
from simulators.people.dealer_and_patrons import Game, PlayedCoup
from table_core.process.alarm_publisher import AlarmNotice
from table_core.rulebooks.shipped import load_rulebook
from tests.support.brokers.brokers import Broker
from tests.support.brokers.relay import relayed
from tests.support.brokers.rough_road import RoughRoad
from tests.support.cage.consumers import seats_of, settlements_of
from tests.support.cage.ledgers import STREAM, agrees
from tests.support.machine.processes import peak_kilobytes
from tests.support.machine.tasks import background
from tests.support.machine.waiting import until
from tests.support.service.live_table import LiveTable
from tests.support.service.table_service import Published

_RECENT = 40  # coups back
_FOUR = 4  # cards of a coup in which both hands can change places by the rules
_STEP = 500


class SecondLook:
    """See the module.

    Args:
        settings: the broker.
        topics: the table.
        user: a login with the role `supervisor`.
        rng: of what is found out.
    """

    def __init__(
        self, settings: BusSettings, topics: Topics, user: str, rng: random.Random
    ) -> None:
        self.done: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self._user, self._rng = user, rng
        self._settled: dict[str, Settlement] = {}
        self._asked = 0
        self._console = Console(
            settings, topics, (user,), subscriptions={topics.settlement: self._heard}
        )

    async def run(self) -> None:
        """Hold the connection for ever, until cancelled."""
        await self._console.run()

    async def look(self) -> None:
        """Look once more at a coup of late."""
        coups = list(self._settled.values())[-_RECENT:]
        if not coups:
            return
        command = self._found(self._rng.choice(coups))
        answer = await self._console.request(self._user, command)
        if refused(answer):
            self.refused[answer.code or ""] += 1
        else:
            self.done[type(command).__name__] += 1

    async def _heard(self, message: Message) -> None:
        raw = msgspec.json.decode(message.payload, type=Published)
        event = decode_data(raw)
        assert isinstance(event, CoupSettled)
        if event.settlement.phase == 2:
            self._settled[event.coup] = event.settlement

    def _found(self, settled: Settlement) -> Command:
        self._asked += 1
        transaction, coup = f"look-{self._asked}", settled.coup
        cards = len(settled.player) + len(settled.banker)
        what = self._rng.random()
        if what < 0.2 or not settled.lines:
            return VoidCoup(transaction=transaction, coup=coup, reason="a wrong shoe")
        if what < 0.6 and cards == _FOUR:
            return CorrectHands(
                transaction=transaction,
                coup=coup,
                player=settled.banker,
                banker=settled.player,
                reason="the hands lay the other way round",
            )
        line = self._rng.choice(settled.lines)
        to = None
        if self._rng.random() < 0.8:
            stake = _STEP * self._rng.randint(1, 50)
            to = WagerRequest(seat=line.seat, bet=line.bet, stake=stake)
        return CorrectWager(
            transaction=transaction, coup=coup, wager=line.wager, to=to, reason="the camera"
        )


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
    async with relayed(RoughRoad(rng, broker.port)) as road:
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


_IN_HAND = frozenset({"seat", "tokes", "collected", "recovered"})


def proved(url: str, log: Path, user: str) -> list[Settlement]:
    """The settlements of the log, each of them booked once, and acknowledged by `user`.

    Args:
        url: the ledger's.
        log: of a table that has ended.
        user: under whose name the ledger read.
    """
    agrees(url, log)
    settlements = settlements_of(log)
    with open_ledger(parse_ledger_url(url)) as ledger:
        entries = list(ledger.entries(Filter(table=STREAM)))
        hands: Counter[str] = Counter()
        for each in ledger.balances(Filter(table=STREAM), by="seat"):
            for account in _IN_HAND & each.accounts.keys():
                hands[each.key] += each.accounts[account]
    assert all(sum(posting.amount for posting in entry.postings) == 0 for entry in entries)
    booked = Counter(entry.ref for entry in entries if entry.kind == "coup_settled")
    assert booked == Counter(each.settlement_id for each in settlements)
    backs = Counter(entry.reverses for entry in entries if entry.kind == "reversal")
    assert backs == Counter(each.reverses for each in settlements if each.reverses)
    # Two ways to what every seat has lost: what revisions say that they change, and what stands.
    by_difference = {seat: of["staked"] - of["paid"] for seat, of in seats_of(settlements).items()}
    assert by_difference == _standing(settlements)
    assert {s: n for s, n in hands.items() if n} == {s: n for s, n in by_difference.items() if n}
    assert acknowledged(log, user) >= newest_settlement(log)
    return settlements


def _standing(settlements: list[Settlement]) -> dict[str, int]:
    back = {each.reverses for each in settlements}
    seats: defaultdict[str, int] = defaultdict(int)
    for each in settlements:
        for line in each.lines if each.settlement_id not in back else ():
            seats[str(line.seat)] += (0 if line.kind == "promo" else line.stake) - line.paid
    named = {str(line.seat) for each in settlements for line in each.lines}
    return {seat: seats[seat] for seat in named}


_ALARM = "settlement_unacknowledged"


@dataclass
class SilentCage:
    """What was measured, first beside a cage that acknowledges, then beside one that does not.

    Args:
        median_ms: from the deciding frame to the settlement on the bus, milliseconds.
        grown_kb: by how much the table's peak memory grew.
        rung: what was told of the alarm.
    """

    median_ms: list[float] = field(default_factory=list)
    grown_kb: list[int] = field(default_factory=list)
    rung: list[str] = field(default_factory=list)


class _Cage:
    """Hears the settlements, and acknowledges them while it speaks."""

    def __init__(self, settings: BusSettings, topics: Topics) -> None:
        self.speaks = True
        self.position = 0
        self.heard: dict[str, int] = {}
        self.rung: list[str] = []
        self._asked = 0
        self.console = Console(
            settings,
            topics,
            ("cage",),
            subscriptions={topics.settlement: self._settled, topics.alarm: self._alarmed},
        )
        self.owing = asyncio.Event()

    async def _settled(self, message: Message) -> None:
        said = msgspec.json.decode(message.payload, type=Published)
        event = decode_data(said)
        assert isinstance(event, CoupSettled)
        self.heard.setdefault(event.coup, time.monotonic_ns())
        self.position = said.position
        self.owing.set()

    async def _alarmed(self, message: Message) -> None:
        notice = msgspec.json.decode(message.payload, type=AlarmNotice)
        if notice.alarm == _ALARM:
            self.rung.append(notice.state)

    async def run(self) -> None:
        while True:
            await self.owing.wait()
            self.owing.clear()
            if self.speaks:
                self._asked += 1
                ack = Ack(transaction=f"a-{self._asked}", consumer="cage", position=self.position)
                await self.console.must("cage", ack)


async def play_beside_a_silent_cage(
    folder: Path, broker: Broker, *, coups: int, alarm: bool
) -> SilentCage:
    """Play so many coups beside each.

    Args:
        folder: an empty one.
        broker: a running one.
        coups: beside each of the two, after as many that are not measured.
        alarm: wait for the alarm, let the cage acknowledge, and wait until it is cleared.
    """
    live, found = LiveTable(folder, broker.port, seed=2), SilentCage()
    played = live.played
    cage = _Cage(live.config.bus_settings("cage"), live.config.topics)
    beside = cage.console.run(), cage.run()
    async with live.at_play("shoe", "table", beside=beside) as croupier:
        table = live.children["table"].pid
        await croupier.play(coups)
        for speaks in (True, False):
            cage.speaks = speaks
            begun, before = len(played), peak_kilobytes(table)
            await croupier.play(begun + coups)
            await until(lambda: played[-1].coup in cage.heard, "the settlement was not heard")
            found.grown_kb.append(peak_kilobytes(table) - before)
            found.median_ms.append(_median_ms(played[begun:], cage.heard))
        if alarm:
            await until(lambda: cage.rung, "the alarm", 90, every=0.1)  # a minute of patience
            cage.speaks = True
            cage.owing.set()
            await until(lambda: len(cage.rung) > 1, "it is not cleared")
        found.rung = cage.rung
    return found


def _median_ms(coups: list[PlayedCoup], heard: dict[str, int]) -> float:
    took = [
        (heard[each.coup] - each.dealt.decided_ns) / 1e6
        for each in coups
        if each.phase == "settled" and each.coup in heard
    ]
    return round(median(took), 3)
