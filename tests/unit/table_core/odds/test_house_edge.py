"""The house's edge without counting deals, against every deal counted."""

import pytest

from table_core.odds.exact import exact_odds
from table_core.odds.full_shoes import FULL_SHOES
from table_core.odds.house_edge import count_categories, house_edges
from table_core.rulebooks.shipped import load_rulebook, shipped_ids
from table_core.rules.rulebook_file import DECKS, full_shoe
from table_core.rules.wagers import BET_KINDS


def counted_rows() -> list[str]:
    """The rows of `FULL_SHOES`, counted; print them where a kind or a variant was added."""
    rows = []
    for bet, kind in BET_KINDS.items():
        for index, variant in enumerate(kind.judges):
            name = f"{bet}:{variant}" if index else bet
            found = [count_categories(bet, variant, decks) for decks in DECKS]
            for categories in sorted(set().union(*found)):
                deals = " ".join(str(each[categories]) for each in found)
                rows.append(f"{name} {'+'.join(categories)} {deals}")
    return rows


def test_the_kept_rows_are_those_that_are_counted() -> None:
    assert FULL_SHOES.strip().splitlines() == counted_rows()


@pytest.mark.parametrize("name", shipped_ids())
def test_the_edge_is_that_of_the_exact_odds(name: str) -> None:
    rulebook = load_rulebook(name)
    odds = exact_odds(rulebook, full_shoe(rulebook.decks))
    assert house_edges(rulebook) == {bet: row.edge for bet, row in odds.items()}
