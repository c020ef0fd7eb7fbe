"""One seed's world: processes, people and faults, one small step after another.

The seed chooses the next part among those with something to do. When no part has, time advances to
the next one that will. Nothing else decides: not the machine, not its clock, not the order of a
set.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

from msgspec import Struct

from cage.process import CageProcess
from displays.live import LiveState
from displays.process import DisplayProcess
from events.commands import AssignDealer
from events.errors import LogUnwritable, OurBug
from events.mqtt.peer_keys import PeerKeys
from events.mqtt.presence import PresencePublisher
from events.mqtt.process_shell import perform_at_once
from events.mqtt.topics import Topics
from events.proof.message_mac import split_mac
from events.types import Stored, decode_entry
from shoe_driver.process.driver import DriverProcess
from shoe_driver.process.retention import JournalRetention
from shoe_driver.profiles.catalogue import profile_text
from shoe_driver.profiles.profile import parse_profile
from shoe_driver.reread import RawReader
from simulators.device.profiles import GAMES
from simulators.device.reports import Disclosure
from simulators.device.script import FallenCard
from simulators.faults.registry import FAULTS, FaultPlan
from simulators.people.supervisor import SUPERVISOR
from simulators.shoe.dealing import DealingShoe
from simulators.world.auditor.audited_coup import Violation
from simulators.world.auditor.auditor import Auditor
from simulators.world.auditor.driver_witness import DriverWitness
from simulators.world.auditor.publication_witness import PublicationWitness
from simulators.world.auditor.rules import RULEBOOKS, Hands
from simulators.world.fault_plan import LATE_FAULTS, FaultInjector
from simulators.world.final_checks import (
    check_floats,
    check_journals,
    check_ledger,
    check_notes,
    check_replay,
)
from simulators.world.parts.broker import FakeBroker
from simulators.world.parts.clock import MICROSECONDS, WorldClock
from simulators.world.parts.driver_effects import DriverEffects
from simulators.world.parts.fault_injector import ArmedFaults, Fuse, Killed
from simulators.world.parts.journal_disk import JournalDisk
from simulators.world.parts.lateness import LATE_JOURNAL, LATE_LOG, LATE_MOST_US, Lateness
from simulators.world.parts.ledger import WorldLedger
from simulators.world.parts.log_disk import LogDisk
from simulators.world.parts.lying_broker import LyingBroker
from simulators.world.parts.port import WorldPort
from simulators.world.parts.process_slot import Actor, ProcessSlot
from simulators.world.parts.shoe import WorldShoe
from simulators.world.parts.waiting import SimulatedPerson, Waiting
from simulators.world.parts.world_shell import WorldShell, clock_and_silence
from simulators.world.people.dealer_and_supervisor import Staff, StaffCoup
from simulators.world.people.desk import WorldConsole, WorldView
from simulators.world.people.float_keeper import COUNT_ROOM
from simulators.world.people.logins import CAGE, CONSUMER, PEOPLE, ROLES, message_keys, signing_key
from table_core.fold.dispatch import fold
from table_core.fold.snapshot import encode_state
from table_core.process.checkpoints import CheckpointKeys
from table_core.process.table_process import SERVICE, InspectLog, TableProcess
from table_core.rulebooks.shipped import load_rulebook
from table_core.service.table import Table
from table_core.state.table import TableState
from table_core.trust.access import SHOE, Access, BusPolicy

__all__ = ["World", "WorldReport"]

_SITE, _TABLE = "world", "t1"
_FIRST_SHOE: Final = "20261127-01"
_STEP_US: Final = 100
_SHORTEST, _LONGEST = 90, 330  # cards of a shoe before its cut card
_REPLAYED: Final = 0.02  # share of coups after which live and replayed state are compared
_BETS: Final = frozenset({"betting_opened", "wagers_placed"})
_SIGNED_S: Final = 300  # at the latest so long after an event without money
_REST_US: Final = 120 * MICROSECONDS  # time in which all must have caught up once no fault comes
# A coup that takes this long is left alone: it must end once no fault comes any more.
_LEFT_ALONE: Final = 6_000
_MOST_STEPS: Final = 12_000  # of one coup, which takes some hundred; beyond it nothing advances


class WorldReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of a seed's world.

    Args:
        seed: the same one is the same world, on any machine.
        coups: played.
        steps: taken.
        faults: counts by name.
        digest: SHA-256 over all bytes of the log and of the driver's journals, hex.
        violations: each with its step; empty when there are none.
        lies: counts of the broker's lies, by kind of message and what was done with it.
        forged: how many of them would have changed a table that believes a broker.
        named: kinds of messages that the alarm of a forgery has named.
    """

    seed: int
    coups: int
    steps: int
    faults: dict[str, int]
    digest: str
    violations: tuple[str, ...]
    lies: dict[str, int] = {}
    forged: int = 0
    named: tuple[str, ...] = ()


