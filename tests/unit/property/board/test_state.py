"""The property's board: roads as the table itself draws them, and news for screens."""

import json
from typing import Any

import msgspec
import pytest

from property.board.state import CoupRow, PropertyBoard, roads_of
from simulators.device.deck import Deck, shuffled
from simulators.device.printed_rules import next_place, outcome
from table_core.roads.columns import Roads, bead_of, project_roads
from table_core.rules.draw import Outcome, deal_cards

VOID = CoupRow("s/9", "banker", True, ["9D", "KH"], ["9S", "6C"], 9, 5, False, False)
OPEN = CoupRow("s/9", None, False, [], [], None, None, None, None)


def shoe(seed: int) -> tuple[list[CoupRow], Roads]:
    """A shoe's coups as the archive has them, and the roads that the table draws of them."""
    deck, rows, roads = Deck(shuffled(seed)), [], Roads()
    deck.burn()
    for number in range(1, 61):
        cards: list[Any] = []
        while next_place(cards) is not None:
            cards.append(deck.draw())
        called = outcome(cards)
        rows.append(
            CoupRow(
                f"s/{number}",
                called.winner.value,
                False,
                list(map(str, called.player)),
                list(map(str, called.banker)),
                called.player_total,
                called.banker_total,
                called.player_pair,
                called.banker_pair,
            )
        )
        dealt = deal_cards(cards)
        assert isinstance(dealt, Outcome)
        roads = roads.add(bead_of(dealt))
    return rows, roads


@pytest.mark.parametrize("seed", range(8))
def test_the_roads_of_a_shoe_are_those_that_its_table_draws(seed: int) -> None:
    rows, roads = shoe(seed)
    view = msgspec.to_builtins(project_roads(roads))
    found = roads_of(rows)
    assert json.loads(msgspec.json.encode(found)) == {
        "big_road": json.loads(msgspec.json.encode(view["big_road"])),
        "bead_plate": list(view["bead_plate"]),
    }


def test_what_is_void_or_not_settled_is_on_no_road() -> None:
    rows, _ = shoe(3)
    assert roads_of([*rows[:5], VOID, *rows[5:], OPEN]) == roads_of(rows)


def test_ties_before_the_first_winner_wait_for_it() -> None:
    tie = CoupRow("s/1", "tie", False, ["2D", "KH", "3C"], ["5S", "KC"], 5, 5, False, False)
    assert roads_of([tie, tie])["big_road"] == []
    won = CoupRow("s/3", "player", False, ["6D", "KH"], ["5S", "KC"], 6, 5, False, False)
    assert roads_of([tie, tie, won, tie])["big_road"] == [[{"winner": "P", "ties": 3}]]


def news(board: PropertyBoard, since: int) -> dict[str, dict[str, Any]]:
    told: dict[str, dict[str, dict[str, Any]]] = json.loads(board.news(since))
    return told["tables"]


def test_a_screen_is_told_what_it_does_not_have() -> None:
    board = PropertyBoard()
    board.pulse("harbour/b7", {"position": 4})
    board.picture("harbour/b7", {"shoe": "s"})
    board.pulse("harbour/b8", {"position": 1})
    known = board.change
    assert news(board, 0) == {
        "harbour/b7": {"position": 4, "shoe": "s"},
        "harbour/b8": {"position": 1},
    }
    assert news(board, known) == {}
    board.pulse("harbour/b7", {"position": 5})
    board.rules("harbour/b8", {"contradicts": "a scale"})
    assert news(board, known) == {
        "harbour/b7": {"position": 5},
        "harbour/b8": {"contradicts": "a scale"},
    }
    assert board.position("harbour/b7") == 5
    assert board.position("river/b1") == 0
    assert board.tables == ("harbour/b7", "harbour/b8")


def test_what_is_as_it_was_is_no_news() -> None:
    board = PropertyBoard()
    board.pulse("harbour/b7", {"position": 4})
    change = board.change
    board.pulse("harbour/b7", {"position": 4})
    assert board.change == change
