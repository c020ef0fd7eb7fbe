"""The side wagers that won in each coup, of those that a rulebook offers."""

import pytest

from table_core.roads.side_wins import side_wins
from table_core.rulebooks.shipped import load_rulebook
from tests.support.table.deals import outcome
from tests.support.table.histories import each_history

# rulebook: cards in dealing order -> what won, by the published rules of each wager
WINS = """
extras: 9H 2D KS KC            -> dragon_bonus_player small
extras: 4H 4D 4S 4C            -> either_pair small
extras: 2H 3D 2H KC 5C KD      -> big dragon_bonus_player either_pair perfect_pair_either
extras: 2H 6D KS KC AH         -> big lucky6
ez: 2H 2D KS KC AH 5C          -> dragon7
ez: 2H 2D KS KC 6H 4C          -> panda8
ez: 9H 2D KS KC                ->
au-commission: 2H 6D KS KC AH  -> small_tiger super_six tiger
au-even-money: 2H 2D KS KC AH 4C -> big_tiger super_six tiger
au-commission: 6H 6D KS KC     -> tiger_tie
au-commission: 2H 7D 2S KC AH  -> player_pair tiger_pair
mini-lucky8: 8H 2D KS KC       -> lucky8_player
nz-scale-one: 2H 7D 2S KC AH   -> perfect_pairs
"""


@pytest.mark.parametrize("line", WINS.strip().splitlines())
def test_a_coup_names_the_side_wagers_that_won(line: str) -> None:
    rulebook, _, rest = line.partition(": ")
    dealt, _, expected = rest.partition("->")
    (found,) = side_wins([outcome(dealt)], load_rulebook(rulebook).bets)
    assert sorted(found) == expected.split()


HISTORIES = """
a correction changes what won, and a void coup shows nothing
    in none
    played 6S KH | 7D KC     -> view().shoe.side_wins=none
    played 6S KH | 6D KC     -> view().shoe.side_wins~tiger_tie
    correct_hands coup=01/2 player="8S 8H" banker="7D KC" -> view().shoe.side_wins~player_pair
                             -> view().shoe.side_wins!~tiger_tie
    void_coup coup=01/2      -> view().shoe.side_wins!~player_pair
"""

test_marks_follow_the_log = each_history(HISTORIES)
