"""`baccarat roads`: draw the roads of a sequence of results."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

import click
import msgspec
from msgspec.structs import astuple

from table_core.roads.columns import RoadsView, project_roads, read_results

__all__ = ["roads"]

_BEADS: Final = 6  # a bead plate is cut into columns of six
_GAP = " "


@click.command()
@click.argument("results", metavar="RESULTS")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of drawings.")
def roads(*, results: str, as_json: bool) -> None:
    """Draw the roads of RESULTS, the coups of a shoe in order: P, B and T, such as BPPT.

    The big road is drawn as logical columns, however long; a number counts the ties on a cell.
    """
    view = project_roads(read_results(results))
    click.echo(msgspec.json.encode(view) if as_json else _drawn(view))


def _drawn(view: RoadsView) -> str:
    plate = view.bead_plate
    columns = [plate[start : start + _BEADS] for start in range(0, len(plate), _BEADS)]
    big_road = [
        [cell.winner + (str(cell.ties) if cell.ties else "") for cell in column]
        for column in view.big_road
    ]
    hints = [
        f"  {hand}  {' '.join(mark or '-' for mark in astuple(marks))}"
        for hand, marks in (("Banker", view.next_marks.banker), ("Player", view.next_marks.player))
    ]
    return "\n".join(
        [
            "Bead plate",
            *_grid(columns),
            "Big road",
            *_grid(big_road),
            f"Big eye boy    {view.big_eye_boy}".rstrip(),
            f"Small road     {view.small_road}".rstrip(),
            f"Cockroach pig  {view.cockroach_pig}".rstrip(),
            "A win now adds, in this order",
            *hints,
        ]
    )


def _grid(columns: Sequence[Sequence[str]]) -> list[str]:
    """Lay out columns side by side, top row first, every cell as wide as the widest."""
    width = max((len(cell) for column in columns for cell in column), default=0)
    return [
        "  " + _GAP.join(cell.ljust(width) for cell in row).rstrip()
        for row in zip_longest(*columns, fillvalue="")
    ]
