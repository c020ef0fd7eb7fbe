"""Recalls a coup of an earlier shoe from the log, so that a correction of it can be decided.

The state holds only the coups of the shoe on the table. An earlier coup is folded again alone: its
shoe's life, and after that only the events about the shoe's coups.

`recall_coup` searches the log backwards from its end, and costs the events since.
`recall_coup_indexed` costs one shoe; the history reader uses it.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from msgspec.structs import replace

from events.types import (
    BettingOpened,
    ChipEvent,
    CommissionEvent,
    ShoeLoaded,
    Stored,
    decode_entry,
)
from table_core.fold.corrections import find_past_coup
from table_core.fold.dispatch import fold
from table_core.history.index import HistoryIndex, ReadRows
from table_core.persistent_list import PersistentList
from table_core.state.coup_projection import coup_after
from table_core.state.table import Coup, TableState

__all__ = ["RecalledCoup", "recall_coup", "recall_coup_indexed"]

_COUP: Final = re.compile(r"([0-9]{8}-[0-9]{2})/[1-9][0-9]{0,5}")
_BATCH: Final = 4096
# Envelopes are written in one way, and a quote within a text is escaped.
_LOADED: Final = f'"type":"{ShoeLoaded.TYPE}"'.encode()


class RecalledCoup(NamedTuple):
    """A coup as the log had it at a position.

    Args:
        coup: its id, from the request.
        position: the newest position that was read.
        state: at the end of the coup's shoe; None where there is no such coup.
    """

    coup: str
    position: int
    state: TableState | None

    def holds(self, since: Iterable[Stored]) -> bool:
        """Return whether no event since is about the coup's shoe or loads a shoe."""
        own = _own(self.coup.rpartition("/")[0])
        return not any(each.type == ShoeLoaded.TYPE or own in each.stored for each in since)


def recall_coup(
    read: Callable[[int, int], Iterator[Stored]], newest: int, coup: str
) -> TableState | None:
    """Return the state at the end of a coup's shoe, with every later event about its coups.

    Args:
        read: stored events from a position on, at most so many.
        newest: the newest position.
        coup: `<shoe>/<n>`, from the request.

    Returns:
        None where no such shoe was ever loaded, or the text is no coup's id.
    """
    found = _COUP.fullmatch(coup)
    begun = _loaded(read, newest, found[1]) if found else None
    if found is None or begun is None:
        return None
    return _left((each.stored for each in read(begun, newest)), coup)


def recall_coup_indexed(index: HistoryIndex, read: ReadRows, coup: str) -> TableState | None:
    """Recall as `recall_coup` does, from an index of the log; the shoe's other coups are left out.

    Args:
        index: of all events that may matter.
        read: the log.
        coup: `<shoe>/<n>`, from the request.
    """
    if coup not in index.lines:
        return None
    shoe = coup.rpartition("/")[0]
    state = _left((stored for _, stored, _ in index.rows_of_shoe(shoe, read)), coup)
    own = find_past_coup(state, coup)
    return replace(state, past=PersistentList[Coup]().append(own) if own else PersistentList())


def _own(shoe: str) -> bytes:
    """Return the bytes that every event of a shoe's coups contains."""
    return f'"correlation":"{shoe}/'.encode()


def _left(rows: Iterable[bytes], coup: str) -> TableState:
    """Return the state at the end of a coup's shoe, which holds the coup whole.

    `rows` begin with the loading of the shoe.
    """
    own, state, there = _own(coup.rpartition("/")[0]), TableState(), True
    asked: Coup | None = None
    for index, stored in enumerate(rows):
        if index and _LOADED in stored:
            there = False
        # Besides its own coups, within its life, only events of no coup: its reports, its end.
        if own in stored or (there and b'"correlation":""' in stored):
            entry = decode_entry(stored)
            event = entry.data
            # A float may be older than the shoe, and debts of the shoe be paid long after it.
            if not isinstance(event, ChipEvent | CommissionEvent):
                state = fold(state, event)
                if entry.correlation == coup and (asked or isinstance(event, BettingOpened)):
                    asked = coup_after(asked, event)
    return state if asked is None else _with_whole(state, asked)


def _with_whole(state: TableState, coup: Coup) -> TableState:
    """Return the state with the wagers of a past coup that the fold left out."""
    past: PersistentList[Coup] = PersistentList()
    for each in state.past:
        kept = {"settlements": coup.settlements, "paid_by": coup.paid_by}
        whole = replace(each, wagers=coup.wagers, slim=False, **kept)
        past = past.append(whole if each.slim and each.id == coup.id else each)
    return replace(state, past=past)


def _loaded(read: Callable[[int, int], Iterator[Stored]], newest: int, shoe: str) -> int | None:
    """Return where a shoe was loaded; ids rise, so an earlier one ends the search."""
    end = newest
    while end > 0:
        first = max(1, end - _BATCH + 1)
        for stored in reversed(list(read(first, end - first + 1))):
            if stored.type != ShoeLoaded.TYPE:
                continue
            event = decode_entry(stored.stored).data
            if isinstance(event, ShoeLoaded) and event.shoe <= shoe:
                return stored.position if event.shoe == shoe else None
        end = first - 1
    return None
