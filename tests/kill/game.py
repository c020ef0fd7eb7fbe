"""A table in play whose services are killed by plan, and what its log and cage say afterwards."""

import asyncio
import json
import signal
import sys
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

from baccarat.history.log_judging import verify_and_judge
from cage.reports.reconcile import Reconciliation
from events.cards import Card
from events.log.store import EventLog
from events.mqtt.request_client import Retry
from events.proof.keys import make_signing_key
from events.types import (
    BettingOpened,
    CardDealt,
    CardDisclosed,
    CoupMisaligned,
    CoupSettled,
    CoupVoided,
    SettlementLine,
    TableEvent,
)
from simulators.people.dealer_and_patrons import Croupier, PlayedCoup
from simulators.people.supervisor import GameTally
from simulators.shoe.dealing import DealingShoe
from table_core.evidence.log_judge import JudgedCounts
from tests.kill.child import READY_TO_BE_TOLD
from tests.support.brokers.brokers import Broker
from tests.support.cage.cages import cage_at
from tests.support.cage.ledgers import accounts_of, agrees
from tests.support.log.logs import event_of
from tests.support.service.live_table import ORIGIN, LiveTable

ROOT = Path(__file__).parents[2]
SEED = 7
# An undisturbed coup takes some 50 ms; a killed service needs half a second to be back.
PATIENCE_S = 300.0
# The real waits are for people; a test's croupier asks again sooner.
RETRY = Retry(answer_s=0.25, back_off_s=0.02, back_off_most_s=0.2)
_SIGNED = """[checkpoints]
key = "table.key"
"""


class Kill(NamedTuple):
    """Where a service dies (`die`), or stands still while the broker dies (`wait`)."""

    service: Literal["shoe", "table"]
    step: str
    nth: int
    how: Literal["die", "wait"] = "die"
    wipe: bool = False


class Coup(NamedTuple):
    """What the log says of one coup."""

    cards: dict[str, Card]
    phase: str
    lines: tuple[SettlementLine, ...]
    misaligned: str


class Record(NamedTuple):
    """What a game left behind."""

    coups: dict[str, Coup]
    played: list[PlayedCoup]
    tally: GameTally
    settlements: list[str]
    accounts: dict[str, int]
    booked: Reconciliation
    acknowledged: int
    last_settlement: int
    sprung: list[Kill]
    verdict_ok: bool
    verdict_reason: str | None
    judged: JudgedCounts


