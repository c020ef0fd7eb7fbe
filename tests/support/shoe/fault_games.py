"""Coups with faults at a whole table of processes, and what its log says of each of them.

Broker, driver and core are processes of their own, and the shoe is on a real pseudo-terminal. Where
nobody repairs, a coup that the table holds is void: what settles has settled by itself.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from baccarat.demo.machine import DemoOptions, Machine
from events.cards import Card, Hand
from events.types import (
    AnyReport,
    BettingOpened,
    CardCorrected,
    CardDealt,
    CardDisclosed,
    CardEntered,
    CardMarkedUnreadable,
    CardUnread,
    CoupMisaligned,
    CoupSettled,
    CoupVoided,
    ExcessCardDrawn,
    ResultDisputed,
    Settlement,
    ShoeReported,
)
from simulators.device.profiles import SimulatedProfile, simulated_form
from simulators.device.pty_port import PtyPort
from simulators.device.reports import Disclosure
from simulators.faults.registry import FaultPlan
from simulators.people.dealer_and_patrons import Croupier, Game, PlayedCoup
from simulators.shoe.dealing import DealingShoe
from simulators.shoe.player import ShoeSimulator
from table_core.rulebooks.shipped import load_rulebook
from tests.support.log.logs import events_in

SHOE = "20261127-01"
# What a link that resends has not brought by then is told as lost.
PATIENCE_S = {"ref-crc": 4.0}
USUAL_PATIENCE_S = 3.0
RULEBOOK = "nz-scale-one"


class InOrder(FaultPlan):
    """These faults, one a coup, each followed by a coup in which nothing goes wrong."""

    def __init__(self, names: Sequence[str], *, clean_between: bool = True) -> None:
        super().__init__(0, ())
        self._left = list(names)
        self._clean = False
        self._between = clean_between

    def due(self, coup: int, fits: Callable[[str], bool]) -> str | None:  # noqa: ARG002 - as it is
        if self._clean or not self._left:
            self._clean = False
            return None
        return next(filter(fits, self._left), None)

    def done(self, name: str) -> None:
        self._left.remove(name)
        self._clean = self._between

    @property
    def over(self) -> bool:
        return not self._left and not self._clean


@dataclass
class Logged:
    """What the log holds of one coup."""

    reports: list[AnyReport] = field(default_factory=list)
    cards: dict[tuple[Hand, int], Card | None] = field(default_factory=dict)
    breaks: list[str] = field(default_factory=list)
    settled: list[CoupSettled] = field(default_factory=list)
    voided: bool = False
    held: bool = False

    @property
    def hands(self) -> tuple[tuple[Card | None, ...], ...]:
        return tuple(
            tuple(card for place, card in sorted(self.cards.items(), key=_by_number)
                  if place[0] is hand)
            for hand in Hand
        )  # fmt: skip


def _by_number(item: tuple[tuple[Hand, int], Card | None]) -> int:
    return item[0][1]


@dataclass
class Outcome:
    """A coup as it fell, as it was logged, and the one before it."""

    played: PlayedCoup
    logged: Logged
    behind: "Outcome | None" = None

    @property
    def last(self) -> Settlement | None:
        """The settlement in force that ended the coup, if one did."""
        ends = [event.settlement for event in self.logged.settled if event.settlement.phase == 2]
        return ends[-1] if ends else None

    def is_true(self) -> bool:
        """What settled are the cards that fell, all of them, each at its place, and no others."""
        called, last = self.played.dealt.outcome, self.last
        if last is None:
            return True
        hands = called and (called.player, called.banker)
        return (last.player, last.banker) == hands == self.logged.hands

    def tells_of_the_coup_before(self) -> bool:
        """Void since its first report says what went wrong in the coup before.

        What a driver that opens the line throws away, a numbered device tells with its next report
        alone; where those were the last of a coup, that report is another coup's. A card that was
        excess only because a natural was misread lies in its hand: nobody carries it over.
        """
        if self.behind is None:
            return False
        before, why = self.behind, self.logged.breaks
        lost = "link_lost" in before.logged.breaks and why == ["report_lost"]
        misread = before.played.fault == "misread_face" and before.logged.held
        return self.logged.voided and (lost or (misread and why == ["carried_card_missing"]))


@dataclass
class FaultGame:
    """A game that was played, by fault; `clean` are the coups in which nothing was to go wrong."""

    by_fault: dict[str, list[Outcome]]
    clean: list[Outcome]

    @property
    def all(self) -> list[Outcome]:
        return [outcome for each in self.by_fault.values() for outcome in each] + self.clean


def play_faults(  # noqa: PLR0913 - all that a game can be asked for
    data: Path,
    profile: str,
    disclosure: Disclosure,
    faults: Sequence[str],
    *,
    seed: int = 11,
    silence_s: float = 3.5,
    clean_between: bool = True,
    repairs: bool = False,
    device: SimulatedProfile | None = None,
) -> FaultGame:
    """Play a coup with each of the faults.

    Args:
        data: a fresh folder.
        profile: a wire profile's id, or a file.
        disclosure: when the shoe tells the faces.
        faults: by name, several at once as `one+another`.
        seed: of cards and whims.
        silence_s: how long a silent device is silent.
        clean_between: a coup in which nothing is to go wrong follows each.
        repairs: a supervisor puts right what can be.
        device: the shoe, where it is none that ships.
    """
    options = DemoOptions(
        rounds=None,
        seed=seed,
        speed=0,
        rulebook=RULEBOOK,
        profile=profile,
        disclosure=disclosure,
        data=data,
        port=None,
    )
    plan = InOrder(faults, clean_between=clean_between)
    with Machine(options, device=device.id if device else "") as machine:
        played = asyncio.run(
            _play(machine, options, plan, silence_s, repairs=repairs, device=device)
        )
        machine.stop_services()
        events = events_in(machine.table.log_path)
    return _sorted_out(played, _by_coup(events))


async def _play(
    machine: Machine,
    options: DemoOptions,
    plan: InOrder,
    silence_s: float,
    *,
    repairs: bool,
    device: SimulatedProfile | None,
) -> list[PlayedCoup]:
    played: list[PlayedCoup] = []
    port = PtyPort(machine.link)
    port.plug_in()
    machine.start("shoe")
    machine.start("table")
    dealing = DealingShoe(
        seed=options.seed,
        disclosure=options.disclosure,  # type: ignore[arg-type] # it is one of the two
        profile=device or simulated_form(options.profile),
    )
    shoe = ShoeSimulator(port, dealing, first_shoe=SHOE, speed=0, silence_s=silence_s)
    croupier = Croupier(
        machine.table.bus_settings("croupier"),
        machine.table.topics,
        shoe,
        seed=options.seed,
        game=Game(
            rulebook=load_rulebook(RULEBOOK),
            faults=plan,
            repairs=repairs,
            patience_s=PATIENCE_S.get(dealing.profile.id, USUAL_PATIENCE_S),
            restart_driver=lambda: machine.restart("shoe"),
        ),
        speed=0,
        on_coup=played.append,
    )
    async with asyncio.TaskGroup() as group:
        background = [group.create_task(each) for each in (shoe.run(), croupier.run())]
        watching = group.create_task(machine.watch())
        while not plan.over:
            await croupier.play(croupier.tally.coups + 1)
        for task in (*background, watching):
            task.cancel()
    port.unplug()
    return played


def _by_coup(events: Sequence[object]) -> dict[str, Logged]:
    coups: dict[str, Logged] = {}
    current = Logged()
    for event in events:
        match event:
            case BettingOpened(coup=coup):
                current = coups[coup] = Logged()
            case ShoeReported(source=source):
                current.reports.append(source.report)
            case CardDealt() | CardDisclosed() | CardEntered() | CardCorrected():
                current.cards[event.hand, event.number] = event.card
            case CardUnread() | CardMarkedUnreadable():
                current.cards[event.hand, event.number] = None
            case CoupMisaligned(reason=reason):
                current.breaks.append(reason)
            case ResultDisputed() | ExcessCardDrawn():
                current.held = True
            case CoupSettled(coup=coup):
                coups[coup].settled.append(event)
            case CoupVoided(coup=coup):
                coups[coup].voided = True
            case _:
                pass
    return coups


def _sorted_out(played: Sequence[PlayedCoup], coups: dict[str, Logged]) -> FaultGame:
    game = FaultGame({}, [])
    outcome: Outcome | None = None
    for each in played:
        outcome = Outcome(each, coups[each.coup], outcome)
        if each.fault is None:
            game.clean.append(outcome)
        else:
            game.by_fault.setdefault(each.fault, []).append(outcome)
    return game
