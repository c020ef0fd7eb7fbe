"""The property board's state: the newest data of every table, and what a screen lacks. Pure.

Each table has four parts. The *pulse* is its position and the state of its feed; it is small and
changes with every event. The *picture* is its shoe, roads and alarms; it changes with a coup. The
*rules* are what its rulebook contradicts. The *way* is whether what is shown is what the table has.
Each part has the number of its last change, so that the board sends a screen only what it lacks.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

__all__ = ["CoupRow", "PropertyBoard", "roads_of"]

_LETTERS: Final = {"player": "P", "banker": "B", "tie": "T"}
_NATURAL: Final = 8
_INITIAL: Final = 2


class CoupRow(NamedTuple):
    """A coup of the shoe in play, from the archive's view `coup`.

    Args:
        coup: the coup's id.
        winner: `player`, `banker` or `tie`; None until it is settled.
        void: whether the coup is void and does not count.
        player: Player's cards.
        banker: Banker's cards.
        player_total: None until it is settled.
        banker_total: None until it is settled.
        player_pair: whether Player's first two cards have one rank.
        banker_pair: whether Banker's first two cards have one rank.
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
    """Return the big road and bead plate of a shoe's coups, in the form of `baccarat roads`.

    A run of one winner is a column. A tie counts on the cell before it; ties before the first
    decided coup count on the first cell. Void and unsettled coups do not appear.
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


class PropertyBoard:
    """The newest state of every table, with the number of each part's last change.

    Attributes:
        change: the number of the newest change.
    """

    def __init__(self) -> None:
        self._pulses: dict[str, _Part] = {}
        self._pictures: dict[str, _Part] = {}
        self._rules: dict[str, _Part] = {}
        self._ways: dict[str, _Part] = {}
        self._findings: dict[str, _Part] = {}
        self.change = 0

    @property
    def tables(self) -> tuple[str, ...]:
        """All tables as `<site>/<table>`, sorted."""
        return tuple(sorted(self._pulses))

    def position(self, table: str) -> int:
        """Return a table's position; 0 if the table is unknown."""
        part = self._pulses.get(table)
        return int(part.fields["position"]) if part else 0

    def pulse(self, table: str, fields: dict[str, Any]) -> None:
        """Set the fields that change with every event; `position` is one of them."""
        self._put(self._pulses, table, fields)

    def picture(self, table: str, fields: dict[str, Any]) -> None:
        """Set the fields that change with a coup."""
        self._put(self._pictures, table, fields)

    def rules(self, table: str, fields: dict[str, Any]) -> None:
        """Set the fields that change with the rulebook of this or another table."""
        self._put(self._rules, table, fields)

    def way(self, table: str, fields: dict[str, Any]) -> None:
        """Set whether a table's picture is live, and what is wrong with its way here."""
        self._put(self._ways, table, fields)

    def findings(self, found: Sequence[dict[str, Any]]) -> None:
        """Set what is not well with the property's parts, tables apart."""
        self._put(self._findings, "", {"findings": list(found)})

    def news(self, since: int) -> bytes:
        """Return the parts that changed after change `since`, as JSON: `{"tables": {...}, ...}`."""
        found: dict[str, dict[str, Any]] = {}
        for parts in (self._pulses, self._pictures, self._rules, self._ways):
            for table, part in parts.items():
                if part.change > since:
                    found.setdefault(table, {}).update(part.fields)
        told = {
            name: each
            for part in self._findings.values()
            if part.change > since
            for name, each in part.fields.items()
        }
        return msgspec.json.encode({"tables": found} | told)

    def _put(self, parts: dict[str, _Part], table: str, fields: dict[str, Any]) -> None:
        known = parts.get(table)
        if known is None or known.fields != fields:
            self.change += 1
            parts[table] = _Part(self.change, fields)
