"""The roads: what the coups of a shoe have been, as columns. Pure, and a coup at a time.

Sources: the published rules of the scoreboards. A road here is logical, the lengths of streaks
and nothing about screens; where a column turns on six rows is the display's.

- **Bead plate**: every coup in order; a display cuts it into columns of six.
- **Big road**: ties aside, each run of one winner is a column. A tie is counted on the cell that
  it follows; those before the first decided coup wait for it.
- **Derived roads**: big eye boy, small road and cockroach pig look 1, 2 and 3 columns back. A
  mark's colour says whether the big road repeats itself, not who won.

A cell that opens column c compares the two columns c - 1 and c - 1 - k: red when they are of one
length, else blue. A cell further down, at row r, asks column c - k whether it has a cell at row r
just as it has one at r - 1: blue at the first row past its end, and red again beyond. There is no
mark where a column so far back does not exist.

Void coups are not on the roads, coups without wagers are; that is for the caller to see to.
"""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from events.cards import Winner
from events.types.table import DealCompleted
from table_core.persistent_list import Trail
from table_core.rules.outcome import Outcome

__all__ = ["LOOKBACK", "Bead", "Column", "Derived", "Roads", "bead"]

LOOKBACK: Final = (1, 2, 3)
"""How many columns back big eye boy, small road and cockroach pig look."""
_RED, _BLUE, _UNDEFINED = "R", "B", ""


class Bead(Struct, frozen=True, gc=False, kw_only=True):
    """A coup as the bead plate shows it.

    Args:
        winner: how it came out.
        natural: a hand had 8 or 9 on two cards.
        player_pair: Player's first two cards were of one rank.
        banker_pair: Banker's were.
    """

    winner: Winner
    natural: bool = False
    player_pair: bool = False
    banker_pair: bool = False


class Column(Struct, frozen=True, gc=False):
    """A run of one winner on the big road.

    Args:
        winner: Player or Banker.
        ties: for each cell from the top, how many ties followed it.
    """

    winner: Winner
    ties: Trail[int]

    @property
    def height(self) -> int:
        """How many coups the run has, ties aside."""
        return len(self.ties)


class Derived(Struct, frozen=True, gc=False):
    """Marks of the three derived roads: `R` red, `B` blue, in the order they came."""

    big_eye_boy: str
    small_road: str
    cockroach_pig: str


class Roads(Struct, frozen=True, gc=False, kw_only=True):
    """All roads of a shoe; `Roads()` is that of a new one.

    Args:
        beads: every coup in order.
        columns: the big road.
        pending_ties: ties before the first decided coup.
        marks: of the derived roads, in the order of `LOOKBACK`.
    """

    beads: Trail[Bead] = Trail()
    columns: Trail[Column] = Trail()
    pending_ties: int = 0
    marks: tuple[Trail[str], ...] = (Trail(),) * len(LOOKBACK)

    def add(self, coup: Bead) -> "Roads":
        """The roads with one coup more. What it costs does not grow with the shoe."""
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
        """What a win of Player or Banker now would add; empty where a road has no mark yet."""
        return Derived(*_marks(self.columns, winner))

    @property
    def heights(self) -> tuple[int, ...]:
        """The lengths of the big road's columns."""
        return tuple([column.ties.length for column in self.columns])

    @property
    def derived(self) -> Derived:
        """The derived roads in full."""
        return Derived(*("".join(trail) for trail in self.marks))


def bead(coup: Outcome | DealCompleted) -> Bead:
    """A complete deal as the bead plate shows it; a pair is of one rank, never of one value."""
    return Bead(
        winner=coup.winner,
        natural=coup.natural,
        player_pair=coup.player[0].rank == coup.player[1].rank,
        banker_pair=coup.banker[0].rank == coup.banker[1].rank,
    )


def _continues(columns: Trail[Column], winner: Winner) -> bool:
    return bool(columns) and columns.back(1).winner is winner


def _with_win(columns: Trail[Column], winner: Winner, pending_ties: int) -> Trail[Column]:
    if _continues(columns, winner):
        return columns.replace_last(Column(winner, columns.back(1).ties.append(0)))
    return columns.append(Column(winner, Trail[int]().append(pending_ties)))


def _with_tie(columns: Trail[Column]) -> Trail[Column]:
    column = columns.back(1)
    ties = column.ties.replace_last(column.ties.back(1) + 1)
    return columns.replace_last(Column(column.winner, ties))


def _marks(columns: Trail[Column], winner: Winner) -> tuple[str, ...]:
    """The marks that a win would add to the derived roads; empty where it adds none."""
    # Whether the win opens a column or continues one, the same two heights are compared. Alike is
    # red for a cell that opens; for one further down it means that the other column ends just
    # above, and that is blue.
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
