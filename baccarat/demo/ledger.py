"""What the demo counts while it plays, and the audit of the log when it has played."""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import quantiles
from typing import Final

from msgspec import Struct

from events.cards import Card
from events.shoe import CardDrawn, CardRevealed
from events.table import (
    BettingOpened,
    CoupMisaligned,
    CoupSettled,
    Settlement,
    ShoeReported,
    TableEvent,
)
from simulators.cage import Receipt
from simulators.croupier import PlayedCoup

__all__ = ["Audit", "Ledger", "Percentiles", "Summary", "audit"]

# A demo that plays for days keeps the newest of these.
_LATENCIES_KEPT: Final = 100_000
_NANOSECONDS_PER_MS: Final = 1_000_000


class Percentiles(Struct, frozen=True, kw_only=True):
    """Milliseconds from the deciding frame's last byte to the cage's book; None without coups."""

    p50: float | None
    p99: float | None


class Summary(Struct, frozen=True, kw_only=True):
    """The document that `demo --json` ends with; money in minor units.

    Args:
        coups: played.
        cards: that physically fell in them.
        settlements: the cage has booked.
        acknowledged: of these, the cage has acknowledged to the table.
        staked: in all settlements.
        paid: out of them, stakes that went back included.
        commission: kept of winnings.
        house: staked less paid.
        lost: cards that fell and are not in the log.
        duplicates: cards or settlements that are in the log more often than they happened.
        misaligned: coups that broke and were resolved by the supervisor.
        log: the event log's file.
        latency_ms: from the deciding frame to the cage's book.
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


class Ledger:
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
        """A coup is over."""
        self.played.append(coup)
        if coup.phase == "settled":
            self._decided[coup.coup] = coup.dealt.decided_ns
            self._pair(coup.coup)

    def on_receipt(self, receipt: Receipt) -> None:
        """The cage has booked a settlement."""
        settlement = receipt.settlement
        self.positions.append(receipt.position)
        self.staked += settlement.staked
        self.paid += settlement.paid
        self.commission += settlement.commission
        self.last = settlement
        if settlement.winner is not None:  # the first phase is paid before the deciding frame
            self._booked[settlement.coup] = receipt.booked_ns
            self._pair(settlement.coup)

    @property
    def house(self) -> int:
        """What the house has won."""
        return self.staked - self.paid

    def latency(self) -> Percentiles:
        """The percentiles so far."""
        if len(self._latencies) < 2:  # noqa: PLR2004 - a quantile needs two
            only = self._latencies[0] if self._latencies else None
            return Percentiles(p50=only, p99=only)
        cuts = quantiles(self._latencies, n=100, method="inclusive")
        return Percentiles(p50=round(cuts[49], 3), p99=round(cuts[98], 3))

    def summary(self, audit: "Audit", *, acknowledged_to: int, log: str) -> Summary:
        """The demo's last word."""
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
        )

    def _pair(self, coup: str) -> None:
        """Dealer and cage tell of a coup in either order."""
        if coup in self._decided and coup in self._booked:
            took = self._booked.pop(coup) - self._decided.pop(coup)
            self._latencies.append(took / _NANOSECONDS_PER_MS)
            del self._latencies[:-_LATENCIES_KEPT]


class Audit(Struct, frozen=True, kw_only=True):
    """What the log says of the coups that were played; see `Summary`."""

    lost: int
    duplicates: int
    misaligned: int


def audit(events: Iterable[TableEvent], played: Sequence[PlayedCoup]) -> Audit:
    """Hold the log against what physically happened.

    Args:
        events: the whole log, in order.
        played: the coups as the simulated shoe dealt them.
    """
    told: dict[str, Counter[Card]] = {}
    settled: Counter[str] = Counter()
    broken: set[str] = set()
    current = ""
    for event in events:
        match event:
            case BettingOpened(coup=current):
                told[current] = Counter()
            case ShoeReported(source=source) if current:
                report = source.report
                if isinstance(report, CardDrawn | CardRevealed) and report.face:
                    told[current][report.face] += 1
            case CoupSettled(settlement=settlement):
                settled[settlement.settlement_id] += 1
            case CoupMisaligned(coup=misaligned):
                broken.add(misaligned)
            case _:
                pass
    lost = duplicates = 0
    for coup in played:
        fell: Counter[Card] = Counter(coup.dealt.cards)
        seen = told.get(coup.coup, Counter())
        lost += (fell - seen).total()
        duplicates += (seen - fell).total()
    duplicates += sum(times - 1 for times in settled.values())
    return Audit(
        lost=lost,
        duplicates=duplicates,
        misaligned=len(broken & {coup.coup for coup in played}),
    )
