"""The history reader's index of a log, so that no query reads the whole log again. Pure.

The index takes every event once, in order, and keeps little:

- a line a coup;
- the state before each shoe, from which a coup is folded again;
- the roots of the tree's blocks, from which proofs are made.

All of it comes from the log and can be thrown away.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Final, NamedTuple

from msgspec.structs import replace

from events.cards import Card
from events.proof.chain import origin_hash
from events.proof.merkle import leaf_hash, node_hash
from events.types import (
    BettingOpened,
    CardCorrected,
    CardDealt,
    CardDisclosed,
    CardEntered,
    CheckpointKeyChanged,
    HandsCorrected,
    ShoeLoaded,
    TableEvent,
    WagersPlaced,
)
from table_core.fold.dispatch import fold
from table_core.persistent_list import PersistentList
from table_core.replay.coup_events import CoupLine, CoupList, LogRow, Moment, decode_row
from table_core.state.table import TableState

__all__ = ["BLOCK", "HistoryIndex", "ReadRows", "StateMark", "root_above"]

"""Position, stored bytes, and the chain's hash up to and including them."""

ReadRows = Callable[[int, bytes], Iterator[LogRow]]
"""Returns the rows after a position; the caller passes the chain's hash there as well."""

# Leaves of one perfect subtree. A proof hashes two or three blocks again, and the index of a
# million events holds a thousand roots.
BLOCK: Final = 1024
_FACED: Final = (CardDealt, CardDisclosed, CardEntered, CardCorrected)


class StateMark(NamedTuple):
    """The state just after a position, and the chain's hash there."""

    position: int
    head: bytes
    state: TableState


class HistoryIndex:
    """An index that grows with its log.

    Args:
        origin: `<site>/<table>`.

    Attributes:
        keys: public key lines of checkpoints, in the order in which the log announced them.
        blocks: the roots of all whole blocks of the tree.
        heads: the chain's hash before each block.
    """

    def __init__(self, origin: str) -> None:
        self.newest = StateMark(0, origin_hash(origin), TableState())
        self.keys: list[str] = []
        self.blocks: list[bytes] = []
        self.heads = [self.newest.head]
        self._coups = CoupList()
        self._order: list[str] = []
        self._begun: list[int] = []  # the position where each of `_order` began
        self._seats: dict[str, frozenset[int]] = {}
        self._faces: dict[str, frozenset[Card]] = {}
        self._late: dict[str, tuple[int, ...]] = {}
        self._marks = [self.newest]
        self._leaves: list[bytes] = []

    def take(self, row: LogRow) -> None:
        """Add the next event.

        Raises:
            LogRefused: this build cannot read the event; names its position.
        """
        fact = decode_row(row)
        before, event = self.newest, fact.event
        if isinstance(event, ShoeLoaded):
            # Without the coups of the earlier shoe, which the new one's loading drops anyway:
            # they are most of the state.
            self._marks.append(before._replace(state=replace(before.state, past=PersistentList())))
        moment = Moment(before.state, fact, fold(before.state, event))
        self._coups.take(moment)
        self._note(moment)
        self.newest = StateMark(fact.position, row[2], moment.after)
        self._grow(row)

    def _note(self, moment: Moment) -> None:
        fact, event, before = moment.fact, moment.fact.event, moment.before
        if isinstance(event, BettingOpened):
            self._order.append(event.coup)
            self._begun.append(fact.position)
        elif isinstance(event, CheckpointKeyChanged):
            self.keys.append(event.key)
        coup = fact.correlation
        if not coup:
            return
        if isinstance(event, WagersPlaced):
            seats = frozenset(wager.seat for wager in event.wagers)
            self._seats[coup] = self._seats.get(coup, frozenset()) | seats
        faces = frozenset(_faces(event))
        if faces:
            self._faces[coup] = self._faces.get(coup, frozenset()) | faces
        of_now = before.coup is not None and before.coup.id == coup and before.in_progress
        if not of_now and not isinstance(event, BettingOpened):
            self._late[coup] = (*self._late.get(coup, ()), fact.position)

    def _grow(self, row: LogRow) -> None:
        self._leaves.append(leaf_hash(row[1]))
        if len(self._leaves) == BLOCK:
            self.blocks.append(root_above(self._leaves))
            self.heads.append(row[2])
            self._leaves = []

    @property
    def coups(self) -> tuple[str, ...]:
        """Return every coup's id, the oldest first."""
        return tuple(self._order)

    @property
    def lines(self) -> Mapping[str, CoupLine]:
        """The coups' lines by id."""
        return self._coups.by_id

    def place(self, coup: str) -> int:
        """Return how many coups began before this one, which is one of `coups`."""
        return bisect_left(self._begun, self._coups.by_id[coup].first)

    def seats(self, coup: str) -> frozenset[int]:
        """Return the seats that ever had a wager in a coup."""
        return self._seats.get(coup, frozenset())

    def faces(self, coup: str) -> frozenset[Card]:
        """Return the faces that were ever on record in a coup."""
        return self._faces.get(coup, frozenset())

    def course(self, coup: str, read: ReadRows) -> Iterator[tuple[LogRow, Moment]]:
        """Yield all rows that may belong to a coup, in order, with their moments; some do not.

        Args:
            coup: a coup of `coups`.
            read: the log.
        """
        now = self._marks[0]
        for begin, end in self._stretches(coup):
            mark = self.state_mark_before(begin)
            now = mark if now.position < mark.position else now
            cause = ""
            for row in read(now.position, now.head):
                fact = decode_row(row)
                if fact.position > end and fact.cause != cause:
                    break
                cause = fact.cause
                after = fold(now.state, fact.event)
                yield row, Moment(now.state, fact, after)
                now = StateMark(fact.position, row[2], after)

    def rows_of_shoe(self, shoe: str, read: ReadRows) -> Iterator[LogRow]:
        """Yield a shoe's rows, from its loading until another shoe's coup begins, and later ones.

        Args:
            shoe: one that has a coup.
            read: the log.
        """
        own = [name for name in self._order if name.rpartition("/")[0] == shoe]
        first, after = self.place(own[0]), self.place(own[-1]) + 1
        end = self._begun[after] - 1 if after < len(self._begun) else self.newest.position
        mark = self.state_mark_before(self._begun[first])
        yield from islice(read(mark.position, mark.head), end - mark.position)
        for late in sorted(each for name in own for each in self._late.get(name, ())):
            if late > end:
                mark = self.state_mark_before(late)
                yield from islice(
                    read(mark.position, mark.head),
                    late - mark.position - 1,
                    late - mark.position,
                )

    def state_mark_before(self, position: int) -> StateMark:
        """Return the newest kept state before a position."""
        return next(each for each in reversed(self._marks) if each.position < position)

    def _stretches(self, coup: str) -> Iterator[tuple[int, int]]:
        """Yield the ranges of a coup: until the next coup begins, and the later events about it."""
        at = self.place(coup)
        last = self._begun[at + 1] if at + 1 < len(self._begun) else self.newest.position
        yield self._begun[at], last
        yield from ((late, late) for late in self._late.get(coup, ()) if late > last)


def root_above(level: list[bytes]) -> bytes:
    """Return the root over a row of hashes, as the log's tree computes it."""
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        odd = level[-1:] if len(level) & 1 else []
        level = [node_hash(left, right) for left, right in pairs] + odd
    return level[0]


def _faces(event: TableEvent) -> Iterator[Card]:
    if isinstance(event, _FACED) and event.card is not None:
        yield event.card
    elif isinstance(event, HandsCorrected):
        yield from event.player
        yield from event.banker
