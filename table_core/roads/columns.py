"""The roads: the results of a shoe's coups as columns, updated a coup at a time. Pure.

Sources: the published rules of the scoreboards. A road here is logical: the lengths of streaks, and
nothing about screens. The display decides where a column turns on six rows.

- **Bead plate**: every coup in order; a display cuts it into columns of six.
- **Big road**: ties aside, each run of one winner is a column. A tie is counted on the cell that
  it follows; those before the first decided coup wait for it.
- **Derived roads**: big eye boy, small road and cockroach pig look 1, 2 and 3 columns back. A
  mark's colour says whether the big road repeats itself, not who won.

A cell that opens column c compares the two columns c - 1 and c - 1 - k: red where they have the
same length, else blue. A cell further down, at row r, checks whether column c - k has a cell at row
r just as it has one at r - 1: blue at the first row past that column's end, and red again beyond.
There is no mark where no column exists so far back.

The caller leaves out void coups, and includes coups without wagers.
"""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from events.cards import Winner
from events.types.table import DealCompleted
from table_core.persistent_list import PersistentList
from table_core.rules.outcome import Outcome

__all__ = ["LOOKBACK", "Bead", "Column", "Derived", "Roads", "bead_of"]

LOOKBACK: Final = (1, 2, 3)
"""The number of columns that big eye boy, small road and cockroach pig look back."""
_RED, _BLUE, _UNDEFINED = "R", "B", ""


class Bead(Struct, frozen=True, gc=False, kw_only=True):
    """A coup on the bead plate.

    Args:
        winner: of the coup.
        natural: a hand had 8 or 9 on two cards.
        player_pair: Player's first two cards were of one rank.
        banker_pair: Banker's first two cards were of one rank.
    """

    winner: Winner
    natural: bool = False
    player_pair: bool = False
    banker_pair: bool = False


class Column(Struct, frozen=True, gc=False):
    """A run of one winner on the big road.

    Args:
        winner: Player or Banker.
        ties: for each cell from the top, the number of ties that followed it.
    """

    winner: Winner
    ties: PersistentList[int]

    @property
    def height(self) -> int:
        """The number of coups in the run, ties aside."""
        return len(self.ties)


class Derived(Struct, frozen=True, gc=False):
    """Marks of the three derived roads: `R` red, `B` blue, in the order they came."""

    big_eye_boy: str
    small_road: str
    cockroach_pig: str


class Roads(Struct, frozen=True, gc=False, kw_only=True):
    """All roads of a shoe; `Roads()` are those of a new shoe.

    Args:
        beads: every coup in order.
        columns: the big road.
        pending_ties: ties before the first decided coup.
        marks: of the derived roads, in the order of `LOOKBACK`.
    """

    beads: PersistentList[Bead] = PersistentList()
    columns: PersistentList[Column] = PersistentList()
    pending_ties: int = 0
    marks: tuple[PersistentList[str], ...] = (PersistentList(),) * len(LOOKBACK)

    def add(self, coup: Bead) -> "Roads":
        """Return the roads with one more coup; the cost does not grow with the shoe."""
        beads = self.beads.append(coup)
        if coup.winner is not Winner.TIE:
            return Roads(
                beads=beads,
                columns=_with_win(self.columns, coup.winner, self.pending_ties),
                marks=tuple(
                    trail.append(mark) if mark else trail
                    for trail, mark in zip(
                        self.marks, _marks(self.columns, coup.winner), strict=True
                    )
                ),
            )
        if self.columns:
            return replace(self, beads=beads, columns=_with_tie(self.columns))
        return replace(self, beads=beads, pending_ties=self.pending_ties + 1)

    def next_marks(self, winner: Winner) -> Derived:
        """Return the marks that a win of `winner` would add; empty where a road has none yet."""
        return Derived(*_marks(self.columns, winner))

    @property
    def heights(self) -> tuple[int, ...]:
        """The lengths of the big road's columns."""
        return tuple([column.ties.length for column in self.columns])

    @property
    def derived(self) -> Derived:
        """The derived roads in full."""
        return Derived(*("".join(trail) for trail in self.marks))


def bead_of(coup: Outcome | DealCompleted) -> Bead:
    """Return a complete deal's bead; a pair is of one rank, never of one point value."""
    return Bead(
        winner=coup.winner,
        natural=coup.natural,
        player_pair=coup.player[0].rank == coup.player[1].rank,
        banker_pair=coup.banker[0].rank == coup.banker[1].rank,
    )


def _continues(columns: PersistentList[Column], winner: Winner) -> bool:
    return bool(columns) and columns.back(1).winner is winner


def _with_win(
    columns: PersistentList[Column], winner: Winner, pending_ties: int
) -> PersistentList[Column]:
    if _continues(columns, winner):
        return columns.replace_last(Column(winner, columns.back(1).ties.append(0)))
    return columns.append(Column(winner, PersistentList[int]().append(pending_ties)))


def _with_tie(columns: PersistentList[Column]) -> PersistentList[Column]:
    column = columns.back(1)
    ties = column.ties.replace_last(column.ties.back(1) + 1)
    return columns.replace_last(Column(column.winner, ties))


def _marks(columns: PersistentList[Column], winner: Winner) -> tuple[str, ...]:
    """Return the marks that a win would add to the derived roads; empty where it adds none."""
    # A win that opens a column and a win that continues one compare the same two heights. Equal
    # heights are red for a cell that opens a column. For a cell further down they mean that the
    # other column ends just above, and that is blue.
    last = columns.newest(1 + LOOKBACK[-1])
    heights = [column.ties.length for column in last]
    continues = bool(last) and last[0].winner is winner
    return tuple(
        [
            _UNDEFINED
            if back >= len(heights)
            else (_BLUE if (heights[0] == heights[back]) is continues else _RED)
            for back in LOOKBACK
        ]
    )
