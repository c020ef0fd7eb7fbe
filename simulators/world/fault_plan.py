"""The world's faults besides the shoe and its line, by name, and when they come.

The shoe's faults and the line's come with coups (`simulators.faults.registry`). These come at any
step: the bus, both disks, and the death of any process at any of its own steps.
"""

from collections.abc import Iterable
from random import Random
from typing import Final

from events.errors import InputError
from simulators.faults.registry import FAULTS
from simulators.world.parts.fault_injector import ArmedFaults, Fuse
from simulators.world.parts.journal_disk import JOURNAL_FULL, JOURNAL_SYNC_FAILED
from simulators.world.parts.lateness import LATE_JOURNAL, LATE_LOG
from simulators.world.parts.ledger import LEDGER_AWAY
from simulators.world.parts.log_disk import (
    DISK_FULL,
    SNAPSHOT_LOST,
    SNAPSHOT_OLD,
    SNAPSHOT_TORN,
    SYNC_FAILED,
    SYNC_FAILED_STORED,
)

__all__ = ["AT_ONCE", "LATE_FAULTS", "WORLD_FAULTS", "FaultInjector", "parse_world_faults"]

_MORTAL: Final = ("cage", "driver", "table")
AT_ONCE: Final = (
    *("bus_disconnect", "bus_wipe", "kill_display", "power_cut"),
    *(SNAPSHOT_LOST, SNAPSHOT_OLD, SNAPSHOT_TORN),
    *(
        "late_adapter",
        "late_bus",
        "late_line",
        "late_cage",
        "late_display",
        "late_driver",
        "late_table",
    ),
)
"""Faults that the world causes itself, between two steps."""

WORLD_FAULTS: Final[dict[str, str]] = {
    "bus_disconnect": "somebody's connection to the broker breaks, with all that was on its way",
    "bus_drop": "the broker loses messages, and says nothing",
    "bus_duplicate": "messages come twice",
    "bus_reorder": "messages come after later ones",
    "bus_wipe": "the broker is killed, and comes back with nothing",
    "kill_cage": "the cage dies at one of its own steps",
    "kill_display": "the display dies",
    "kill_driver": "the driver dies at one of its own steps, perhaps in the midst of a write",
    "kill_table": "the table dies at one of its own steps",
    "power_cut": "driver, table and broker die at once; what was not synced is gone",
    SNAPSHOT_LOST: "the snapshot beside the log is gone",
    SNAPSHOT_OLD: "the snapshot beside the log is an earlier one",
    SNAPSHOT_TORN: "the snapshot beside the log ends too early",
    LEDGER_AWAY: "the ledger's database is away; the batch on its way may be booked",
    JOURNAL_FULL: "the journal's disk is full",
    JOURNAL_SYNC_FAILED: "the journal's fsync fails",
    DISK_FULL: "the log's disk is full",
    SYNC_FAILED: "the log's commit fails, and is not there",
    SYNC_FAILED_STORED: "the log's commit fails, and is there all the same",
}
"""Name to meaning."""

LATE_FAULTS: Final[dict[str, str]] = {
    "late_adapter": "the shoe's bytes come in two reads, up to five seconds late; frames are cut",
    "late_bus": "messages to somebody come up to five seconds late, all of them, in order",
    "late_cage": "the cage stands still for up to five seconds",
    "late_display": "the display stands still for up to five seconds",
    "late_driver": "the driver stands still for up to five seconds",
    LATE_JOURNAL: "a write of the journal takes up to five seconds",
    "late_line": "the shoe's bytes come up to five seconds late, and all at once",
    LATE_LOG: "a commit of the log takes up to five seconds",
    "late_table": "the table stands still for up to five seconds",
}
"""Name to meaning: nothing is lost, and what is late is told once. `all` does not mean these."""

_EVERY_STEPS: Final = 450  # on average; a coup takes some hundred
# Now and then no fault comes for longer than people and services wait for each other. Otherwise a
# table that fails twice a minute would, rightly, never finish.
_QUIET, _QUIET_US = 0.03, 90_000_000
# Chances in a row that a fault spoils: a bad broker is bad for a while, and so is a full disk.
_ROWS: Final = {
    "bus_drop": 4,
    "bus_duplicate": 6,
    "bus_reorder": 6,
    DISK_FULL: 3,
    JOURNAL_FULL: 3,
    LEDGER_AWAY: 3,
}
_FUSE: Final = 10  # its own steps that a process still takes before it dies


def parse_world_faults(text: str) -> tuple[str, ...]:
    """Read `all`, `late`, `none`, or names with commas between them; sorted, each once.

    Raises:
        InputError: there is no fault of that name; lists the names.
    """
    usual = {*FAULTS, *WORLD_FAULTS}
    known = usual | LATE_FAULTS.keys()
    names = {name.strip() for name in text.split(",") if name.strip()}
    unknown = sorted(names - known - {"all", "late", "none"})
    if unknown or not names:
        there_are = ", ".join(sorted(known))
        raise InputError(
            f"no fault {', '.join(unknown) or text!r}; there are all, late, none, {there_are}"
        )
    meant = (usual if "all" in names else set()) | (set(LATE_FAULTS) if "late" in names else set())
    return tuple(sorted(meant | (names - {"all", "late", "none"})))


class FaultInjector:
    """Draws the next faults, and kills processes.

    Args:
        names: of the possible faults; those of the shoe are ignored.
        rng: decides when, and which.
        trouble: keeps the armed faults.

    Attributes:
        fuses: by process, what it calls at its own steps; it may die there.
    """

    def __init__(self, names: Iterable[str], rng: Random, trouble: ArmedFaults) -> None:
        self._names = [name for name in (*WORLD_FAULTS, *LATE_FAULTS) if name in set(names)]
        self._rng = rng
        self._trouble = trouble
        self._next = 0
        self._quiet_until_us = 0
        self.fuses = {name: Fuse(name, trouble) for name in _MORTAL}
        self._deaths = {f"kill_{name}": fuse for name, fuse in self.fuses.items()}
        self._wait(0, 0)

    def due(self, step: int, now_us: int) -> str | None:
        """Return a fault that the world causes now; others are armed and wait for their chance."""
        if step < self._next or now_us < self._quiet_until_us:
            return None
        self._wait(step, now_us)
        if not self._names:
            return None
        name = self._rng.choice(self._names)
        if name in AT_ONCE:
            self._trouble.came[name] += 1
            return name
        if name in self._deaths:
            fuse, steps = self._deaths[name], self._rng.randrange(_FUSE)
            fuse.left = steps if fuse.left is None else fuse.left
        else:
            self._trouble.arm(name, self._rng.randint(1, _ROWS.get(name, 1)))
        return None

    def rest(self) -> None:
        """Cancel the faults that are armed."""
        for fuse in self.fuses.values():
            fuse.left = None
        self._trouble.calm()

    def calm(self) -> None:
        """Stop all faults."""
        self._names.clear()
        self.rest()

    def _wait(self, step: int, now_us: int) -> None:
        self._next = step + self._rng.randint(1, 2 * _EVERY_STEPS)
        if self._rng.random() < _QUIET:
            self._quiet_until_us = now_us + _QUIET_US
