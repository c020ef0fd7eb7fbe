"""Play the demo: the people and the shoe of `simulators` around the real services."""

import asyncio
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol, cast

from baccarat.demo.counters import DemoStatistics, Receipt, Summary, audit
from baccarat.demo.machine import DemoBroken, DemoOptions, Machine
from events.log.store import EventLog
from events.types import CoupSettled, Settlement, decode_data, decode_envelope
from simulators.device.pty_port import INSTANT, Pace, PtyPort
from simulators.device.reports import Disclosure
from simulators.faults.registry import SPAN, FaultPlan
from simulators.people.dealer_and_patrons import Croupier, Game, PlayedCoup
from simulators.people.supervisor import GameTally
from simulators.shoe.dealing import DealingShoe
from simulators.shoe.player import ShoeSimulator

if TYPE_CHECKING:
    from cage.ledger.received_event import LedgerEvent
    from cage.service import CageService

__all__ = ["DemoResult", "GameObserver", "play"]

# How long the cage may take for its last acknowledgement after the last coup, seconds.
_CAGE_PATIENCE_S: Final = 30.0
# Interval between two looks at the cage, seconds.
_POLL_S: Final = 0.1
# Faults come in this part of a short game, per cent.
_EARLY_PERCENT: Final = 80


class GameObserver(Protocol):
    """Something that watches the table while it is played."""

    async def run(self) -> None:
        """Watch until cancelled."""
        ...

    def on_settlement(self, settlement: Settlement) -> None:
        """Take a settlement that the cage has booked."""
        ...

    def on_coup(self, coup: PlayedCoup) -> None:
        """Take a coup that is over."""
        ...


class DemoResult:
    """The end of the demo.

    Args:
        summary: the demo's summary.
        interrupted: a signal ended it, not the number of rounds.
    """

    def __init__(self, summary: Summary, *, interrupted: bool) -> None:
        self.summary = summary
        self.interrupted = interrupted


async def play(
    options: DemoOptions, machine: Machine, ledger: DemoStatistics, onlooker: GameObserver
) -> DemoResult:
    """Play to the end of the rounds, or until SIGINT or SIGTERM; then audit the log.

    Raises:
        DemoBroken: a service ended, or the cage did not acknowledge in time.
    """
    stop = _stopped_by_signals()
    dealing = DealingShoe(
        decks=machine.rulebook.decks,
        seed=options.seed,
        disclosure=cast(Disclosure, options.disclosure),
        profile=machine.profile,
    )
    pace = Pace.at_baud(dealing.profile.baud) if options.speed else INSTANT
    port = PtyPort(machine.link, pace=pace)
    port.plug_in()
    try:
        machine.start("shoe")
        machine.start("table")
        machine.start("displays")
        acknowledged_to, tally = await _play(
            options, machine, ledger, onlooker, (port, dealing), stop
        )
    finally:
        port.unplug()
    return DemoResult(
        _audited_summary(machine, ledger, tally, acknowledged_to),
        interrupted=stop.is_set(),
    )


async def _play(
    options: DemoOptions,
    machine: Machine,
    ledger: DemoStatistics,
    onlooker: GameObserver,
    device: tuple[PtyPort, DealingShoe],
    stop: asyncio.Event,
) -> tuple[int, GameTally]:
    """Play; return the position up to which the cage has acknowledged, and the dealer's tally."""
    config = machine.table

    def on_coup(coup: PlayedCoup) -> None:
        ledger.on_coup(coup)
        onlooker.on_coup(coup)

    def on_receipt(receipt: Receipt) -> None:
        ledger.on_receipt(receipt)
        onlooker.on_settlement(receipt.settlement)

    first = f"{datetime.now(UTC):%Y%m%d}-01"
    shoe = ShoeSimulator(*device, first_shoe=first, speed=options.speed)
    croupier = Croupier(
        config.bus_settings("croupier"),
        config.topics,
        shoe,
        seed=options.seed,
        game=Game(
            rulebook=machine.rulebook,
            faults=_fault_plan(options),
            restart_driver=lambda: machine.restart("shoe"),
        ),
        speed=options.speed,
        on_coup=on_coup,
    )
    cage = await asyncio.to_thread(_make_cage, machine, on_receipt)
    background = [
        *(shoe.run(), croupier.run(), cage.run(asyncio.Event())),
        *(onlooker.run(), machine.watch()),
    ]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in background]
        playing = group.create_task(_until(stop, croupier, options.rounds))
        await playing
        if croupier.view.seen is not None:
            await _wait_until_acknowledged(cage, croupier.view.seen.position, ledger)
        for task in tasks:
            task.cancel()
    return cage.acknowledged, croupier.tally


def _fault_plan(options: DemoOptions) -> FaultPlan | None:
    """Return the fault plan; a short game has its faults early, as some wait for their moment."""
    if not options.faults:
        return None
    rounds = options.rounds or SPAN
    span = min(SPAN, max(1, rounds * _EARLY_PERCENT // 100))
    return FaultPlan(options.seed, options.faults, span=span)


async def _until(stop: asyncio.Event, croupier: Croupier, rounds: int | None) -> None:
    """Play the rounds; `stop` ends them early."""
    playing = asyncio.ensure_future(croupier.play(rounds))
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait({playing, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    playing.cancel()
    with suppress(asyncio.CancelledError):
        await playing


def _make_cage(machine: Machine, on_receipt: Callable[[Receipt], None]) -> "CageService":
    """Return the cage, whose settlements are reported as soon as they are booked."""
    # Importing its packages takes a third of a second, which other commands save.
    from baccarat.services.cage_ledger import (  # noqa: PLC0415 - as explained above
        ledger_settings,
        make_cage,
    )

    def on_booked(facts: "Sequence[LedgerEvent]") -> None:
        booked_ns = time.monotonic_ns()
        for fact in facts:
            if isinstance(fact.data, CoupSettled):
                settlement = fact.data.settlement
                on_receipt(
                    Receipt(settlement=settlement, position=fact.position, booked_ns=booked_ns)
                )

    return make_cage(ledger_settings(machine.table), on_booked=on_booked)


async def _wait_until_acknowledged(
    cage: "CageService", position: int, ledger: DemoStatistics
) -> None:
    """Wait until everything up to a position is booked, and each settlement is acknowledged."""
    try:
        async with asyncio.timeout(_CAGE_PATIENCE_S):
            while cage.booked < position or cage.acknowledged < max(ledger.positions, default=0):  # noqa: ASYNC110 - nobody waits for long
                await asyncio.sleep(_POLL_S)
    except TimeoutError as error:
        raise DemoBroken(
            f"the cage has booked {cage.booked} and acknowledged {cage.acknowledged}, not "
            f"{position}, within {_CAGE_PATIENCE_S:g} s"
        ) from error


def _stopped_by_signals() -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    return stop


def _audited_summary(
    machine: Machine, ledger: DemoStatistics, tally: GameTally, acknowledged_to: int
) -> Summary:
    """Return the summary, with the audit of the log."""
    machine.stop_services()
    config = machine.table
    with EventLog.open(config.log_path, config.origin) as log:
        events = (decode_data(decode_envelope(stored.stored)) for stored in log.read())
        return ledger.summary(
            audit(events, ledger.played),
            tally,
            acknowledged_to=acknowledged_to,
            log=str(config.log_path),
        )
