"""Sentences for events about the table's chips: float, fills, credits, counts, the drop. Pure."""

from collections.abc import Iterable
from typing import Final

from events.types.chips import (
    ChipsCorrected,
    ChipsCounted,
    ChipsCredited,
    ChipsFilled,
    DropCounted,
    FloatClosed,
    FloatOpened,
    Pieces,
)
from events.types.table import TableEvent
from table_core.narrative.formatting import EventWords, WordsOf, amount
from table_core.replay.coup_events import Moment

__all__ = ["CHIP_WORDS"]


def _opened(event: FloatOpened, _: Moment, __: str) -> EventWords:
    says = f"Float {event.float_id} was opened with {amount(event.amount, event.currency)}."
    return EventWords(says, _signed(event.chips, event.signed, event.currency), "money")


def _filled(event: ChipsFilled, _: Moment, currency: str) -> EventWords:
    says = f"The cage brought {amount(event.amount, currency)} in chips, fill slip {event.slip}."
    return EventWords(says, _slip(event, currency), "money")


def _credited(event: ChipsCredited, _: Moment, currency: str) -> EventWords:
    says = f"{amount(event.amount, currency)} in chips went to the cage, credit slip {event.slip}."
    return EventWords(says, _slip(event, currency), "money")


def _counted(event: ChipsCounted, _: Moment, currency: str) -> EventWords:
    at = f" ({event.occasion})" if event.occasion else ""
    says = f"The tray was counted{at}: {amount(event.amount, currency)}."
    return EventWords(says, _signed(event.chips, event.signed, currency), "money")


def _closed(event: FloatClosed, _: Moment, currency: str) -> EventWords:
    says = f"Float {event.float_id} was closed with {amount(event.amount, currency)}."
    return EventWords(says, _signed(event.chips, event.signed, currency), "money")


def _drop(event: DropCounted, _: Moment, currency: str) -> EventWords:
    says = f"Drop box {event.box} of float {event.float_id} held {amount(event.amount, currency)}."
    lines = _signed(event.notes, event.signed, currency)
    if not event.reason:
        return EventWords(says, lines, "money")
    was = f"counted before: {amount(event.was, currency)}; reason: {event.reason}"
    return EventWords(says, (was, *lines), "decision")


def _corrected(event: ChipsCorrected, _: Moment, currency: str) -> EventWords:
    slip = f" slip {event.slip}" if event.slip else ""
    now, was = amount(event.amount, currency), amount(event.was, currency)
    says = f"The {event.move}{slip} of float {event.float_id} was corrected: {now}, not {was}."
    lines = _signed(event.chips, event.signed, currency)
    return EventWords(says, (f"reason: {event.reason}", *lines), "decision")


def _slip(event: ChipsFilled | ChipsCredited, currency: str) -> tuple[str, ...]:
    reference = (f"the cage's reference {event.reference}",) if event.reference else ()
    return (*reference, *_signed(event.chips, event.signed, currency))


def _signed(chips: Iterable[Pieces], signed: Iterable[str], currency: str) -> tuple[str, ...]:
    rows = (f"{each.pieces:,} of {amount(each.denomination, currency)}" for each in chips)
    return (*rows, f"signed: {', '.join(signed)}")


CHIP_WORDS: Final[dict[type[TableEvent], WordsOf]] = {
    FloatOpened: _opened,
    ChipsFilled: _filled,
    ChipsCredited: _credited,
    ChipsCounted: _counted,
    FloatClosed: _closed,
    DropCounted: _drop,
    ChipsCorrected: _corrected,
}
"""Event type to the function that makes its sentence."""
