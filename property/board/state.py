"""The property's board: what is known of every table, as screens are told it. Pure.

Each table has two parts. The *pulse*, how far it is and how its feed stands, changes with every
event and is small. The *picture*, shoe, roads and alarms, changes with a coup. Each part has the
number of the change that it came with, so that a screen is told what it does not have.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

__all__ = ["Board", "CoupRow", "roads_of"]

_LETTERS: Final = {"player": "P", "banker": "B", "tie": "T"}
_NATURAL: Final = 8
_INITIAL: Final = 2


class CoupRow(NamedTuple):
    """A coup of the shoe in play, as the archive's view `coup` has it.

    Args:
        coup: its id.
        winner: `player`, `banker` or `tie`; None until it is settled.
        void: it does not count.
        player: Player's cards.
        banker: Banker's cards.
        player_total: None until it is settled.
        banker_total: the same.
        player_pair: Player's first two are of one rank.
        banker_pair: Banker's are.
    """

    coup: str
    winner: str | None
    void: bool
    player: Sequence[str]
    banker: Sequence[str]
    player_total: int | None
    banker_total: int | None
    player_pair: bool | None
    banker_pair: bool | None


def roads_of(coups: Iterable[CoupRow]) -> dict[str, Any]:
    """Big road and bead plate of a shoe's coups, in the form of `baccarat roads`.

    A run of one winner is a column; a tie is counted on the cell that it follows, and those before
    the first decided coup on the first cell. Void coups, and those not settled yet, are not there.
    """
    columns: list[list[dict[str, Any]]] = []
    beads: list[str] = []
    waiting = 0
    for coup in coups:
        letter = _LETTERS.get(coup.winner or "")
        if letter is None or coup.void:
            continue
        beads.append(_bead(letter, coup))
        if letter != "T":
            cell = {"winner": letter, "ties": 0 if columns else waiting}
            if columns and columns[-1][0]["winner"] == letter:
                columns[-1].append(cell)
            else:
                columns.append([cell])
        elif columns:
            columns[-1][-1]["ties"] += 1
        else:
            waiting += 1
    return {"big_road": columns, "bead_plate": beads}


def _bead(letter: str, coup: CoupRow) -> str:
    # A natural on either side ends the deal, so both have two cards.
    natural = (
        max(len(coup.player), len(coup.banker)) == _INITIAL
        and max(coup.player_total or 0, coup.banker_total or 0) >= _NATURAL
    )
    marks = ((natural, "n"), (coup.player_pair, "p"), (coup.banker_pair, "b"))
    return letter + "".join(mark for holds, mark in marks if holds)


class _Part(NamedTuple):
    change: int
    fields: dict[str, Any]


class Board:
    """Every table's newest, and what changed since a screen was told."""

    def __init__(self) -> None:
        self._pulses: dict[str, _Part] = {}
        self._pictures: dict[str, _Part] = {}
        self._change = 0

    @property
    def change(self) -> int:
        """The number of the newest change."""
        return self._change

    @property
    def tables(self) -> tuple[str, ...]:
        """`<site>/<table>` of all, in order."""
        return tuple(sorted(self._pulses))

    def position(self, table: str) -> int:
        """How far a table is; 0 where nothing is known of it."""
        part = self._pulses.get(table)
        return int(part.fields["position"]) if part else 0

    def pulse(self, table: str, fields: dict[str, Any]) -> None:
        """What changes with every event: `position` and what else there is."""
        self._put(self._pulses, table, fields)

    def picture(self, table: str, fields: dict[str, Any]) -> None:
        """What changes with a coup."""
        self._put(self._pictures, table, fields)

    def news(self, since: int) -> bytes:
        """The parts that have changed since a change, as JSON: `{"tables": {...}}`."""
        found: dict[str, dict[str, Any]] = {}
        for parts in (self._pulses, self._pictures):
            for table, part in parts.items():
                if part.change > since:
                    found.setdefault(table, {}).update(part.fields)
        return msgspec.json.encode({"tables": found})

    def _put(self, parts: dict[str, _Part], table: str, fields: dict[str, Any]) -> None:
        known = parts.get(table)
        if known is None or known.fields != fields:
            self._change += 1
            parts[table] = _Part(self._change, fields)
