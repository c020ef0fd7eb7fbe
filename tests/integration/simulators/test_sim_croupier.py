"""The people at the table: around the real services, and at a table made of a plain client.

A console's requests go over real brokers that lose things.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from baccarat.config.form import DEFAULT_USERS, BusConfig, ShoeConfig, TableConfig
from baccarat.services.shoe import serve as serve_shoe
from baccarat.services.table import serve as serve_table
from events.cards import Card, Hand
from events.commands import Answer, LoadShoe, PlaceWager, WagerRequest
from events.errors import OurBug
from events.log.store import EventLog
from events.mqtt.bus import BusSettings
from events.mqtt.request_client import Retry
from events.types import (
    CardDealt,
    CoupSettled,
    CoupVoided,
    ShoeEnded,
    ShoeLoaded,
    TableEvent,
    decode_data,
    decode_envelope,
)
from simulators.device.pty_port import Pace, PtyPort
from simulators.people.console import Console, RequestRefused
from simulators.people.dealer_and_patrons import Croupier, Game, PlayedCoup
from simulators.people.patrons import wagers
from simulators.people.view import TableSeen
from simulators.shoe.dealing import DealingShoe
from simulators.shoe.player import ShoeSimulator
from table_core.rulebooks.shipped import load_rulebook
from tests.support.brokers.brokers import Broker
from tests.support.cage.cages import cage_at
from tests.support.cage.ledgers import accounts_of, agrees
from tests.support.machine.tasks import background
from tests.support.machine.waiting import PATIENCE_SECONDS, until
from tests.support.service.small_table import HOST, TOPICS, small_table

SEED = 31
SHOE = "20261127-01"
LIMIT_S = 60.0
RULEBOOK = load_rulebook("au-commission")
# A busy machine may be silent for longer than the people at a table usually wait.
QUIET_S = 1.0


class HeldPort(PtyPort):
    """A port whose device can be made to wait, in the midst of a coup, for something else."""

    def __init__(self, link: Path) -> None:
        super().__init__(link)
        self._left = 0
        self._first: Callable[[], Awaitable[object]] | None = None

    def before_report(self, after: int, what: Callable[[], Awaitable[object]]) -> None:
        """Let so many more reports out; the next one waits until `what` is done."""
        self._left, self._first = after, what

    async def write(self, data: bytes, *, pace: Pace | None = None) -> int:
        first = self._first if self._left == 0 else None
        self._left -= 1
        if first is not None:
            self._first = None
            await first()
        return await super().write(data, pace=pace)


class Pit:
    """A table with its services, its shoe, and the people who have played at it."""

    def __init__(self, folder: Path, port: int, users: dict[str, tuple[str, ...]]) -> None:
        self.config = TableConfig(
            site="test",
            table="t1",
            rulebook="au-commission",
            shoe=ShoeConfig(url=f"pty:{folder / 'shoe'}"),
            bus=BusConfig(port=port),
            users=users,
            base=str(folder),
        )
        self.port = HeldPort(folder / "shoe")
        self.played: list[PlayedCoup] = []
        self.dealing = DealingShoe(seed=SEED)

    def croupier(self, *, cut_card: int = 14) -> Croupier:
        self.dealing = DealingShoe(seed=SEED, cut_card=cut_card)
        shoe = ShoeSimulator(self.port, self.dealing, first_shoe=SHOE, speed=0)
        return Croupier(
            self.config.bus_settings("croupier"),
            self.config.topics,
            shoe,
            seed=SEED,
            game=Game(quiet_s=QUIET_S),
            speed=0,
            on_coup=self.played.append,
            retry=Retry(answer_s=0.5),
        )

    def log(self) -> list[TableEvent]:
        """What the log holds, once the services have ended."""
        with EventLog.open(self.config.log_path, self.config.origin) as log:
            return [decode_data(decode_envelope(stored.stored)) for stored in log.read()]


@asynccontextmanager
async def _pit(
    folder: Path,
    broker: Broker,
    *,
    users: dict[str, tuple[str, ...]] | None = None,
) -> AsyncIterator[Pit]:
    pit = Pit(folder, broker.port, users or DEFAULT_USERS)
    pit.port.plug_in()
    stop = asyncio.Event()
    async with asyncio.timeout(LIMIT_S), asyncio.TaskGroup() as services:
        services.create_task(serve_table(pit.config, stop))
        services.create_task(serve_shoe(pit.config, stop))
        try:
            yield pit
        finally:
            stop.set()
    pit.port.unplug()


def _dealt_by_log(events: list[TableEvent], coup: str) -> list[tuple[Hand, int, Card | None]]:
    return [
        (event.hand, event.number, event.card)
        for event in events
        if isinstance(event, CardDealt) and event.coup == coup
    ]


def _settled(events: list[TableEvent]) -> dict[str, CoupSettled]:
    return {event.coup: event for event in events if isinstance(event, CoupSettled)}


async def test_the_log_and_the_cage_hold_exactly_what_happened(
    tmp_path: Path, nats: Broker
) -> None:
    async with _pit(tmp_path, nats) as pit:
        croupier, ledger = pit.croupier(), str(tmp_path / "ledger.sqlite")
        bus = pit.config.bus_settings("cage")
        async with (
            cage_at(bus, pit.config.topics, ledger) as cage,
            background(croupier.run()),
        ):
            tally = await croupier.play(20)
            assert croupier.view.seen is not None
            await cage.caught_up(croupier.view.seen.position)
    events = pit.log()
    settled = _settled(events)
    assert [coup.coup for coup in pit.played] == [f"{SHOE}/{n}" for n in range(1, 21)]
    for coup in pit.played:
        settlement, called = settled[coup.coup].settlement, coup.dealt.outcome
        assert called is not None
        assert (settlement.player, settlement.banker) == (called.player, called.banker)
        assert (settlement.player_total, settlement.banker_total) == (
            called.player_total,
            called.banker_total,
        )
        assert settlement.winner is called.winner
        assert [card for *_, card in _dealt_by_log(events, coup.coup)] == list(coup.dealt.cards)
        asked = wagers(SEED, SHOE, coup.dealt.number, RULEBOOK)
        assert [(line.seat, line.bet, line.stake) for line in settlement.lines] == [
            (wager.seat, wager.bet, wager.stake) for command in asked for wager in command.wagers
        ]
    assert (tally.coups, tally.settled, tally.voided, tally.shoes) == (20, 20, 0, 1)
    assert not tally.refused
    assert not tally.resolved
    assert tally.wagers == sum(len(wagers(SEED, SHOE, n, RULEBOOK)) for n in range(1, 21))
    assert agrees(ledger, pit.config.log_path).settlements == 20
    booked = accounts_of(ledger)
    assert booked["seat"] + booked["collected"] == sum(
        event.settlement.staked - event.settlement.paid for event in settled.values()
    )
    assert pit.port.lost_bytes == 0
    assert pit.port.received() == b"", "the driver only receives"


async def test_shoes_are_ended_and_loaded_as_the_cut_card_comes(
    tmp_path: Path, nats: Broker
) -> None:
    async with _pit(tmp_path, nats) as pit:
        croupier = pit.croupier(cut_card=388)
        async with background(croupier.run()):
            tally = await croupier.play(16)
    events = pit.log()
    loaded = [event.shoe for event in events if isinstance(event, ShoeLoaded)]
    ended = [event.shoe for event in events if isinstance(event, ShoeEnded)]
    assert len(loaded) >= 3
    assert loaded == [f"20261127-{n:02d}" for n in range(1, len(loaded) + 1)]
    assert ended == loaded[:-1]
    assert (tally.shoes, tally.settled) == (len(loaded), 16)
    lasts = {coup.dealt.shoe: coup.dealt.number for coup in pit.played if coup.dealt.last}
    shoes = [coup.dealt.shoe for coup in pit.played]
    assert {shoe: shoes.count(shoe) for shoe in ended} == {shoe: lasts[shoe] for shoe in ended}


@pytest.mark.parametrize("back", ["at once", "after the deal"])
async def test_a_coup_broken_by_a_pulled_plug_is_voided_and_play_goes_on(
    back: str, tmp_path: Path, nats: Broker
) -> None:
    """Where the driver comes back only after the deal, the next coup's first report shows the loss
    once more, in its device number, and that coup is held as well."""
    broken = f"{SHOE}/2"
    async with _pit(tmp_path, nats) as pit:
        croupier = pit.croupier()

        async def pull_the_plug() -> None:
            """The table has seen cards of the coup, and others are still to come."""
            await croupier.view.until(_in_phase(broken, "dealing"))
            if back == "at once":
                pit.port.plug_in()
                await croupier.view.until(_in_phase(broken, "misaligned"))
                await croupier.view.until(lambda seen: seen.link.state == "open")
            else:
                pit.port.unplug()

        async def put_it_back() -> None:
            await croupier.view.until(_in_phase(broken, "voided"))
            pit.port.plug_in()

        async with background(croupier.run()):
            await croupier.play(1)
            pit.port.before_report(2, pull_the_plug)
            async with asyncio.TaskGroup() as group:
                if back != "at once":
                    group.create_task(put_it_back())
                tally = await croupier.play(4)
    phases = {coup.coup: coup.phase for coup in pit.played}
    third = "settled" if back == "at once" else "voided"
    assert list(phases) == [f"{SHOE}/{n}" for n in (1, 2, 3, 4)]
    assert list(phases.values()) == ["settled", "voided", third, "settled"]
    assert tally.resolved == {"link_lost": 1} | ({"report_lost": 1} if third == "voided" else {})
    assert tally.voided == tally.resolved.total()
    events = pit.log()
    voided = [event.coup for event in events if isinstance(event, CoupVoided)]
    assert voided == [coup for coup, phase in phases.items() if phase == "voided"]
    assert set(_settled(events)) == set(phases) - set(voided)


async def test_a_second_croupier_clears_away_what_the_first_left_and_brings_a_new_shoe(
    tmp_path: Path, nats: Broker
) -> None:
    async with _pit(tmp_path, nats) as pit:
        first = pit.croupier()
        async with background(first.run()):
            await first.play(1)
            pit.port.before_report(2, asyncio.Event().wait)
            playing = asyncio.create_task(first.play())
            await first.view.until(_in_phase(f"{SHOE}/2", "dealing"))
            playing.cancel()
            await asyncio.wait({playing})
        second = pit.croupier()
        async with background(second.run()):
            tally = await second.play(1)
    events = pit.log()
    assert [event.coup for event in events if isinstance(event, CoupVoided)] == [f"{SHOE}/2"]
    assert [event.shoe for event in events if isinstance(event, ShoeEnded)] == [SHOE]
    assert pit.played[-1].coup == "20261127-02/1"
    assert (tally.coups, tally.settled) == (1, 1)
    assert tally.resolved == {"dealing": 1}


async def test_betting_waits_while_the_shoe_stands_in_an_error(
    tmp_path: Path, nats: Broker
) -> None:
    async with _pit(tmp_path, nats) as pit:
        croupier = pit.croupier()
        device = pit.dealing._device  # the shoe's own, so that its numbering goes on

        async def clear_it() -> None:
            await until(lambda: croupier.tally.refused["shoe_error"], "betting is refused")
            await pit.port.write(device.error_cleared("card_code")[0])

        async with background(croupier.run()):
            await croupier.play(1)
            await pit.port.write(device.error_raised("card_code")[0])
            await croupier.view.until(lambda seen: "shoe_error_card_code" in _alarms(seen))
            clearing = asyncio.create_task(clear_it())
            tally = await croupier.play(2)
            await clearing
    assert (tally.coups, tally.settled) == (2, 2)
    assert tally.refused["shoe_error"] >= 1


async def test_a_table_that_does_not_let_the_dealer_work_says_so(
    tmp_path: Path, nats: Broker
) -> None:
    users = {**DEFAULT_USERS, "dealer": ("display",)}
    async with _pit(tmp_path, nats, users=users) as pit:
        croupier = pit.croupier()
        async with background(croupier.run()):
            with pytest.raises(RequestRefused, match="LoadShoe l-20261127-01: not_allowed"):
                await croupier.play(1)
    assert pit.played == []


def _in_phase(coup: str, phase: str) -> Callable[[TableSeen], bool]:
    return lambda seen: seen.coup is not None and (seen.coup.id, seen.coup.phase) == (coup, phase)


def _alarms(seen: TableSeen) -> set[str]:
    return {alarm.name for alarm in seen.alarms}


LOAD = LoadShoe(transaction="l-1", shoe="20261127-01")
QUICK = Retry(answer_s=0.1, back_off_s=0.02, back_off_most_s=0.1)
# Where what was sent is counted: an answer that is merely late must not be asked for again.
PATIENT = Retry(answer_s=PATIENCE_SECONDS, back_off_s=0.02, back_off_most_s=0.1)

Reply = Callable[[list[bytes]], dict[str, Any] | bytes | None]
"""What the table answers, given all bodies it got so far; None is silence."""


@asynccontextmanager
async def _table(broker: Broker, reply: Reply) -> AsyncIterator[list[bytes]]:
    """A table that answers what `reply` says; yields the bodies it was sent."""
    bodies: list[bytes] = []

    async def asked(_: str, __: str, body: bytes) -> dict[str, Any] | bytes | None:
        bodies.append(body)
        return reply(bodies)

    async with small_table(broker.port, asked):
        yield bodies


@asynccontextmanager
async def _console(broker: Broker, *users: str, retry: Retry = QUICK) -> AsyncIterator[Console]:
    settings = BusSettings(HOST, broker.port, "console")
    console = Console(settings, TOPICS, users or ("dealer",), retry=retry)
    async with background(console.run()), asyncio.timeout(PATIENCE_SECONDS):
        yield console


def _accepted(transaction: str = "l-1") -> dict[str, Any]:
    return {"transaction": transaction, "result": "accepted", "position": 7}


async def test_a_request_is_answered(broker: Broker) -> None:
    async with (
        _table(broker, lambda _: _accepted()) as bodies,
        _console(broker, retry=PATIENT) as console,
    ):
        answer = await console.request("dealer", LOAD)
    assert answer == Answer(transaction="l-1", result="accepted", position=7)
    assert [json.loads(body) for body in bodies] == [{"transaction": "l-1", "shoe": "20261127-01"}]


async def test_marked_commission_is_collected_before_what_waits_for_it(nats: Broker) -> None:
    def reply(bodies: list[bytes]) -> dict[str, Any]:
        asked = json.loads(bodies[-1])["transaction"]
        owed = {"result": "refused", "code": "commission_outstanding", "position": None}
        return _accepted(asked) | (owed if len(bodies) == 1 else {})

    async with (
        _table(nats, reply) as bodies,
        _console(nats, retry=PATIENT) as console,
    ):
        answer = await console.once_paid("dealer", LOAD)
    assert answer.result == "accepted"
    assert [json.loads(body)["transaction"] for body in bodies] == ["l-1", "m-l-1", "l-1"]


async def test_users_and_transactions_are_told_apart_when_asked_at_once(broker: Broker) -> None:
    def reply(bodies: list[bytes]) -> dict[str, Any]:
        asked = json.loads(bodies[-1])
        position = 100 * len(asked.get("wagers", [])) + int(asked["transaction"].split("-")[1])
        return _accepted(asked["transaction"]) | {"position": position}

    wager = WagerRequest(seat=1, bet="player", stake=100)
    async with (
        _table(broker, reply) as bodies,
        _console(broker, "dealer", "wagers", retry=PATIENT) as console,
    ):
        # Before that each tries again by itself.
        await until(lambda: console.connected, "it is connected")
        asks = [console.request("dealer", LOAD)]
        for n in range(1, 8):
            place = PlaceWager(transaction=f"w-{n}", wagers=(wager,))
            asks.append(console.request("wagers", place))
        answers = await asyncio.gather(*asks)
    assert [answer.position for answer in answers] == [1, *range(101, 108)]
    transactions = [json.loads(body)["transaction"] for body in bodies]
    assert transactions == ["l-1", *(f"w-{n}" for n in range(1, 8))], "sent in the order asked"


async def test_a_request_outlives_a_broker_that_is_killed_and_wiped(broker: Broker) -> None:
    allowed = asyncio.Event()

    def reply(_: list[bytes]) -> dict[str, Any] | None:
        return _accepted() if allowed.is_set() else None

    async with _table(broker, reply) as bodies, _console(broker) as console:
        asking = asyncio.create_task(console.request("dealer", LOAD))
        await until(lambda: bool(bodies), "it has asked")
        broker.kill()
        broker.restart(wipe=True)
        allowed.set()
        assert (await asking).result == "accepted"
    assert len(set(bodies)) == 1


async def test_it_waits_for_a_broker_that_is_not_there_yet(broker: Broker) -> None:
    broker.stop()
    async with _console(broker) as console:
        asking = asyncio.create_task(console.request("dealer", LOAD))
        await until(lambda: console.resent >= 3, "it has asked in vain")
        broker.restart()
        async with _table(broker, lambda _: _accepted()):
            assert (await asking).result == "accepted"


async def test_asking_the_same_twice_at_once_or_for_a_stranger_is_our_bug(nats: Broker) -> None:
    async with _table(nats, lambda _: None), _console(nats) as console:
        asking = asyncio.create_task(console.request("dealer", LOAD))
        await asyncio.sleep(0)
        with pytest.raises(OurBug):
            await console.request("dealer", LOAD)
        with pytest.raises(OurBug):
            await console.request("cage", LOAD)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
