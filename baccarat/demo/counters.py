"""The demo's counts while it plays, and the audit of the log at the end.

The audit compares the log with what physically happened, coup by coup, and stays strict where a
fault was planned:

- In a coup that settled, the cards in the log must be those that fell, each in its place, whether
  the shoe, a disclosure or a person reported them. A missing card is *lost*; an extra or a
  different one is *doubled* (a wrong face is both).
- A void coup paid nobody, and is void because its cards were not all known. A card that the line
  lost is not counted as lost there, but the log may still not have more cards than fell.
- In every coup the shoe may not report more cards than fell, a carried-over card included: three
  copies are one report, and each card is reported once. An excess card is not in its coup's hands;
  carried over, it is in the next one's.
- No settlement is in the log twice.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import quantiles
from typing import Final

from msgspec import Struct, field

from events.cards import Card, Hand
from events.types import (
    BettingOpened,
    CardCarriedOver,
    CardCorrected,
    CardDealt,
    CardDisclosed,
    CardDrawn,
    CardEntered,
    CardMarkedUnreadable,
    CoupMisaligned,
    CoupSettled,
    Settlement,
    ShoeReported,
    TableEvent,
)
from simulators.device.printed_rules import next_place
from simulators.people.dealer_and_patrons import PlayedCoup
from simulators.people.supervisor import GameTally

__all__ = ["Audit", "DemoStatistics", "Percentiles", "Receipt", "Summary", "audit"]

# A demo that plays for days keeps only the newest of these.
_LATENCIES_KEPT: Final = 100_000
_NANOSECONDS_PER_MS: Final = 1_000_000


class Receipt(Struct, frozen=True, kw_only=True):
    """A settlement was booked.

    Args:
        settlement: the settlement.
        position: its event's position in the log.
        booked_ns: `time.monotonic_ns()` when it was on disk.
    """

    settlement: Settlement
    position: int
    booked_ns: int


class Percentiles(Struct, frozen=True, kw_only=True):
    """Milliseconds from the deciding frame's last byte to the booking; None without coups."""

    p50: float | None
    p99: float | None


