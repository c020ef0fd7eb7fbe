"""A way from the shoe to the driver on which bytes are late, in order and never lost. Pure.

Time is in microseconds. `play` has simulated shoes speak over such a way into the decoder, which is
told of half a frame that does not go on as the driver tells it, and gives what was told beside what
fell.
"""

import random
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from events.cards import Card
from events.types import AnyReport, BurnCard, CardDrawn, CardRevealed, FirstCard
from shoe_driver.decode import Decoder
from shoe_driver.journal.records import Record, RecordKind
from shoe_driver.profiles.catalogue import load_profile
from shoe_driver.profiles.profile import Profile
from simulators.device.ref_link import RefLink
from simulators.device.reports import Disclosure
from simulators.shoe.dealing import DealingShoe, Happening, ReportStep

SECOND: Final = 1_000_000
STAGES: Final = ("byte", "piece", "sending", "copies", "reader")
"""What is held back: each byte, each piece of some, each sending, all sendings of a report but the
first, or all that a reader who stands still has not taken."""

_MS: Final = 1_000
_TICK_US: Final = 25_000  # how often a link that answers is looked at
_REST_US: Final = 20 * SECOND  # for all that is on the way to arrive, and to be asked for
_SELDOM: Final = 0.1
_BITS_A_BYTE: Final = 10
_FACED: Final = (BurnCard, CardDrawn, CardRevealed, FirstCard)


class _Late:
    """One stage of the way; each byte is late by `most_us` at most, and overtakes none before."""

    def __init__(self, whims: random.Random, most_us: int, stage: str) -> None:
        self._whims, self._most, self._stage = whims, most_us, stage
        self._last = self._stands_until = 0
        self._coming: deque[tuple[int, bytes]] = deque()

    def send(self, at: int, data: bytes, number: int = 0) -> None:
        """The `number`th sending of a report, or a piece of one."""
        size = {"byte": 1, "piece": self._whims.randint(1, 20)}.get(self._stage, len(data) or 1)
        for start in range(0, len(data), size):
            self._last = max(self._last, at + self._held_back(number))
            self._coming.append((self._last, data[start : start + size]))

    def arrived(self, now: int | None = None) -> Iterator[tuple[int, int, bytes]]:
        """What has come by `now`, or ever: when it came, when it is read, and what it is."""
        while self._coming and (now is None or self._coming[0][0] <= now):
            came, data = self._coming.popleft()
            if self._stage != "reader":
                yield came, came, data
                continue
            if came >= self._stands_until and self._whims.random() < _SELDOM:
                self._stands_until = came + self._whims.randint(1, self._most)
            read = max(came, self._stands_until)
            while self._coming and self._coming[0][0] < read:
                data += self._coming.popleft()[1]
            yield came, read, data

    def _held_back(self, number: int) -> int:
        late = self._whims.choice((0, self._whims.randint(0, self._most), self._most))
        if self._stage in ("byte", "piece"):
            return late if self._whims.random() < _SELDOM else 0
        return late if self._stage == "sending" or (self._stage == "copies" and number) else 0


@dataclass
class Played:
    """What fell, and what was told of it."""

    fell: list[Card] = field(default_factory=list)
    drawn: int = 0
    reports: list[AnyReport] = field(default_factory=list)

    @property
    def faces(self) -> list[Card]:
        """The faces that were told, in order."""
        told = [report.face for report in self.reports if isinstance(report, _FACED)]
        return [face for face in told if face is not None]

    @property
    def draws(self) -> int:
        """How many cards of coups were told as they were drawn."""
        return sum(isinstance(report, CardDrawn) for report in self.reports)


class _Driver:
    """The decoder, told of time as `shoe_driver.process.silence_watch` tells it."""

    def __init__(self, profile: Profile, played: Played) -> None:
        self.decoder = Decoder(profile, "j")
        self._patience_us = profile.patience_ms * _MS
        self._played = played
        self._read_us = 0
        self._feed(RecordKind.OPEN, 0, b"late")

    def take(self, came: int, read: int, data: bytes) -> None:
        """Bytes; until they came nothing waited to be read."""
        if self.decoder.pending and came - self._read_us > self._patience_us:
            self._feed(RecordKind.QUIET, self._read_us + self._patience_us)
        self._feed(RecordKind.DATA, read, data)
        self._read_us = read

    def _feed(self, kind: RecordKind, at: int, payload: bytes = b"") -> None:
        events = self.decoder.feed(Record(kind, at, at * _MS, payload))
        self._played.reports += [event.report for event in events]


