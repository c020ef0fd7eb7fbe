"""A coup of a shoe before, as the log has it: what a correction of it is decided on.

The state remembers the coups of the shoe on the table. One that came before is found from the end
of the log backwards, a shoe's beginning after another, and folded again alone: its shoe's life, and
behind that only what is said of the shoe's coups. It costs what was appended since; a correction of
an old coup is rare.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from events.codec import decode_data, decode_envelope
from events.log import Stored
from events.table import ShoeLoaded
from table_core.fold import fold
from table_core.state import TableState

__all__ = ["recall"]

_COUP: Final = re.compile(r"([0-9]{8}-[0-9]{2})/[1-9][0-9]{0,5}")
_BATCH: Final = 4096


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
    own = f'"correlation":"{found[1]}/'.encode()
    state, there = TableState(), True
    for stored in read(begun, newest):
        if stored.type == ShoeLoaded.TYPE and stored.position > begun:
            there = False
        mine = own in stored.stored
        # Beside its own, within its life, only what is of no coup: the shoe's reports, its end.
        if mine or (there and b'"correlation":""' in stored.stored):
            state = fold(state, decode_data(decode_envelope(stored.stored)))
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