class Summary(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The last document of `demo --json`; money in minor units.

    The fields after the latency are present where a fault happened or was planned.

    Args:
        coups: played.
        cards: that physically fell in them.
        settlements: booked by the cage, those included that a later revision replaced.
        acknowledged: settlements that the cage has acknowledged to the table.
        staked: in all settlements in force.
        paid: out of them, returned stakes included.
        commission: taken from winnings.
        house: staked less paid.
        lost: cards that fell and are not in the log.
        duplicates: cards or settlements that are in the log more often than they happened.
        misaligned: coups that broke and that the supervisor resolved.
        log: the event log's file.
        latency_ms: from the deciding frame to the cage's booking, in coups without a planned fault
            or a
            person's help.
        voided: voided coups.
        faults: faults that happened, by name.
        done: corrections by hand, by the command's name.
        refused: refusals of the table, by code.
    """

    coups: int
    cards: int
    settlements: int
    acknowledged: int
    staked: int
    paid: int
    commission: int
    house: int
    lost: int
    duplicates: int
    misaligned: int
    log: str
    latency_ms: Percentiles
    voided: int = 0
    faults: dict[str, int] = {}
    done: dict[str, int] = {}
    refused: dict[str, int] = {}


class DemoStatistics:
    """Counts coups as the dealer ends them, and settlements as the cage books them."""

    def __init__(self) -> None:
        self.played: list[PlayedCoup] = []
        self.positions: list[int] = []
        self.staked = self.paid = self.commission = 0
        self.last: Settlement | None = None
        self._decided: dict[str, int] = {}
        self._booked: dict[str, int] = {}
        self._latencies: list[float] = []

    def on_coup(self, coup: PlayedCoup) -> None:
        """Count a coup that is over."""
        self.played.append(coup)
        if coup.phase == "settled" and coup.fault is None and not coup.by_hand:
            self._decided[coup.coup] = coup.dealt.decided_ns
            self._pair(coup.coup)

    def on_receipt(self, receipt: Receipt) -> None:
        """Count a settlement that the cage has booked."""
        settlement = receipt.settlement
        self.positions.append(receipt.position)
        self._add(settlement)
        self.last = settlement
        if settlement.winner is not None and settlement.revision == 1:
            self._booked[settlement.coup] = receipt.booked_ns
            self._pair(settlement.coup)

    @property
    def house(self) -> int:
        """The house's win, minor units."""
        return self.staked - self.paid

    def latency(self) -> Percentiles:
        """Return the percentiles so far."""
        if len(self._latencies) < 2:  # noqa: PLR2004 - a quantile needs two
            only = self._latencies[0] if self._latencies else None
            return Percentiles(p50=only, p99=only)
        cuts = quantiles(self._latencies, n=100, method="inclusive")
        return Percentiles(p50=round(cuts[49], 3), p99=round(cuts[98], 3))

    def summary(
        self, audit: "Audit", tally: GameTally, *, acknowledged_to: int, log: str
    ) -> Summary:
        """Return the demo's summary."""
        return Summary(
            coups=len(self.played),
            cards=sum(len(coup.dealt.cards) for coup in self.played),
            settlements=len(self.positions),
            acknowledged=sum(position <= acknowledged_to for position in self.positions),
            staked=self.staked,
            paid=self.paid,
            commission=self.commission,
            house=self.house,
            lost=audit.lost,
            duplicates=audit.duplicates,
            misaligned=audit.misaligned,
            log=log,
            latency_ms=self.latency(),
            voided=tally.voided,
            faults=dict(sorted(tally.faults.items())),
            done=dict(sorted(tally.done.items())),
            refused=dict(sorted(tally.refused.items())),
        )

    def _add(self, settlement: Settlement) -> None:
        """Add a first settlement whole, a revision by its difference from the one it replaces."""
        counted = settlement.difference if settlement.revision > 1 else (settlement,)
        self.staked += sum(each.staked for each in counted)
        self.paid += sum(each.paid for each in counted)
        self.commission += sum(each.commission for each in counted)

    def _pair(self, coup: str) -> None:
        """Measure the latency once both dealer and cage have reported the coup, in either order."""
        if coup in self._decided and coup in self._booked:
            took = self._booked.pop(coup) - self._decided.pop(coup)
            self._latencies.append(took / _NANOSECONDS_PER_MS)
            del self._latencies[:-_LATENCIES_KEPT]


class Audit(Struct, frozen=True, kw_only=True):
    """The log's differences from the coups that were played; see `Summary`."""

    lost: int
    duplicates: int
    misaligned: int


class _InLog(Struct):
    """The log's record of one coup."""

    cards: dict[tuple[Hand, int], Card | None] = field(default_factory=dict)
    told: int = 0
    misaligned: bool = False


def audit(events: Iterable[TableEvent], played: Sequence[PlayedCoup]) -> Audit:
    """Compare the log with what physically happened.

    Args:
        events: the whole log, in order.
        played: the coups as the simulated shoe dealt them.
    """
    coups: dict[str, _InLog] = {}
    settled: Counter[str] = Counter()
    current = _InLog()
    for event in events:
        match event:
            case BettingOpened(coup=coup):
                current = coups[coup] = _InLog()
            case ShoeReported(source=source):
                current.told += isinstance(source.report, CardDrawn | CardCarriedOver)
            case CardDealt() | CardDisclosed() | CardEntered() | CardCorrected():
                current.cards[event.hand, event.number] = event.card
            case CardMarkedUnreadable():
                current.cards[event.hand, event.number] = None
            case CoupSettled(settlement=settlement):
                settled[settlement.settlement_id] += 1
            case CoupMisaligned():
                current.misaligned = True
            case _:
                pass
    lost = 0
    duplicates = sum(times - 1 for times in settled.values())
    for each in played:
        held = coups.get(each.coup, _InLog())
        missing, extra = _differences(each, held)
        lost += missing
        duplicates += extra + max(0, held.told - len(each.dealt.cards))
    misaligned = sum(coups[each.coup].misaligned for each in played if each.coup in coups)
    return Audit(lost=lost, duplicates=duplicates, misaligned=misaligned)


def _differences(coup: PlayedCoup, held: _InLog) -> tuple[int, int]:
    """Return (cards that fell but are not in their place in the log, cards in excess there)."""
    if coup.phase == "voided":
        return 0, max(0, len(held.cards) - len(coup.dealt.cards))
    fell = {(*_place(coup.dealt.cards, n), card) for n, card in enumerate(coup.dealt.cards)}
    known = {(hand, number, card) for (hand, number), card in held.cards.items() if card}
    return len(fell - known), len(known - fell)


def _place(cards: Sequence[Card], number: int) -> tuple[Hand, int]:
    """Return where the card of this number fell, by the printed rules."""
    place = next_place(cards[:number])
    assert place is not None  # noqa: S101 - it fell
    return place.hand, place.number
