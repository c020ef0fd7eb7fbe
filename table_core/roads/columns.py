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

from functools import cache
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from events.cards import Winner
from events.errors import InputError
from events.types import DealCompleted
from table_core.persistent_list import PersistentList
from table_core.rules.draw import Outcome

__all__ = [
    "LOOKBACK",
    "Bead",
    "Cell",
    "Column",
    "Derived",
    "Next",
    "Roads",
    "RoadsView",
    "bead_of",
    "project_roads",
    "read_results",
]

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
            marks = zip(self.marks, _marks(self.columns, coup.winner), strict=True)
            return Roads(
                beads=beads,
                columns=_with_win(self.columns, coup.winner, self.pending_ties),
                marks=tuple([trail.append(mark) if mark else trail for trail, mark in marks]),
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


_NO_TIES: Final = PersistentList[int]()


def _with_win(
    columns: PersistentList[Column], winner: Winner, pending_ties: int
) -> PersistentList[Column]:
    last = columns.back(1) if columns.length else None
    if last is not None and last.winner is winner:
        return columns.replace_last(Column(winner, last.ties.append(0)))
    return columns.append(Column(winner, _NO_TIES.append(pending_ties)))


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


_LETTERS: Final = {Winner.PLAYER: "P", Winner.BANKER: "B", Winner.TIE: "T"}
_WINNERS: Final = {letter: winner for winner, letter in _LETTERS.items()}


class Cell(Struct, frozen=True):
    """A cell of the big road.

    Args:
        winner: `P` or `B`.
        ties: how many ties followed it, and before the first cell how many came before it.
    """

    winner: str
    ties: int


class Next(Struct, frozen=True):
    """What a win of Banker or of Player now would add to each derived road."""

    banker: Derived
    player: Derived


class RoadsView(Struct, frozen=True, kw_only=True):
    """All roads of a shoe.

    Args:
        big_road: columns of cells, the top cell first.
        heights: the columns' lengths.
        big_eye_boy: marks, `R` red and `B` blue.
        small_road: the same.
        cockroach_pig: the same.
        bead_plate: a text a coup: `P`, `B` or `T`, and behind it `n` for a natural, `p` for a pair
            in Player's and `b` for one in Banker's hand, where that is known.
        next_marks: what the next win would add; `next` in JSON.
    """

    big_road: tuple[tuple[Cell, ...], ...]
    heights: tuple[int, ...]
    big_eye_boy: str
    small_road: str
    cockroach_pig: str
    bead_plate: tuple[str, ...]
    next_marks: Next = field(name="next")


def project_roads(roads: Roads) -> RoadsView:
    """Return the document of these roads."""
    derived = roads.derived
    return RoadsView(
        big_road=tuple(
            tuple([Cell(_LETTERS[column.winner], ties) for ties in column.ties])
            for column in roads.columns
        ),
        heights=roads.heights,
        big_eye_boy=derived.big_eye_boy,
        small_road=derived.small_road,
        cockroach_pig=derived.cockroach_pig,
        bead_plate=tuple(map(_bead_text, roads.beads)),
        next_marks=Next(
            banker=roads.next_marks(Winner.BANKER), player=roads.next_marks(Winner.PLAYER)
        ),
    )


def read_results(text: str) -> Roads:
    """Parse results written as letters, such as `BPPT`, to roads.

    Raises:
        InputError: a letter is not P, B or T; names the letter and its place.
    """
    roads = Roads()
    for place, letter in enumerate(text, start=1):
        winner = _WINNERS.get(letter)
        if winner is None:
            raise InputError(
                f"RESULTS: {letter!r} in place {place} is no result; "
                "write P for Player, B for Banker, T for a tie"
            )
        roads = roads.add(Bead(winner=winner))
    return roads


@cache  # there are 24 beads, and a view has one for each coup of the shoe
def _bead_text(coup: Bead) -> str:
    marks = ((coup.natural, "n"), (coup.player_pair, "p"), (coup.banker_pair, "b"))
    return _LETTERS[coup.winner] + "".join(mark for holds, mark in marks if holds)