class World:
    """A table and everything around it, made from one seed.

    Args:
        seed: the world's.
        faults: the possible ones, as `parse_world_faults` returns them.
        folder: for real snapshots of the log; nothing else touches the disk.
        lies: the share of deliveries about which the broker lies; all then have message keys.
    """

    def __init__(
        self, seed: int, faults: Sequence[str], folder: Path, *, lies: float = 0.0
    ) -> None:
        self._seed = seed
        self._rng = rng = Random(f"{seed}/world")
        self._clock = WorldClock()
        self._trouble = ArmedFaults()
        self._late = Lateness(self._clock, Random(f"{seed}/late"))
        self._mischief = FaultInjector(faults, Random(f"{seed}/mischief"), self._trouble)
        self._topics = Topics(_SITE, _TABLE)
        self._rulebook = load_rulebook(rng.choice(tuple(RULEBOOKS)))
        profile, disclosure = rng.choice(GAMES)
        text = profile_text(profile)
        self._profile = (text, parse_profile(text, source=profile))
        self._keys = message_keys(self._topics) if lies else {}
        self._courier = (
            LyingBroker(rng, self._trouble, Random(f"{seed}/lies"), lies, self._topics)
            if lies
            else FakeBroker(rng, self._trouble)
        )
        self._journals = JournalDisk(rng, self._trouble)
        self._log_disk = LogDisk(folder / f"{seed}.sqlite", f"{_SITE}/{_TABLE}", self._trouble)
        self._port = WorldPort()
        self._ledger = WorldLedger(f"{_SITE}/{_TABLE}", rng, self._trouble)
        self._auditor = Auditor(_TABLE, self._rulebook.id)
        self._witness = PublicationWitness(
            self._topics,
            signing_key(self._topics).verifier.public,
            lambda journal: len(self._auditor.reports.get(journal, ())),
            lambda: self._ledger.position,
        )
        self._driver_witness = DriverWitness(self._topics, self._clock)
        self._courier.witness = self._heard
        self._stored: list[Stored] = []
        self._waited: Counter[str] = Counter()
        self._may_be_late = bool(LATE_FAULTS.keys() & set(faults))
        self._hash = hashlib.sha256()
        self._live: TableState | None = None  # of the table's last life
        self._replayed = TableState()  # by the bytes of every event that was stored
        self._violations: list[str] = []
        self._steps = self._over_at = 0
        self._seats = [
            self._seat("driver", self._make_driver),
            self._seat("table", self._make_table),
            self._seat("cage", self._make_cage),
            self._seat("display", self._make_display),
        ]
        self._people(disclosure, faults)

    def run(self, coups: int) -> WorldReport:
        """Play so many coups, and wait until everything is at rest."""
        self._person = SimulatedPerson(self._clock, self._life(coups))
        self._take_part([*self._seats, self._desk_seat, self._shoe, self._person])
        self._port.plug_in()
        try:
            while not self._person.over:
                self._step()
                if self._steps - self._over_at > _MOST_STEPS:
                    raise Violation("nothing goes on any more")  # noqa: TRY301 - as all others
            self._come_to_rest()
            self._hold()
        except Exception as error:  # noqa: BLE001 - reported with its step
            kind = "" if isinstance(error, Violation) else f"{type(error).__name__}: "
            self._violations.append(f"step {self._steps}: {kind}{error}")
        finally:
            self._person.leave()
        faults = self._trouble.came + self._staff.tally.faults
        liar = self._courier if isinstance(self._courier, LyingBroker) else None
        lies = liar.told if liar else {}
        return WorldReport(
            seed=self._seed,
            coups=self._staff.tally.coups,
            steps=self._steps,
            faults=dict(sorted(faults.items())),
            digest=self._digest(),
            violations=tuple(self._violations),
            lies={f"{kind} {lie}": count for (kind, lie), count in sorted(lies.items())},
            forged=liar.forged if liar else 0,
            named=tuple(sorted(liar.named)) if liar else (),
        )

    def save_log(self, path: Path) -> None:
        """Write the table's log as a file."""
        self._log_disk.save(path)

    def close(self) -> None:
        """End the world."""
        self._log_disk.close()

    # ---- construction ----

    def _seat(self, name: str, make: object) -> ProcessSlot:
        return ProcessSlot(name, make, self._clock, self._rng)  # type: ignore[arg-type] # each makes its own

    def _make_driver(self) -> WorldShell:
        clock, rng, fuse = self._clock, self._rng, self._mischief.fuses["driver"]
        self._driver = DriverProcess(
            self._topics,
            "world:shoe",
            self._profile[0],
            JournalRetention(),
            self._journals.next_session(),
            clock.utc_ns(),
            PeerKeys(self._keys.get(SHOE, ())),
        )
        check_notes(self._journals.acked, self._auditor.reports)
        effects = DriverEffects(self._journals, self._port, clock, rng, fuse)
        alone = {**effects.at_once, **effects.waiting, **clock_and_silence(clock)}
        perform_at_once(self._driver.start(), alone)
        return WorldShell(
            self._driver,
            self._courier,
            clock,
            rng,
            at_once=effects.at_once,
            waiting=effects.waiting,
            fuse=fuse,
        )

    def _make_table(self) -> WorldShell:
        clock, topics, fuse = self._clock, self._topics, self._mischief.fuses["table"]
        log = self._log_disk.open(self._stored.extend)
        presence = PresencePublisher(topics.status(SERVICE), log.next_session(), clock.utc_ns())
        table = Table(
            log,
            topics,
            self._rulebook,
            clock,
            roles=ROLES,
            result_required=self._profile[1].result == "required",
            salt_key=b"world",
            probe=fuse,
        )
        checkpoints = table.sign_checkpoints(CheckpointKeys(signing_key(topics), None, _SIGNED_S))
        if self._keys:
            access = Access(roles=ROLES, bus=BusPolicy(mode="required", keys=self._keys))
            table.access = lambda: access
            table.on_profile_cited = RawReader(self._profile[1]).contradiction
        process = TableProcess(
            table.writer,
            presence,
            checkpoints=checkpoints,
            consumers=[f"{CAGE}/{CONSUMER}"],
            guarded=bool(self._keys),
        )
        table.perform(process.start())
        self._compare_with_live(table.state)
        self._table = table
        return WorldShell(
            process,
            self._courier,
            clock,
            self._rng,
            at_once={**table.performers, **clock_and_silence(clock)},
            waiting={InspectLog: lambda _: None},
            fuse=fuse,
        )

    def _make_cage(self) -> WorldShell:
        process = CageProcess(
            self._topics,
            position=self._ledger.start(),
            head=self._ledger.head,
            utc_ns=self._clock.utc_ns(),
            session=self._seats[2].lives,
            consumer=CONSUMER,
            keys=PeerKeys(self._keys.get(CAGE, ())),
        )
        return WorldShell(
            process,
            self._courier,
            self._clock,
            self._rng,
            at_once=self._ledger.at_once,
            waiting=self._ledger.waiting,
            fuse=self._mischief.fuses["cage"],
        )

    def _make_display(self) -> WorldShell:
        process = DisplayProcess(
            self._topics,
            LiveState(self._clock),
            utc_ns=self._clock.utc_ns(),
            session=self._seats[3].lives,
        )
        return WorldShell(
            process,
            self._courier,
            self._clock,
            self._rng,
            at_once={},
            waiting={},
            fuse=Fuse("display", self._trouble),  # which no fault lights
        )

    def _people(self, disclosure: Disclosure, faults: Sequence[str]) -> None:
        waiting = Waiting(self._clock)
        view = WorldView(waiting)
        self._desk = WorldConsole(
            self._topics,
            (*PEOPLE, COUNT_ROOM),
            self._courier,
            waiting,
            view,
            self._clock,
            PeerKeys(self._keys.get(PEOPLE[0], ())),
        )
        if isinstance(self._courier, LyingBroker):
            self._courier.spared = self._desk.client
        self._desk_seat = self._seat("people", lambda: self._desk)
        dealing = DealingShoe(
            seed=self._seed,
            decks=self._rulebook.decks,
            disclosure=disclosure,
            cut_card=self._rulebook.decks * 52 - self._rng.randint(_SHORTEST, _LONGEST),
            profile=self._profile[1].id,
        )
        self._shoe = WorldShoe(
            self._port, dealing, waiting, self._clock, self._rng, first_shoe=_FIRST_SHOE
        )
        names = [name for name in faults if name in FAULTS and name not in dealing.profile.unfit]
        only_late = self._may_be_late and set(faults) <= LATE_FAULTS.keys()
        self._staff = Staff(
            self._desk,
            view,
            waiting,
            self._shoe,
            self._rulebook,
            seed=self._seed,
            rng=self._rng,
            plan=FaultPlan(self._seed, names, span=3 * len(names) + 1),
            restart_driver=lambda: self._kill("driver"),
            over=self._coup_over,
            # Who acts on what is only late makes a mistake of it: so they know that it is.
            **({"patience_s": 30, "quiet_s": 20} if only_late else {}),
        )

    async def _life(self, coups: int) -> None:
        await self._staff.play(coups)
        self._mischief.calm()
        if isinstance(self._courier, LyingBroker):
            self._courier.calm()
        farewell = AssignDealer(transaction="farewell", dealer="nobody")
        await self._desk.must(SUPERVISOR, farewell)

    # ---- the steps ----

    def _take_part(self, parts: Sequence[Actor]) -> None:
        self._parts = tuple(parts)
        works = [part.work for part in parts]
        self._turns = [(*works[first:], *works[:first]) for first in range(len(works))]

    def _delay(self, what: str) -> None:
        if what == "late_line":
            self._port.hold()
            self._late.begin(self._port.release)
        elif what == "late_adapter":
            # Nothing but time tells the halves of two lines of text from one line.
            lines = self._profile[1].wire.framer.kind == "line"
            share = self._rng.random()
            self._port.hold()
            midway = partial(self._port.pass_on, share, whole_lines=lines)
            self._late.begin(self._port.release, midway)
        elif what == "late_bus":
            seat = self._rng.choice([*self._seats, self._desk_seat])
            if seat.process is not None:
                seat.process.client.hold()
                self._late.begin(seat.process.client.release)
        else:
            self._stand_still(what.removeprefix("late_"))

    def _wait_for_disks(self) -> None:
        """Let a process whose write took long have done nothing meanwhile."""
        for disk, name in ((LATE_JOURNAL, "driver"), (LATE_LOG, "table")):
            if self._trouble.came[disk] > self._waited[disk]:
                self._waited[disk] += 1
                self._stand_still(name)

    def _stand_still(self, name: str) -> None:
        """Let a process do nothing for a while; what comes for it waits."""
        seat = next(each for each in self._seats if each.name == name)
        if seat in self._parts:
            self._take_part([part for part in self._parts if part is not seat])
            self._late.begin(lambda: self._take_part([*self._parts, seat]))

    def _step(self) -> None:
        self._steps += 1
        clock = self._clock
        clock.now_us += _STEP_US
        if self._late.wakes_us <= clock.now_us:
            self._late.pass_by()
        lasts = self._steps - self._over_at
        if lasts == _LEFT_ALONE:
            self._mischief.rest()
        elif lasts < _LEFT_ALONE:
            due = self._mischief.due(self._steps, clock.now_us)
            if due is not None:
                self._do(due)
        if not self._act():
            clock.until(min(self._late.wakes_us, *[part.wakes_us for part in self._parts]))
            self._late.pass_by()
            self._act()
        if self._stored:
            self._audit()
        if self._may_be_late:
            self._wait_for_disks()

    def _act(self) -> bool:
        """Let the first part with something to do work, counted from a random one."""
        work: Callable[[], bool] | None = None
        try:
            for work in self._turns[int(self._rng.random() * len(self._turns))]:
                if work():
                    return True
        except Killed as death:
            self._kill(death.process)
        except LogUnwritable:
            if work != self._seats[1].work:
                raise
            self._kill("table")  # the disk left it in doubt: only a new start can show it
        else:
            return False
        return True

    def _audit(self) -> None:
        stored = self._stored.copy()
        self._stored.clear()
        for each in stored:
            if each.position > self._auditor.position:
                self._hash.update(each.stored)
                self._witness.stored(each)
                event = decode_entry(each.stored).data
                self._auditor.hear(each.position, event)
                self._replayed = fold(self._replayed, event)
                if each.type in _BETS:
                    self._require_driver(each)

    def _require_driver(self, stored: Stored) -> None:
        """Nobody bets before the driver has told this connection of the table its newest event."""
        table = self._seats[1].process
        if isinstance(table, WorldShell) and self._topics.link_shoe not in table.live:
            raise Violation(f"{stored.type} at {stored.position}, and the driver is not known")

    def _heard(self, topic: str, payload: bytes) -> None:
        """Check a message to the broker, after taking the events stored by then."""
        if self._stored:
            self._audit()
        body = split_mac(payload).body if self._keys else payload
        self._witness.hear(topic, body)
        self._driver_witness.hear(topic, body)

    def _kill(self, name: str) -> None:
        seat = next(each for each in self._seats if each.name == name)
        if seat is self._seats[1] and seat.process is not None:
            self._live = self._table.state
        seat.kill()
        if name == "driver":
            self._port.close()

    def _do(self, what: str) -> None:
        match what:
            case "bus_disconnect":
                seat = self._rng.choice([*self._seats, self._desk_seat])
                if seat.process is not None:
                    seat.process.client.hang_up()
            case "bus_wipe":
                self._courier.wipe()
            case _ if what.startswith("late_"):
                self._delay(what)
            case "kill_display":
                self._kill("display")
            case _ if what.startswith("snapshot_"):
                self._log_disk.spoil_snapshot(what, self._rng)
            case "power_cut":
                self._kill("driver")
                self._kill("table")
                self._journals.power_cut()
                self._courier.wipe()

    def _coup_over(self, played: StaffCoup) -> None:
        self._audit()
        self._over_at = self._steps
        lying = _hands(played.lying)
        self._auditor.at_the_end(played.coup, lying, broken_off=played.broken_off)
        if self._seats[1].process is not None and self._rng.random() < _REPLAYED:
            check_replay(self._replayed, self._table.state)

    def _compare_with_live(self, opened: TableState) -> None:
        """Check that replay equals live; take the events that a failed commit left in doubt."""
        self._stored.extend(self._log_disk.stored(self._auditor.position))
        self._audit()
        live, self._live = self._live, None
        if (
            live is not None
            and live.position == opened.position
            and encode_state(live) != encode_state(opened)
        ):
            raise Violation(f"the log replays to another state than was live at {live.position}")

    # ---- the end ----

    def _come_to_rest(self) -> None:
        limit = self._clock.now_us + _REST_US
        while not self._at_rest():
            self._step()
            if self._clock.now_us > limit:
                said = self._witness.lacks or self._standing()
                raise Violation(f"consumers do not converge: {said}")

    def _at_rest(self) -> bool:
        together = len(set(self._standing().values())) == 1
        return together and self._reports_told() and not self._witness.lacks

    def _standing(self) -> dict[str, int]:
        """Return everybody's position."""
        display = self._seats[3].process
        shown = display.process if isinstance(display, WorldShell) else None
        document = None
        if isinstance(shown, DisplayProcess) and shown.live.health().reason != "bus":
            document = shown.live.document
        return {
            "log": self._auditor.position,
            "cage": self._ledger.position,
            "display": document.position if document else 0,
        }

    def _reports_told(self) -> bool:
        """Return whether the log has all reports of the newest journal."""
        recorder = self._driver.recorder
        return self._seats[0].process is not None and recorder.outbox.acked == recorder.decoder.head

    def _hold(self) -> None:
        """Compare log, journals, ledger and live state."""
        check_ledger(self._ledger, self._auditor.chips.purse)
        check_floats(self._ledger, self._staff.floats)
        still_us = 3 * LATE_MOST_US if self._may_be_late else 0
        check_journals(self._journals, self._profile[1], self._auditor.reports, still_us)
        if self._seats[1].process is None:
            raise OurBug("the table does not live, and all is at rest")
        self._witness.check_disk(self._log_disk.rows(0))
        check_replay(self._replayed, self._table.state)

    def _digest(self) -> str:
        whole = self._hash.copy()
        for journal in self._journals.journals:
            whole.update(self._journals.content(journal))
        return whole.hexdigest()


def _hands(lying: Sequence[FallenCard]) -> Hands:
    player = [fallen.card for fallen in lying if fallen.place.hand.value == "player"]
    banker = [fallen.card for fallen in lying if fallen.place.hand.value == "banker"]
    return Hands(player, banker)
