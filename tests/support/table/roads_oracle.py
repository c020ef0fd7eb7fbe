"""All roads of a shoe as they stand on a board, written from the rules with no haste.

It knows nothing of the product: a shoe is a text of `P`, `B` and `T`, and what comes out are marks
at places. Columns of the big road are plain lists, the grid is a board of six rows that is filled
cell by cell.
"""

from itertools import groupby
from typing import Final

Mark = tuple[int, int, str, int]
"""Column, row, mark, ties."""

ROWS: Final = 6
_BACK: Final = {"big_eye_boy": 1, "small_road": 2, "cockroach_pig": 3}


def columns_of(shoe: str) -> tuple[list[list[tuple[str, int]]], int]:
    """The big road: columns of winner and ties; and the ties that wait for the first win."""
    columns: list[list[tuple[str, int]]] = []
    waiting = 0
    for result in shoe:
        if result != "T" and columns and columns[-1][-1][0] == result:
            columns[-1].append((result, 0))
        elif result != "T":
            columns.append([(result, waiting)])
            waiting = 0
        elif columns:
            winner, ties = columns[-1][-1]
            columns[-1][-1] = (winner, ties + 1)
        else:
            waiting += 1
    return columns, waiting


def derived_of(shoe: str) -> dict[str, str]:
    """The marks of each derived road, in the order of play."""
    lengths = [len(column) for column in columns_of(shoe)[0]]
    return {road: _derived(lengths, back) for road, back in _BACK.items()}


def _derived(lengths: list[int], back: int) -> str:
    """A derived road, cell by cell in the order of play.

    The first cell of a column asks whether the two columns before it, one and `1 + back` to the
    left of it, are as long as each other. Any further cell looks `back` columns to the left, at its
    own row and the row above: red where both or neither are taken, which is everywhere but just
    below that column's end.
    """
    marks = ""
    for c, length in enumerate(lengths):
        for row in range(length):
            if row == 0 and c >= back + 1:
                marks += "R" if lengths[c - 1] == lengths[c - 1 - back] else "B"
            elif row > 0 and c >= back:
                marks += "B" if lengths[c - back] == row else "R"
    return marks


def _laid(streaks: list[int]) -> list[tuple[int, int]]:
    """Where each cell lies: down, and to the right where below is the floor or taken."""
    taken: set[tuple[int, int]] = set()
    order: list[tuple[int, int]] = []
    top = -1
    for length in streaks:
        top += 1
        while (top, 0) in taken:
            top += 1
        place, down = (top, 0), True
        for n in range(length):
            if n > 0:
                below = (place[0], place[1] + 1)
                down = down and below[1] < ROWS and below not in taken
                place = below if down else (place[0] + 1, place[1])
            assert place not in taken, "a road that runs over itself"
            taken.add(place)
            order.append(place)
    return order


def _seen(marks: list[Mark], columns: int) -> list[Mark]:
    """The newest columns, as many as fit."""
    most = max((column for column, *_ in marks), default=-1)
    gone = max(0, most + 1 - columns)
    return [(column - gone, *rest) for column, *rest in marks if column >= gone]  # type: ignore[misc]  # the rest is three


def board_of(shoe: str, fits: dict[str, int]) -> dict[str, list[Mark]]:
    """Every road's marks in order, as far as they are seen.

    Args:
        shoe: a letter a coup.
        fits: how many columns each road has room for.
    """
    columns, _ = columns_of(shoe)
    cells = [cell for column in columns for cell in column]
    board = {
        "bead_plate": [(n // ROWS, n % ROWS, result, 0) for n, result in enumerate(shoe)],
        "big_road": [
            (*place, winner, ties)
            for place, (winner, ties) in zip(
                _laid([len(column) for column in columns]), cells, strict=True
            )
        ],
    }
    if shoe and not columns:
        board["big_road"] = [(0, 0, "", len(shoe))]  # ties wait for the first win
    for road, marks in derived_of(shoe).items():
        places = _laid([len(list(run)) for _, run in groupby(marks)])
        board[road] = [(*place, mark, 0) for place, mark in zip(places, marks, strict=True)]
    return {road: _seen(marks, fits[road]) for road, marks in board.items()}
