"""Answers queries about past coups from a log and its index. Pure.

A coup is narrated, judged with other cards and proved only when it is over and none of its cards
waits to be played: the shoe's raw bytes contain faces that the table has not seen.
"""

import re
from collections.abc import Mapping
from itertools import islice
from typing import Final, Literal

from msgspec import Struct

from events.cards import Card, Winner
from events.commands import FindCoups, Refusal, ShowTable, TellCoup, WhatIfCard
from events.errors import InputError
from events.types import DrawRule, Wager
from table_core.fold.dispatch import fold
from table_core.history.index import HistoryIndex, ReadRows
from table_core.history.what_if import WhatIf, what_if
from table_core.narrative.coup import CoupNarrative, narrate_coup
from table_core.projections.table_document import (
    CardView,
    DueView,
    StateView,
    project_coup,
    project_table,
)
from table_core.refusals import refuse
from table_core.replay.coup_events import CoupCollector, CoupLine, CoupRecord, stored_entry
from table_core.rules.rulebook import Rulebook
from table_core.state.table import Coup, TableState

__all__ = [
    "FOUND_MOST",
    "CoupFound",
    "CoupStep",
    "CoupTimeline",
    "CoupsFound",
    "find_coups",
    "show_table",
    "show_timeline",
    "show_what_if",
    "withheld_refusal",
]

FOUND_MOST: Final = 50
_CHANGES_MOST: Final = 6  # a coup has no more cards
_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z", re.ASCII)
_NANOSECONDS: Final = 9


class CoupFound(Struct, frozen=True, kw_only=True):
    """A coup that was found; money in minor units, of the settlements in force.

    Args:
        coup: its id.
        position: at which it began.
        at: when it began.
        result: `player`, `banker`, `tie` or `void`; None while it is none of these.
        player: Player's cards when the deal was complete.
        banker: Banker's.
        staked: by the settlements in force.
        paid: by them.
        revision: the highest; above 1 something was settled again.
        over: it is settled or void.
        troubles: what went wrong, in a word or two each.
    """

    coup: str
    position: int
    at: str
    result: Literal["player", "banker", "tie", "void"] | None
    player: tuple[Card, ...]
    banker: tuple[Card, ...]
    staked: int
    paid: int
    revision: int
    over: bool
    troubles: tuple[str, ...]


class CoupsFound(Struct, frozen=True, kw_only=True):
    """What `find_coups` shows: a page of coups, the newest first, and whether older ones fit too.

    Args:
        coups: those that fit.
        more: there are older ones; ask again with `before` the last of these.
        position: up to which the log was read.
    """

    coups: tuple[CoupFound, ...]
    more: bool
    position: int


class CoupStep(Struct, frozen=True, kw_only=True):
    """The coup after one of its events.

    Args:
        position: of the event.
        phase: of the coup.
        cards: those on the table.
        player_total: Player's points, once all its cards are known.
        banker_total: Banker's.
        winner: once the deal is complete.
        rules: the draw rules that applied, once the deal is complete.
        due: the places where the next card may come, each with its rule.
        wagers: how many were placed.
        staked: by them, minor units.
    """

    position: int
    phase: str
    cards: tuple[CardView, ...]
    player_total: int | None
    banker_total: int | None
    winner: Winner | None
    rules: tuple[DrawRule, ...]
    due: tuple[DueView, ...]
    wagers: int
    staked: int


class CoupTimeline(Struct, frozen=True, kw_only=True):
    """The narrative that `narrate_coup` shows.

    Args:
        story: as `baccarat replay --coup ID --json` prints it.
        steps: one for each line of the story.
        wagers: those placed, as they are on record now.
    """

    story: CoupNarrative
    steps: tuple[CoupStep, ...]
    wagers: tuple[Wager, ...]


def find_coups(index: HistoryIndex, asked: FindCoups) -> CoupsFound | Refusal:
    """Return a page of the coups that match."""
    if not 1 <= asked.limit <= FOUND_MOST:
        return refuse("invalid_limit", f"limit: 1 to {FOUND_MOST} coups at once")
    names = index.coups
    if asked.before is not None:
        line = index.lines.get(asked.before)
        if line is None:
            return _unknown(asked.before)
        names = names[: index.place(asked.before)]
    times = [_nanoseconds(text) for text in (asked.since, asked.until)]
    if None in times:
        return refuse("invalid_time", "write a time in UTC, such as 2026-11-27T20:30:00Z")
    since, until = str(times[0]), str(times[1])
    fitting = (
        line
        for line in (index.lines[name] for name in reversed(names))
        if _fits(index, line, asked) and since <= line.opened_at and line.opened_at < (until or "~")
    )
    found = list(islice(fitting, asked.limit + 1))
    return CoupsFound(
        coups=tuple(_found(line) for line in found[: asked.limit]),
        more=len(found) > asked.limit,
        position=index.newest.position,
    )


def withheld_refusal(index: HistoryIndex, coup: str) -> Refusal | None:
    """Return why a coup is withheld: unknown, not over, or with a card still to be played.

    Its record holds the shoe's raw reports. They contain every face, including a face that nobody
    may know yet.
    """
    if coup not in index.lines:
        return _unknown(coup)
    state = index.newest.state
    newest = state.coup is not None and state.coup.id == coup
    if newest and state.in_progress:
        return refuse("coup_in_progress", f"coup {coup} is not over yet")
    if (newest and state.link.residue) or coup == _card_to_come_of(state):
        text = f"a card of coup {coup} is still to be played; ask when the next coup is over"
        return refuse("face_withheld", text)
    return None


