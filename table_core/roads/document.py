"""The document of the roads for displays and scripts: one JSON object of logical columns. Pure."""

from functools import cache
from typing import Final

from msgspec import Struct, field

from events.cards import Winner
from events.errors import InputError
from table_core.roads.columns import Bead, Derived, Roads

__all__ = ["Cell", "Next", "RoadsView", "project_roads", "read_results"]

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
        next: what the next win would add.
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