class _Way:
    """Stages one behind the other, and the driver at their end."""

    def __init__(self, stages: Sequence[_Late], driver: _Driver) -> None:
        self._stages, self._driver = stages, driver
        self.send = stages[0].send

    def carry(self, now: int | None = None) -> Iterator[int]:
        """Whatever arrives by `now`, or ever; when each read was."""
        for stage, following in zip(self._stages, self._stages[1:], strict=False):
            for _, at, data in stage.arrived(now):
                following.send(at, data)
        for came, read, data in self._stages[-1].arrived(now):
            self._driver.take(came, read, data)
            yield read


def play(
    name: str,
    disclosure: Disclosure,
    stages: Sequence[str],
    seed: str,
    *,
    coups: int,
    most_us: int = 5 * SECOND,
    speed: float = 1.0,
) -> Played:
    """Deal coups over a way of these stages.

    Args:
        name: the wire profile.
        disclosure: of the shoe.
        stages: of `STAGES`; together they hold a byte back for `most_us` at most.
        seed: of the cards and of the way.
        coups: how many.
        most_us: see `stages`.
        speed: 1 is a live table's pace.
    """
    whims, played = random.Random(seed), Played()
    dealing = DealingShoe(seed=whims.randrange(1000), disclosure=disclosure, profile=name)
    steps = list(_timed(_dealt(dealing, whims, played, coups), speed))
    driver = _Driver(load_profile(name), played)
    way = _Way([_Late(whims, most_us // len(stages), stage) for stage in stages], driver)
    if dealing.profile.linked:
        _play_linked(steps, way, driver, _Late(whims, most_us, "sending"))
        return played
    free = 0
    for at, step in steps:
        for number, copy in enumerate(step.copies):
            free = max(at, free) + len(copy) * _BITS_A_BYTE * SECOND // dealing.profile.baud
            way.send(free, copy, number)
    for _ in way.carry():
        pass
    return played


def _dealt(
    dealing: DealingShoe, whims: random.Random, played: Played, coups: int
) -> Iterator[Happening]:
    """Every report of so many coups; some have fewer copies than were sent."""
    shoe = 0
    for _ in range(coups):
        if dealing.over:
            shoe += 1
            steps, burn = dealing.new_shoe(f"20261127-{shoe:02d}")
            yield from steps
            burned = [burn.first, *burn.burned]
            played.fell += burned if len(steps) >= len(burned) else []
        happenings, coup = dealing.coup("copy_lost" if whims.random() < _SELDOM else None)
        yield from happenings
        played.fell += coup.cards
        played.drawn += len(coup.cards)


def _timed(happenings: Iterator[Happening], speed: float) -> Iterator[tuple[int, ReportStep]]:
    at = SECOND
    for step in happenings:
        assert isinstance(step, ReportStep)
        at += int(step.pause * SECOND / speed) + _MS
        yield at, step


def _play_linked(
    steps: Sequence[tuple[int, ReportStep]], way: _Way, driver: _Driver, back: _Late
) -> None:
    """A device that minds its host: what the host says is late too."""
    link, due = RefLink(), deque(steps)
    back.send(0, driver.decoder.greeting())
    for now in range(0, steps[-1][0] + _REST_US, _TICK_US):
        for _, _, data in back.arrived(now):
            link.hear(data)
        frames = link.due(now // _MS) if now >= steps[0][0] else []
        while due and due[0][0] <= now:
            step = due.popleft()[1]
            frames += link.report(step.copies, step.wire, now // _MS) if step.copies else []
        for frame in frames:
            way.send(now, frame)
        for read in way.carry(now):
            back.send(read, driver.decoder.replies())
