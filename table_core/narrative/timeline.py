"""The timeline of a coup: each event as a line with time, actor and a plain sentence. Pure.

A line never omits a field of its event: an event without words of its own is listed field by field.
"""

from typing import Final

from msgspec import Struct

from events.money import Currency
from events.types.integrity import CheckpointKeyChanged, LogAdopted
from events.types.irregularities import DealerAssigned, IrregularityRecorded, ShoeErrorCleared
from events.types.snapshot_anchor import BooksClosed
from events.types.table import AlarmCleared, AlarmRaised, RulebookAdopted, ShoeReported, TableEvent
from table_core.narrative.cards import CARD_WORDS
from table_core.narrative.chips import CHIP_WORDS
from table_core.narrative.formatting import (
    EventWords,
    Tone,
    WordsOf,
    decided,
    list_fields,
    plain_words,
    who,
)
from table_core.narrative.money import MONEY_WORDS
from table_core.replay.coup_events import Moment

__all__ = ["RawBytes", "TimelineLine", "narrate_event"]


_TABLE: Final = who("core")


class RawBytes(Struct, frozen=True, kw_only=True):
    """The bytes of a shoe's report, and their place in the raw journal."""

    journal: str
    seq: int
    offset: int
    hex: str


class TimelineLine(Struct, frozen=True, kw_only=True):
    """One event as a line of the timeline.

    Args:
        position: in the log.
        at: RFC 3339.
        who: the shoe, the table, or a user.
        cause: the command or report that caused it; lines of one cause are one step.
        type: the event's type.
        says: the event as a sentence.
        details: further lines.
        tone: its subject.
        raw: the raw bytes of the report.
    """

    position: int
    at: str
    who: str
    cause: str
    type: str
    says: str
    details: tuple[str, ...] = ()
    tone: Tone = "plain"
    raw: RawBytes | None = None


def narrate_event(moment: Moment, currency: Currency, *, follows: bool = False) -> TimelineLine:
    """Return the line of one event.

    Args:
        moment: the event.
        currency: for amounts.
        follows: whether another event of the same cause precedes it, so that the table made it.
    """
    fact = moment.fact
    words = _WORDS.get(type(fact.event), list_fields)
    told = words(fact.event, moment, currency)
    return TimelineLine(
        position=fact.position,
        at=fact.at,
        who=_TABLE if follows and told.tone != "decision" else who(fact.actor),
        cause=fact.cause,
        type=fact.event.TYPE,
        says=told.says,
        details=told.details,
        tone=told.tone,
        raw=_raw(fact.event),
    )


def _raw(event: TableEvent) -> RawBytes | None:
    if not isinstance(event, ShoeReported):
        return None
    source = event.source
    return RawBytes(journal=source.journal, seq=source.seq, offset=source.offset, hex=source.raw)


# ---- people and alarms ----


def _alarm(event: AlarmRaised, _: Moment, __: Currency) -> EventWords:
    return EventWords(f"Alarm: {event.text}.", (f"alarm {event.alarm}",), "trouble")


def _assigned(event: DealerAssigned, _: Moment, __: Currency) -> EventWords:
    under = f", under supervisor {event.supervisor}" if event.supervisor else ""
    return EventWords(f"From here on {event.dealer} deals{under}.")


_WORDS: Final[dict[type[TableEvent], WordsOf]] = {
    **CARD_WORDS,
    **MONEY_WORDS,
    **CHIP_WORDS,
    RulebookAdopted: plain_words(lambda e: f"From here on coups are played by {e.rulebook}."),
    BooksClosed: plain_words(
        lambda e: f"The books of shoe {e.shoe} are closed at position {e.size}."
    ),
    CheckpointKeyChanged: plain_words(lambda e: f"From here on checkpoints are signed by {e.key}."),
    LogAdopted: plain_words(
        lambda e: f"{e.by or 'The table'} adopted the {e.size:,} events before: {e.reason}."
    ),
    AlarmRaised: _alarm,
    AlarmCleared: plain_words(lambda e: f"The alarm {e.alarm} is over."),
    IrregularityRecorded: decided(
        lambda e: f"An irregularity is on record: {e.kind.replace('_', ' ')}."
    ),
    DealerAssigned: _assigned,
    ShoeErrorCleared: decided(
        lambda e: f"The shoe's error is over, a person says: {e.code.replace('_', ' ')}."
    ),
}
