"""Sentences for events about the table's chips: float, fills, credits, counts, the drop. Pure."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from events.money import Currency
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


def _opened(event: FloatOpened, _: Moment, currency: Currency) -> EventWords:
    says = f"Float {event.float_id} was opened with {amount(event.amount, currency)}."
    return EventWords(says, _signed(event.chips, event.signed, currency), "money")


def _drop(event: DropCounted, _: Moment, currency: Currency) -> EventWords:
    says = f"Drop box {event.box} of float {event.float_id} held {amount(event.amount, currency)}."
    lines = _signed(event.notes, event.signed, currency)
    if not event.reason:
        return EventWords(says, lines, "money")
    was = f"counted before: {amount(event.was, currency)}; reason: {event.reason}"
    return EventWords(says, (was, *lines), "decision")


def _corrected(event: ChipsCorrected, _: Moment, currency: Currency) -> EventWords:
    slip = f" slip {event.slip}" if event.slip else ""
    now, was = amount(event.amount, currency), amount(event.was, currency)
    says = f"The {event.move}{slip} of float {event.float_id} was corrected: {now}, not {was}."
    lines = _signed(event.chips, event.signed, currency)
    return EventWords(says, (f"reason: {event.reason}", *lines), "decision")


def _moved(says: Callable[[Any, str], str]) -> WordsOf:
    """Return a function for chips that moved or were counted, from the event and the amount."""

    def words(event: Any, _: Moment, currency: Currency) -> EventWords:
        reference = getattr(event, "reference", "")
        lines = _signed(event.chips, event.signed, currency)
        said = (f"the cage's reference {reference}", *lines) if reference else lines
        return EventWords(says(event, amount(event.amount, currency)), said, "money")

    return words


def _signed(chips: Iterable[Pieces], signed: Iterable[str], currency: Currency) -> tuple[str, ...]:
    rows = (f"{each.pieces:,} of {amount(each.denomination, currency)}" for each in chips)
    return (*rows, f"signed: {', '.join(signed)}")


CHIP_WORDS: Final[dict[type[TableEvent], WordsOf]] = {
    FloatOpened: _opened,
    ChipsFilled: _moved(lambda e, sum_: f"The cage brought {sum_} in chips, fill slip {e.slip}."),
    ChipsCredited: _moved(
        lambda e, sum_: f"{sum_} in chips went to the cage, credit slip {e.slip}."
    ),
    ChipsCounted: _moved(
        lambda e, sum_: f"The tray was counted{f' ({e.occasion})' if e.occasion else ''}: {sum_}."
    ),
    FloatClosed: _moved(lambda e, sum_: f"Float {e.float_id} was closed with {sum_}."),
    DropCounted: _drop,
    ChipsCorrected: _corrected,
}
"""Event type to the function that makes its sentence."""