class Game:
    """Plays coups with real processes around a real broker.

    Args:
        folder: for everything durable.
        broker: the broker.
        kills: in order, each service taking the next of its own when it has been started again.
        disclosure: when the shoe tells the faces.
    """

    def __init__(
        self,
        folder: Path,
        broker: Broker,
        kills: Iterable[Kill] = (),
        *,
        disclosure: Literal["immediate", "deferred"] = "immediate",
    ) -> None:
        self._broker = broker
        self._folder = folder
        dealing = DealingShoe(seed=SEED, disclosure=disclosure)
        self._key = make_signing_key(folder / "table.key", ORIGIN).verifier
        self._live = LiveTable(
            folder, broker.port, seed=SEED, more=_SIGNED, dealing=dealing, retry=RETRY
        )
        self.config = self._live.config
        kills = list(kills)
        self._plans = {
            name: deque(kill for kill in kills if kill.service == name)
            for name in ("shoe", "table")
        }
        self.sprung: list[Kill] = []

    @property
    def pending(self) -> int:
        """How many kills have not come yet."""
        return sum(len(plans) for plans in self._plans.values())

    async def play(self, coups: int | None = None) -> Record:
        """Play until all kills have come and then so many coups more, and let everything settle."""
        ledger = str(self._folder / "ledger.sqlite")
        beside = cage_at(self.config.bus_settings("cage"), self.config.topics, ledger)
        async with asyncio.timeout(PATIENCE_S), beside as cage, asyncio.TaskGroup() as group:
            keeping = [group.create_task(self._keep(each)) for each in ("shoe", "table")]
            async with self._live.at_play() as croupier:
                await self._rounds(croupier, coups or 3)
                seen = await croupier.view.quiet(0.3)
                await cage.caught_up(seen.position)
            for task in keeping:
                task.cancel()
        return self._record(ledger, cage.acknowledged)

    async def _rounds(self, croupier: Croupier, more: int) -> None:
        while self.pending:
            await croupier.play(croupier.tally.coups + 1)
        await croupier.play(croupier.tally.coups + more)

    async def _keep(self, service: str) -> None:
        """Run a service for ever, as its supervisor does, with the next plan at each start."""
        plans = self._plans[service]
        while True:
            process = await self._spawn(service)
            try:
                while plans and plans[0].how == "wait":
                    await self._kill_the_broker(process, plans)
                code = await process.wait()
            finally:
                if process.returncode is None:
                    process.terminate()
                    await process.wait()
            assert plans, f"the {service} service ended by itself with {code}"
            assert code == -signal.SIGKILL, f"the {service} ended with {code}, not {plans[0]}"
            self.sprung.append(plans.popleft())

    async def _kill_the_broker(
        self, process: asyncio.subprocess.Process, plans: deque[Kill]
    ) -> None:
        """The service stands in mid-step: kill the broker, bring it back, let the service go on."""
        assert process.stdin
        assert process.stdout
        assert await process.stdout.readline() == READY_TO_BE_TOLD, "it ended before its step came"
        self._broker.kill()
        self._broker.restart(wipe=plans[0].wipe)
        self.sprung.append(plans.popleft())
        process.stdin.write(f"{_plan(plans)}\n".encode())

    async def _spawn(self, service: str) -> asyncio.subprocess.Process:
        with (self._folder / f"{service}.log").open("ab") as log:
            return await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "tests.kill.child",
                str(self._live.path),
                service,
                _plan(self._plans[service]),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                cwd=ROOT,
            )

    def _record(self, ledger: str, acknowledged: int) -> Record:
        verdict, judged = verify_and_judge(
            self.config.log_path, None, jobs=1, held=(), keys=(self._key,)
        )
        with EventLog.open(self.config.log_path, self.config.origin) as log:
            stored = list(log.read())
        events = [event_of(each) for each in stored]
        settled = [each.position for each in stored if each.type == CoupSettled.TYPE]
        return Record(
            coups=read_coups(events),
            played=self._live.played,
            tally=self._live.croupier.tally,
            settlements=[
                event.settlement.settlement_id for event in events if isinstance(event, CoupSettled)
            ],
            accounts=accounts_of(ledger),
            booked=agrees(ledger, self.config.log_path),
            acknowledged=acknowledged,
            last_settlement=settled[-1] if settled else 0,
            sprung=self.sprung,
            verdict_ok=verdict.ok,
            verdict_reason=verdict.reason,
            judged=judged,
        )


def _plan(plans: deque[Kill]) -> str:
    """The first of the plans, as the child reads it."""
    if not plans:
        return "{}"
    return json.dumps({"step": plans[0].step, "nth": plans[0].nth, "how": plans[0].how})


def read_coups(events: Iterable[TableEvent]) -> dict[str, Coup]:
    """Every coup of a log, by id, from its events alone."""
    coups: dict[str, Coup] = {}
    for event in events:
        match event:
            case BettingOpened(coup=coup):
                assert coup not in coups, f"{coup} began twice"
                coups[coup] = Coup({}, "open", (), "")
            case CardDealt(coup=coup) | CardDisclosed(coup=coup) if event.card:
                place = f"{event.hand.value} {event.number}"
                assert place not in coups[coup].cards, f"{coup}: two cards at {place}"
                coups[coup].cards[place] = event.card
            case CoupMisaligned(coup=coup, reason=reason):
                coups[coup] = coups[coup]._replace(misaligned=reason)
            case CoupVoided(coup=coup):
                coups[coup] = coups[coup]._replace(phase="voided")
            case CoupSettled(coup=coup, settlement=settlement):
                assert coups[coup].phase == "open", f"{coup} ended twice"
                coups[coup] = coups[coup]._replace(phase="settled", lines=settlement.lines)
            case _:
                pass
    return coups
