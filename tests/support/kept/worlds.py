"""Worlds that are kept for later builds: every shoe, both disclosures, everything going wrong.

What a site would have on its disks at the end is written out: the log as it lies on the table's,
the driver's journals, and the public key.
"""

import sqlite3
import tempfile
from contextlib import closing
from itertools import count
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from events.mqtt.topics import Topics
from simulators.device.profiles import GAMES, simulated_profile
from simulators.device.reports import Disclosure
from simulators.faults.registry import FAULTS
from simulators.world.auditor.rules import RULEBOOKS
from simulators.world.fault_plan import WORLD_FAULTS
from simulators.world.people.logins import signing_key
from simulators.world.world import World
from tests.support.kept.stories import LOG

_TOPICS: Final = Topics("world", "t1")
_MORE: Final = 4  # coups behind the last in which something is to go wrong
_LATE: Final = "ninth_copy"  # comes late in a shoe, and these are short
# Besides what falls to each: only some shoes tell it so.
_AGAIN: Final = {
    "world-2": ("overdraw_carried", "short_disclosure"),
    "world-5": ("misread_face", "unreadable_card"),
    "world-6": ("missing_report", "unreadable_card"),
}


class KeptWorld(NamedTuple):
    """Which world: the first seed that is one.

    Args:
        rulebook: its id.
        profile: its id.
        disclosure: when the shoe tells the faces.
        skip: so many such seeds are passed over.
    """

    rulebook: str
    profile: str
    disclosure: Disclosure
    skip: int = 0

    @property
    def seed(self) -> int:
        """A world draws these two first."""
        kind, passed = (self.profile, self.disclosure), 0
        for seed in count(1):
            rng = Random(f"{seed}/world")
            if (rng.choice(tuple(RULEBOOKS)), rng.choice(GAMES)) == (self.rulebook, kind):
                if passed == self.skip:
                    return seed
                passed += 1
        raise AssertionError


WORLDS: Final[dict[str, KeptWorld]] = {
    "world-1": KeptWorld("au-commission", "enq-bcc", "immediate"),
    "world-2": KeptWorld("nz-scale-one", "enq-bcc", "deferred"),
    "world-3": KeptWorld("ez", "ref-crc", "immediate"),
    "world-4": KeptWorld("nz-scale-two", "ref-crc", "deferred"),
    "world-5": KeptWorld("mini-lucky8", "text-line", "immediate"),
    "world-6": KeptWorld("au-even-money", "text-line-scan", "immediate"),
    "world-7": KeptWorld("mini-lucky8", "enq-bcc", "immediate"),
    "world-8": KeptWorld("au-even-money", "enq-bcc", "deferred"),
}
"""By story."""


def faults_of(story: str) -> tuple[str, ...]:
    """What goes wrong in it: each fault in the world that can have it and has the fewest."""
    shares: dict[str, list[str]] = {name: [] for name in WORLDS}
    for fault in sorted(FAULTS.keys() - {_LATE}):
        fit = [
            name
            for name, world in WORLDS.items()
            if fault not in simulated_profile(world.profile).unfit
        ]
        shares[min(fit, key=lambda name: len(shares[name]))].append(fault)
    return (*sorted({*shares[story], *_AGAIN.get(story, ())}), *WORLD_FAULTS)


def play_world(story: str, folder: Path) -> dict[str, int]:
    """Play it, and write what is on its disks.

    Returns:
        What went wrong, how often.
    """
    faults = faults_of(story)
    coups = 3 * len(set(faults) & set(FAULTS)) + _MORE
    with (
        tempfile.TemporaryDirectory() as there,
        closing(World(WORLDS[story].seed, faults, Path(there))) as world,
    ):
        report = world.run(coups)
        assert report.violations == (), report
        assert world._profile[1].id == WORLDS[story].profile
        with closing(sqlite3.connect(folder / LOG)) as db:
            world._log_disk._db.backup(db)
            db.execute("PRAGMA journal_mode=WAL")  # as every log is kept
        for journal in world._journals.journals:
            name = f"{journal}.{WORLDS[story].profile}.journal"
            (folder / name).write_bytes(world._journals.content(journal))
    (folder / "key.pub").write_text(f"{signing_key(_TOPICS).verifier}\n", "utf-8")
    return report.faults
