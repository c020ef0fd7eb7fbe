"""Sentences for events about the table's chips: float, fills, credits, counts, the drop. Pure."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from events.money import Currency
from events.types import (
    ChipsCorrected,
    ChipsCounted,
    ChipsCredited,
    ChipsFilled,
    DropCounted,
    FloatClosed,
    FloatOpened,
    Pieces,
    TableEvent,
)
from table_core.narrative.formatting import EventWords, Phrase, WordsOf, amount, reason
from table_core.replay.coup_events import Moment

__all__ = ["CHIP_WORDS"]


def _opened(event: FloatOpened, _: Moment, currency: Currency) -> EventWords:
    total = amount(event.amount, currency)
    says = Phrase("Float {id} was opened with {total}.", id=event.float_id, total=total)
    return EventWords(says, _signed(event.chips, event.signed, currency), "money")


def _drop(event: DropCounted, _: Moment, currency: Currency) -> EventWords:
    held = amount(event.amount, currency)
    says = Phrase(
        "Drop box {box} of float {id} held {held}.", box=event.box, id=event.float_id, held=held
    )
    lines = _signed(event.notes, event.signed, currency)
    if not event.reason:
        return EventWords(says, lines, "money")
    was = Phrase(
        "counted before: {was}; reason: {reason}",
        was=amount(event.was, currency),
        reason=event.reason,
    )
    return EventWords(says, (was, *lines), "decision")


def _corrected(event: ChipsCorrected, _: Moment, currency: Currency) -> EventWords:
    now, was = amount(event.amount, currency), amount(event.was, currency)
    says = (
        "The {move} slip {slip} of float {id} was corrected: {now}, not {was}."
        if event.slip
        else "The {move} of float {id} was corrected: {now}, not {was}."
    )
    move = Phrase(event.move)
    told = Phrase(says, move=move, slip=event.slip, id=event.float_id, now=now, was=was)
    lines = _signed(event.chips, event.signed, currency)
    return EventWords(told, (reason(event.reason), *lines), "decision")


def _moved(says: Callable[[Any, str], str]) -> WordsOf:
    """Return a function for chips that moved or were counted, from the event and the amount."""

    def words(event: Any, _: Moment, currency: Currency) -> EventWords:
        reference = getattr(event, "reference", "")
        lines = _signed(event.chips, event.signed, currency)
        cage = Phrase("the cage's reference {reference}", reference=reference)
        said = (cage, *lines) if reference else lines
        return EventWords(says(event, amount(event.amount, currency)), said, "money")

    return words


def _signed(chips: Iterable[Pieces], signed: Iterable[str], currency: Currency) -> tuple[str, ...]:
    rows = (
        Phrase("{n} of {chip}", n=f"{each.pieces:,}", chip=amount(each.denomination, currency))
        for each in chips
    )
    return (*rows, Phrase("signed: {names}", names=tuple(signed)))


def _tray(event: ChipsCounted, total: str) -> Phrase:
    if not event.occasion:
        return Phrase("The tray was counted: {total}.", total=total)
    says = "The tray was counted ({occasion}): {total}."
    return Phrase(says, occasion=event.occasion, total=total)


CHIP_WORDS: Final[dict[type[TableEvent], WordsOf]] = {
    FloatOpened: _opened,
    ChipsFilled: _moved(
        lambda e, total: Phrase(
            "The cage brought {total} in chips, fill slip {slip}.", total=total, slip=e.slip
        )
    ),
    ChipsCredited: _moved(
        lambda e, total: Phrase(
            "{total} in chips went to the cage, credit slip {slip}.", total=total, slip=e.slip
        )
    ),
    ChipsCounted: _moved(_tray),
    FloatClosed: _moved(
        lambda e, total: Phrase("Float {id} was closed with {total}.", id=e.float_id, total=total)
    ),
    DropCounted: _drop,
    ChipsCorrected: _corrected,
}
"""Event type to the function that makes its sentence."""
