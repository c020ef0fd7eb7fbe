"""The timeline of a coup: each event as a line with time, actor and a plain sentence. Pure.

A line never omits a field of its event: an event without words of its own is listed field by field.
"""

from typing import Final

from msgspec import Struct

from events.money import Currency
from events.types import (
    AlarmCleared,
    AlarmRaised,
    BooksClosed,
    CheckpointKeyChanged,
    CorrectionAcknowledged,
    CorrectionSigned,
    DealerAssigned,
    IrregularityRecorded,
    LogAdopted,
    LoginsNoted,
    RulebookAdopted,
    ShoeErrorCleared,
    ShoeReported,
    TableEvent,
)
from table_core.narrative.cards import CARD_WORDS
from table_core.narrative.chips import CHIP_WORDS
from table_core.narrative.formatting import (
    EventWords,
    Phrase,
    Tone,
    WordsOf,
    decided,
    list_fields,
    plain_words,
    who,
)
from table_core.narrative.money import MONEY_WORDS
from table_core.narrative.table_texts import as_phrase
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
    details = (Phrase("alarm {name}", name=event.alarm),)
    return EventWords(Phrase("Alarm: {text}.", text=as_phrase(event.text)), details, "trouble")


def _assigned(event: DealerAssigned, _: Moment, __: Currency) -> EventWords:
    says = (
        "From here on {dealer} deals, under supervisor {supervisor}."
        if event.supervisor
        else "From here on {dealer} deals."
    )
    return EventWords(Phrase(says, dealer=event.dealer, supervisor=event.supervisor))


_WORDS: Final[dict[type[TableEvent], WordsOf]] = {
    **CARD_WORDS,
    **MONEY_WORDS,
    **CHIP_WORDS,
    RulebookAdopted: plain_words("From here on coups are played by {rulebook}."),
    BooksClosed: plain_words("The books of shoe {shoe} are closed at position {size}."),
    CheckpointKeyChanged: plain_words("From here on checkpoints are signed by {key}."),
    LogAdopted: plain_words(
        lambda e: Phrase(
            "{by} adopted the {size} events before: {reason}.",
            by=e.by or Phrase("The table"),
            size=f"{e.size:,}",
            reason=e.reason,
        )
    ),
    LoginsNoted: plain_words("The record of logins has {entries} entries."),
    AlarmRaised: _alarm,
    AlarmCleared: plain_words("The alarm {alarm} is over."),
    IrregularityRecorded: decided(
        lambda e: Phrase("An irregularity is on record: {kind}.", kind=e.kind.replace("_", " "))
    ),
    CorrectionAcknowledged: plain_words(
        "The chips of the correction of coup {coup} were moved.", "decision"
    ),
    CorrectionSigned: plain_words("The correction was signed by {signed}.", "decision"),
    DealerAssigned: _assigned,
    ShoeErrorCleared: decided(
        lambda e: Phrase(
            "The shoe's error is over, a person says: {code}.", code=e.code.replace("_", " ")
        )
    ),
}
