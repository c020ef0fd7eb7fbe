"""The house's edge without counting deals, against every deal counted."""

import pytest

from table_core.odds.exact import exact_odds
from table_core.odds.full_shoes import FULL_SHOES
from table_core.odds.house_edge import house_edges
from table_core.rulebooks.shipped import load_rulebook, shipped_ids
from table_core.rules.rulebook_file import full_shoe
from tests.tools.reference import full_shoe_rows


@pytest.mark.sweep
def test_the_kept_rows_are_those_that_are_counted() -> None:
    assert FULL_SHOES.strip() == full_shoe_rows()


@pytest.mark.parametrize("name", shipped_ids())
def test_the_edge_is_that_of_the_exact_odds(name: str) -> None:
    rulebook = load_rulebook(name)
    odds = exact_odds(rulebook, full_shoe(rulebook.decks))
    assert house_edges(rulebook) == {bet: row.edge for bet, row in odds.items()}
