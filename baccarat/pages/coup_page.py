"""Render one coup as a page to print, for readers who do not know the software.

The template has no script and loads nothing from the network. jinja2 escapes every value, because
people type reasons and references.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import groupby
from typing import Any, Final

import msgspec
from jinja2 import Template
from msgspec import Struct

from baccarat.pages.printed import page_template
from events.money import Currency
from table_core.history.what_if import WhatIf
from table_core.narrative.coup import CoupNarrative
from table_core.narrative.formatting import amount, card_name, face
from table_core.narrative.timeline import TimelineLine
from table_core.narrative.wager_outcome import DOCUMENTS
from table_core.rules.rulebook import LAST_PHASE

__all__ = ["coup_page", "told_coup_page"]

_TEMPLATE: Final = "coup.html"
_DAY: Final = len("2026-11-27")
_CLOCK: Final = slice(len("2026-11-27T"), len("2026-11-27T21:40:07.123"))
_RED: Final = frozenset("HD")
_MARKS: Final = {"trouble": "went wrong", "decision": "decided"}


class _Step(Struct, frozen=True, kw_only=True):
    """The lines of one cause: a shoe report or a person's command, and its consequences."""

    clock: str
    who: str
    lines: tuple[TimelineLine, ...]
    mark: str


def coup_page(story: CoupNarrative, what_if: WhatIf | None = None) -> str:
    """Return the page of a coup as self-contained HTML.

    Args:
        story: the coup's narrative.
        what_if: printed next to it, if requested.
    """
    return _template().render(
        story=story,
        lead=_lead(story),
        settlements=sorted(story.settlements, key=lambda each: not each.in_force),
        steps=tuple(_steps(story.lines)),
        marks=_MARKS,
        documents=_documents(story),
        journals=tuple(_journals(story.lines)),
        what_if=what_if,
    )


class _Told(Struct, frozen=True):
    """What `tell_coup` shows, as far as the page needs it."""

    story: CoupNarrative


def told_coup_page(shown: object) -> str:
    """Return the page of a coup from what `tell_coup` shows of it.

    Raises:
        ValueError: that holds no coup.
    """
    return coup_page(msgspec.convert(shown, _Told).story)


@cache
def _template() -> Template:
    filters: dict[str, Callable[..., Any]] = {
        "money": amount,
        "face": face,
        "card_name": card_name,
        "red": lambda card: card is not None and card.suit in _RED,
        "day": lambda at: at[:_DAY],
        "clock": lambda at: at[_CLOCK],
        "bytes": lambda raw: " ".join(raw[at : at + 2] for at in range(0, len(raw), 2)),
        "signed": _signed,
        "outcome": lambda winner: "a tie" if winner == "tie" else winner.capitalize(),
    }
    return page_template(_TEMPLATE, filters)


def _signed(minor: int, currency: Currency) -> str:
    """Return a difference, with its sign in either direction."""
    return f"{'+' if minor > 0 else ''}{amount(minor, currency)}"


def _lead(story: CoupNarrative) -> str:
    """Return the coup in a sentence or two."""
    last = [change for change in story.changes if change.phase == LAST_PHASE]
    again = ""
    if last:
        again = f" It was first settled with another record ({last[0].was}), and corrected since."
    return f"{_came(story)}{again}"


def _came(story: CoupNarrative) -> str:
    points = sorted((story.player.total or 0, story.banker.total or 0), reverse=True)
    if story.phase == "voided":
        return f"This coup does not count. Reason: {story.reason}."
    if story.phase != "settled":
        return f"This coup is not over: it is {story.phase}. Nothing is paid while it is so."
    if story.result == "tie":
        return f"The coup was a tie, {points[0]} to {points[1]}."
    return f"{(story.result or '').capitalize()} won, {points[0]} to {points[1]}."


def _steps(lines: Sequence[TimelineLine]) -> Iterator[_Step]:
    for _, group in groupby(lines, key=lambda line: line.cause):
        own = tuple(group)
        tones = [line.tone for line in own]
        tone = next((tone for tone in ("decision", "trouble") if tone in tones), "plain")
        yield _Step(clock=own[0].at[_CLOCK], who=own[0].who, lines=own, mark=tone)


def _documents(story: CoupNarrative) -> tuple[tuple[str, str], ...]:
    """Return the documents that the sources of this coup's wagers name, with their descriptions."""
    named = " ".join(w.source for each in story.settlements for w in each.wagers)
    return tuple((name, what) for name, what in DOCUMENTS.items() if name in named)


def _journals(lines: Sequence[TimelineLine]) -> Iterator[tuple[str, int, int]]:
    """Yield each raw journal that contains the coup's bytes, from which offset, to which byte."""
    raws = [line.raw for line in lines if line.raw is not None and line.raw.hex]
    for journal in dict.fromkeys(raw.journal for raw in raws):
        own = [raw for raw in raws if raw.journal == journal]
        end = max(raw.offset + len(raw.hex) // 2 for raw in own)
        yield journal, min(raw.offset for raw in own), end