def _card_to_come_of(state: TableState) -> str | None:
    """Return the coup whose record may hold a face that nobody has seen: its excess card.

    That card waits to be the next coup's first, through coups that are void before a card. Once
    dealt, it may lie face down until that coup is over.
    """
    last = next((each for each in reversed(list(state.past)) if each.cards or each.excess), None)
    if last is None:
        return None
    waits = last.excess_open or state.link.carried
    return last.id if waits or (last.excess and state.in_progress) else None


def show_timeline(
    index: HistoryIndex, read: ReadRows, origin: str, books: Mapping[str, Rulebook], asked: TellCoup
) -> CoupTimeline | Refusal:
    """Return the narrative of a coup, step by step."""
    refusal = withheld_refusal(index, asked.coup)
    if refusal is not None:
        return refusal
    record = _record(index, read, asked.coup)
    return CoupTimeline(
        story=narrate_coup(record, origin=origin, rulebooks=books),
        steps=tuple(_step(moment.fact.position, coup) for moment, coup in record.course),
        wagers=record.wagers,
    )


def show_what_if(
    index: HistoryIndex, read: ReadRows, books: Mapping[str, Rulebook], asked: WhatIfCard
) -> WhatIf | Refusal:
    """Return a coup with other cards, next to what happened."""
    refusal = withheld_refusal(index, asked.coup)
    if refusal is not None:
        return refusal
    changes = {change.position: change.face for change in asked.changes}
    if not 1 <= len(changes) == len(asked.changes) <= _CHANGES_MOST:
        return refuse("invalid_changes", f"name 1 to {_CHANGES_MOST} cards, each once")
    record = _record(index, read, asked.coup)
    name, digest = record.coup.rulebook, record.coup.rulebook_hash
    book = books.get(digest)
    if book is None:
        return refuse("unknown_rulebook", f"rulebook {name} ({digest[:12]}) is not at hand")
    try:
        return what_if(record, changes, book)
    except InputError as error:
        return refuse("no_such_card", str(error))


def show_table(
    index: HistoryIndex,
    read: ReadRows,
    origin: str,
    books: Mapping[str, Rulebook],
    asked: ShowTable,
) -> StateView | Refusal:
    """Return the `state` document that was published at a position."""
    if not 1 <= asked.position <= index.newest.position:
        text = f"the log has positions 1 to {index.newest.position}"
        return refuse("unknown_position", text)
    state = _state_at(index, read, asked.position)
    book = books.get(state.rulebook_hash)
    if book is None:
        return refuse("unknown_rulebook", f"rulebook {state.rulebook} is not at hand")
    return project_table(state, table=origin.partition("/")[2], rulebook=book, catching_up=False)


def _state_at(index: HistoryIndex, read: ReadRows, position: int) -> TableState:
    mark = index.state_mark_before(position)
    state = mark.state
    for at, stored, _ in islice(read(mark.position, mark.head), position - mark.position):
        state = fold(state, stored_entry(at, stored).data)
    return state


def _unknown(coup: str) -> Refusal:
    return refuse("unknown_coup", f"no coup {coup!r} was played at this table")


def _nanoseconds(text: str | None) -> str | None:
    """Return a time in the log's own form; empty for no time, None for an invalid one."""
    if text is None:
        return ""
    match = _TIME.fullmatch(text)
    return f"{match[1]}.{(match[2] or '').ljust(_NANOSECONDS, '0')}Z" if match else None


def _fits(index: HistoryIndex, line: CoupLine, asked: FindCoups) -> bool:
    shoe, _, number = line.coup.rpartition("/")
    return (
        asked.shoe in {None, shoe}
        and asked.number in {None, int(number)}
        and asked.result in {None, _result(line)}
        and (asked.face is None or asked.face in index.faces(line.coup))
        and (asked.seat is None or asked.seat in index.seats(line.coup))
    )


def _result(line: CoupLine) -> Literal["player", "banker", "tie", "void"] | None:
    if line.state == "void":
        return "void"
    return line.result  # type: ignore[return-value]  # a winner's value, as `CoupList` took it


def _found(line: CoupLine) -> CoupFound:
    return CoupFound(
        coup=line.coup,
        position=line.first,
        at=line.opened_at,
        result=_result(line),
        player=line.player,
        banker=line.banker,
        staked=line.staked,
        paid=line.paid,
        revision=line.revision,
        over=line.state != "in progress",
        troubles=line.troubles,
    )


def _record(index: HistoryIndex, read: ReadRows, coup: str) -> CoupRecord:
    collector = CoupCollector(coup)
    for _, moment in index.course(coup, read):
        collector.take(moment)
    record = collector.record()
    assert record is not None  # noqa: S101 - the index has the coup's opening
    return record


def _step(position: int, coup: Coup | None) -> CoupStep:
    seen = project_coup(coup) if coup is not None else None
    return CoupStep(
        position=position,
        phase=seen.phase.value if seen else "none",
        cards=seen.cards if seen else (),
        player_total=seen.player_total if seen else None,
        banker_total=seen.banker_total if seen else None,
        winner=seen.winner if seen else None,
        rules=seen.rules if seen else (),
        due=seen.due if seen else (),
        wagers=len(seen.wagers) if seen else 0,
        staked=sum(wager.stake for wager in seen.wagers) if seen else 0,
    )
