"""Coups for the benchmarks that need many different ones: seeded, dealt by the draw table.

`deal_coups` deals from shuffled shoes, as a real one would; `wagers_of` places three wagers a coup.
`BenchTable` plays on the product's own table.
"""

import random
from collections.abc import Iterator
from functools import cache
from itertools import count
from typing import Final

from events.cards import Card, Hand, total
from events.clock import SystemClock
from events.commands import ANSWER_ACCEPTED, Command, WagerRequest
from events.errors import OurBug
from events.log.store import EventLog
from events.mqtt.topics import Topics
from events.proof.note import SigningKey
from events.types import (
    AnyReport,
    CardDrawn,
    DeviceResult,
    LinkOpen,
    LinkUp,
    ShoeEvent,
)
from shoe_driver.profiles.catalogue import load_profile
from simulators.device.enq_bcc import card_byte, frame, target_byte
from table_core.process.checkpoints import CheckpointKeys
from table_core.rulebooks.shipped import load_rulebook
from table_core.rules.draw import hand_due
from table_core.service.table import Table
from table_core.state.table import TableState

__all__ = [
    "COUPS_A_SHOE",
    "SEED",
    "BenchTable",
    "Dealt",
    "deal_coups",
    "numbered",
    "result_of",
    "wagers_of",
]

SEED: Final = 20261128
COUPS_A_SHOE: Final = 60
_DECKS: Final = 8
_AT: Final = "2026-11-28T00:00:00.000000000Z"
_SEATS: Final = 7
_EVERY_S: Final = 300
_STAKES: Final = (500, 1_000, 2_500, 10_000)
_MAIN: Final = ("player", "banker")
_PROFILE: Final = "enq-bcc"
_SEQUENCE: Final = 9
_GROUP: Final = {Hand.PLAYER: 0, Hand.BANKER: 1}
_WINNERS: Final = {"player": 0x90, "tie": 0xA0, "banker": 0xC0}
_SIDES: Final = ("tie", "player_pair", "banker_pair")

Dealt = list[tuple[Hand, int, Card]]
"""A coup's cards in dealing order: the hand, the number within it, and the face."""


def deal_coups(seed: int = SEED) -> Iterator[Dealt]:
    """Yield coups without end; after every `COUPS_A_SHOE` the shoe is a new one."""
    draw = random.Random(seed)  # noqa: S311 - cards of a benchmark, the same in every run
    while True:
        shoe = list(Card) * _DECKS
        draw.shuffle(shoe)
        left = iter(shoe)
        for _ in range(COUPS_A_SHOE):
            yield _dealt(left)


def _dealt(shoe: Iterator[Card]) -> Dealt:
    hands: dict[Hand, list[Card]] = {Hand.PLAYER: [], Hand.BANKER: []}
    dealt: Dealt = []
    while True:
        hand, _ = hand_due(hands[Hand.PLAYER], hands[Hand.BANKER])
        if hand is None:
            return dealt
        hands[hand].append(next(shoe))
        dealt.append((hand, len(hands[hand]), hands[hand][-1]))


def result_of(dealt: Dealt) -> DeviceResult:
    """Return the shoe's own result."""
    player, banker = ([face for whose, _, face in dealt if whose is hand] for hand in Hand)
    ahead = total(player) - total(banker)
    return DeviceResult(
        winner="tie" if ahead == 0 else "player" if ahead > 0 else "banker",
        player_pair=player[0].rank == player[1].rank,
        banker_pair=banker[0].rank == banker[1].rank,
    )


def wagers_of() -> Iterator[tuple[WagerRequest, ...]]:
    """Yield three wagers a coup: two seats on a side each, and one of them on a side bet."""
    for number in count():
        first, second = number % _SEATS + 1, (number + 3) % _SEATS + 1
        yield (
            WagerRequest(seat=first, bet=_MAIN[number % 2], stake=_STAKES[number % 4]),
            WagerRequest(seat=second, bet=_MAIN[number // 3 % 2], stake=_STAKES[number // 2 % 4]),
            WagerRequest(seat=first, bet=_SIDES[number % 3], stake=_STAKES[0]),
        )


def numbered(seq: int, report: AnyReport) -> ShoeEvent:
    """Return a report as the driver publishes it, with all other fields."""
    return ShoeEvent(
        journal="bench",
        seq=seq,
        profile=_PROFILE,
        profile_hash=_profile_hash(),
        offset=seq,
        raw=_raw(seq % _SEQUENCE + 1, report),
        mono_us=seq,
        utc=_AT,
        report=report,
    )


@cache
def _profile_hash() -> str:
    return load_profile(_PROFILE).digest


@cache
def _raw(sequence: int, report: AnyReport) -> str:
    """Return a frame that says the report, in hex; nothing where it comes from no frame."""
    if isinstance(report, CardDrawn) and report.hand is not None and report.number is not None:
        target = target_byte(_GROUP[report.hand], report.number)
        return frame(sequence, "D", bytes([target, card_byte(report.face)])).hex()
    if isinstance(report, DeviceResult):
        pairs = report.banker_pair << 1 | report.player_pair
        return frame(sequence, "G", bytes([_WINNERS[report.winner] | pairs])).hex()
    return ""


class BenchTable:
    """A table on its log, and its inputs without a bus; the shoe's link is up.

    Args:
        log: of the table `bench/t1`.
        name: of the transactions, which are numbered.

    Raises:
        OurBug: from `ask`: the table refuses.
    """

    def __init__(self, log: EventLog, name: str = "bench") -> None:
        self._table = Table(
            log,
            Topics("bench", "t1"),
            load_rulebook("au-commission"),
            SystemClock(),
            roles={"all": frozenset({"dealer", "wagers"})},
        )
        self._name = name
        self._asked = self._said = 0
        self.say(LinkOpen(transport="bench"), LinkUp())

    @property
    def state(self) -> TableState:
        """The table's state."""
        return self._table.state

    def transaction(self) -> str:
        """Return the next transaction's id."""
        self._asked += 1
        return f"{self._name}-{self._asked}"

    def ask(self, command: Command) -> None:
        """Have a command carried out."""
        answer = self._table.ask("all", command, caught_up=True)
        if answer.result != ANSWER_ACCEPTED:
            raise OurBug(f"the bench's table refuses: {answer.text}")

    def sign_checkpoints(self, key: SigningKey) -> None:
        """Sign the log's checkpoints from now on; the log announces the key."""
        self._table.sign_checkpoints(CheckpointKeys(key, None, _EVERY_S))

    def make_due_checkpoint(self) -> None:
        """Store a checkpoint, where a settlement or the like has come since the last one."""
        self._table.make_due_checkpoint()

    def close_books(self) -> None:
        """Append the snapshot anchor of a shoe that has ended."""
        self._table.close_books()

    def say(self, *reports: AnyReport) -> None:
        """Hand the shoe's reports over, numbered."""
        for report in reports:
            self._said += 1
            self._table.hear(numbered(self._said, report))
