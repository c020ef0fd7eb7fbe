"""A coup of a shoe before, as the log has it: what a correction of it is decided on.

The state remembers the coups of the shoe on the table. One that came before is folded again alone:
its shoe's life, and behind that only what is said of the shoe's coups. `recall` finds it from the
end of the log backwards, and costs what was appended since; `recall_indexed` costs one shoe, and is
what the reader beside the table uses.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from msgspec.structs import replace

from events.log.store import Stored
from events.types.chips import ChipFact
from events.types.envelope import decode_data, decode_envelope
from events.types.table import ShoeLoaded
from table_core.fold.corrections import past_coup
from table_core.fold.dispatch import fold
from table_core.history.index import PastIndex, Read
from table_core.persistent_list import Trail
from table_core.state.table import Coup, TableState

__all__ = ["Recalled", "recall", "recall_indexed"]

_COUP: Final = re.compile(r"([0-9]{8}-[0-9]{2})/[1-9][0-9]{0,5}")
_BATCH: Final = 4096
# Envelopes are written in one way, and a quote within a text is escaped.
_LOADED: Final = f'"type":"{ShoeLoaded.TYPE}"'.encode()


class Recalled(NamedTuple):
    """A coup as the log had it at a position.

    Args:
        coup: its id, by whoever asked.
        position: the newest that was read.
        state: the table as it left the coup's shoe; None where there is no such coup.
    """

    coup: str
    position: int
    state: TableState | None

    def holds(self, since: Iterable[Stored]) -> bool:
        """Whether nothing of what was appended since is about the coup's shoe, or loads one."""
        own = _own(self.coup.rpartition("/")[0])
        return not any(each.type == ShoeLoaded.TYPE or own in each.stored for each in since)


def recall(
    read: Callable[[int, int], Iterator[Stored]], newest: int, coup: str
) -> TableState | None:
    """The table as it left the shoe of a coup, with all that was said of its coups since.

    Args:
        read: stored events from a position on, so many at the most.
        newest: the newest position.
        coup: `<shoe>/<n>`, by whoever asks.

    Returns:
        None where no such shoe was ever loaded, or the text is no coup's id.
    """
    found = _COUP.fullmatch(coup)
    begun = _loaded(read, newest, found[1]) if found else None
    if found is None or begun is None:
        return None
    return _left((each.stored for each in read(begun, newest)), found[1])


def recall_indexed(index: PastIndex, read: Read, coup: str) -> TableState | None:
    """As `recall`, from an index of the log; of the shoe's other coups nothing is kept.

    Args:
        index: of all events that are to be known.
        read: the log.
        coup: `<shoe>/<n>`, by whoever asks.
    """
    if coup not in index.lines:
        return None
    shoe = coup.rpartition("/")[0]
    state = _left((stored for _, stored, _ in index.shoe_rows(shoe, read)), shoe)
    own = past_coup(state, coup)
    return replace(state, past=Trail[Coup]().append(own) if own else Trail())


def _own(shoe: str) -> bytes:
    """What stands in every event of a shoe's coups."""
    return f'"correlation":"{shoe}/'.encode()


def _left(rows: Iterable[bytes], shoe: str) -> TableState:
    """The table as it left a shoe; `rows` begin with the loading of it."""
    own, state, there = _own(shoe), TableState(), True
    for index, stored in enumerate(rows):
        if index and _LOADED in stored:
            there = False
        # Beside its own, within its life, only what is of no coup: the shoe's reports, its end.
        if own in stored or (there and b'"correlation":""' in stored):
            event = decode_data(decode_envelope(stored))
            if not isinstance(event, ChipFact):  # of a float that may be older than the shoe
                state = fold(state, event)
    return state


def _loaded(read: Callable[[int, int], Iterator[Stored]], newest: int, shoe: str) -> int | None:
    """Where a shoe was loaded; ids rise, so that an earlier one ends the search."""
    end = newest
    while end > 0:
        first = max(1, end - _BATCH + 1)
        for stored in reversed(list(read(first, end - first + 1))):
            if stored.type != ShoeLoaded.TYPE:
                continue
            event = decode_data(decode_envelope(stored.stored))
            if isinstance(event, ShoeLoaded) and event.shoe <= shoe:
                return stored.position if event.shoe == shoe else None
        end = first - 1
    return None
