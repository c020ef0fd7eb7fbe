"""The registry of every event type that a log may hold, in its newest version."""

from typing import Final

from events.types import chips, commission, integrity, shoe_life, table
from events.types import corrections as correction
from events.types import irregularities as irregularity
from events.types import snapshot_anchor as books
from events.types import wagers as wagering
from events.types.table import TableEvent

__all__ = ["KINDS", "MONEY_TYPES", "TABLE_EVENTS"]

# The newest class of each type.
KINDS: Final[tuple[type[TableEvent], ...]] = (
    table.RulebookAdopted,
    table.ShoeLoaded,
    table.ShoeEnded,
    table.ShoeReported,
    table.BettingOpened,
    table.WagersPlaced,
    table.WagersWithdrawn,
    table.BettingClosed,
    table.CardDealt,
    table.CardDisclosed,
    table.DealCompleted,
    table.ResultConfirmed,
    table.ResultDisputed,
    table.CoupMisaligned,
    table.CoupSettled,
    table.CoupVoided,
    table.AlarmRaised,
    table.AlarmCleared,
    books.BooksClosed,
    chips.ChipsCorrected,
    chips.ChipsCounted,
    chips.ChipsCredited,
    chips.ChipsFilled,
    chips.DropCounted,
    chips.FloatClosed,
    chips.FloatOpened,
    commission.CommissionAccrued,
    commission.CommissionCollected,
    commission.CommissionPrepaid,
    commission.CommissionRecovered,
    commission.CommissionRefunded,
    commission.CommissionReturned,
    commission.CommissionReversed,
    commission.CommissionUncollected,
    correction.CorrectionAcknowledged,
    correction.CorrectionSigned,
    correction.HandsCorrected,
    correction.RulebookCorrected,
    correction.WagerCorrected,
    integrity.CheckpointKeyChanged,
    integrity.LogAdopted,
    integrity.LoginsNoted,
    irregularity.CardCorrected,
    irregularity.CardEntered,
    irregularity.CardMarkedUnreadable,
    irregularity.CardUnread,
    irregularity.CoupRealigned,
    irregularity.DealerAssigned,
    irregularity.ExcessCardDrawn,
    irregularity.ExcessCardResolved,
    irregularity.IrregularityRecorded,
    irregularity.ShoeErrorCleared,
    shoe_life.BurnRecorded,
    shoe_life.CutCardCame,
    shoe_life.ShoeAudited,
    shoe_life.ShoeCounted,
    shoe_life.ShoeHeld,
    shoe_life.ShoeReleased,
    shoe_life.ShuffleQuestioned,
    wagering.AggregateCapped,
    wagering.LimitsSet,
    wagering.WagersVoided,
)

TABLE_EVENTS: Final[dict[tuple[str, int], type[TableEvent]]] = {
    (kind.TYPE, kind.VERSION): kind for kind in KINDS
}

MONEY_TYPES: Final = frozenset(
    kind.TYPE
    for kind in KINDS
    if kind in {table.CoupSettled, table.CoupVoided, correction.WagerCorrected}
    or issubclass(kind, commission.CommissionEvent | chips.ChipEvent)
)
"""Types of the events by which money or chips move, or are counted."""
