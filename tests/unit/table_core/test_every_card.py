"""Every card of a shoe is accounted for exactly once, however often and by whom it is told of."""

import pytest

from events.cards import Card
from events.types import ShoeAudited
from simulators.device.deck import shuffled
from table_core.decide.decision import DecisionContext
from tests.support.cage.books import book
from tests.support.shoe.whole_shoe import CardTable
from tests.support.table.coups import SHOE
from tests.support.table.histories import each_history

HISTORIES = """
a card counts once, whoever tells of it and however often
    * P2      "reveal P2 KH P2 KH P2 KH" deal      5 {king}    # disclosed more than once
    * P2      "reveal P2 KH P2 4D"       deal      5 {king}    # disclosed otherwise
    * "P2 KH" "reveal P2 KH"             deal      5 {king}    # drawn with its face, disclosed
    * deal    "reveal P2 KH"             deal      5 {king}    # its draw was lost
    * deal    "shoe card_unreadable P2"  deal      5 {none}
    * deal    "shoe card_unreadable P2"  "{enter}" 5 {king}
    * deal    "shoe card_unreadable"     "{enter}" 5 {king}
    * P2      "{enter}"       "reveal P2 KH"       5 {king}
    * "{lost}" "B2 3C"                   "{enter}" 6 {both}    # never told of
    * "{lost}" "P2 KH"                   "{enter}" 5 {king}    # told of while misaligned
    * "{lost}" "shoe card_drawn KH"      "{enter}" 5 {king}
    * "P2 4D" "correct_card P2 KH"       deal      5 {king}
    * "P2 4D" "mark_unreadable P2"       deal      5 {none}
    * "P2 4D" "mark_unreadable P2"       "{enter}" 5 {king}
    * deal "shoe card_drawn KH"  "shoe card_drawn 3C" 6 {both}
    in closed
    deal 9S 2D
    {0}
    {1}
    {2}                      -> shoe.cards={3} faces(01)={4}
a lost first card is not taken for the first card of the round before
    * open close
    * deal deal              # without betting, a coup begins without wagers, misaligned
    in settled
    {0}
    {1}
    {lost}
    B1 3C
    enter_card P1 KH         -> shoe.cards=8 faces(01)=2D,3C,3C,4C,9S,AS,KH,KH
an overdrawn card that came to a place counts once when it is carried over
    in complete
    B3 5D
    resolve_irregularity kind=excess_card seen=false
    void_coup
    open
    close
    shoe card_carried_over P1 5D -> shoe.cards=7 shoe.carried=1 copies(5D)=1
each of two overdrawn cards counts
    in none
    {overdrawn} 5D
    void_coup
    {overdrawn} 6D
    void_coup                -> shoe.cards=12 copies(5D)=1 copies(6D)=1
a squeezed card that is carried over is disclosed once
    in complete
    shoe card_out_of_game reason=drawn_outside_game 5D
    void_coup
    open
    close
    shoe card_carried_over P1
    reveal P1 5D             -> copies(5D)=1
the last copy that was told of may be entered and no ninth
    in closed
    7 x shoe burn_card KH left=20
    P1 9S
    {lost}
    P2 KH
    enter_card B1 2D
    {enter}
    enter_card B2 KH         -> refused too_many_copies
a card of the shoe before is not counted in the one that replaced it
    in closed
    P1 9S
    shoe card_unreadable B1
    replace_shoe shoe=02 coup=continue
    enter_card B1 2D         -> shoe.cards=0 shoe.order=
    P2 KH B2 3C              -> shoe.cards=2 shoe.order=KH3C
an overdrawn card of a shoe's last coup is not awaited from the next shoe
    in complete
    shoe cut_card
    shoe card_out_of_game reason=drawn_outside_game 5D
    resolve_irregularity kind=excess_card seen=false
    result player
    end_shoe
    load_shoe shoe=02
    shoe first_card AS
    shoe burn_card 4C left=0
    open
    close
    deal 9S 2D KH 3C
    result player            -> settled
"""
OUTSIDE = "shoe card_out_of_game reason=drawn_outside_game"
DEALT = "open\nclose\ndeal 9S 2D KH 3C"
STEPS = {
    "lost": "shoe report_lost expected=3 got=4",
    "enter": "enter_card P2 KH",
    "none": "2D,4C,9S,AS",
    "king": "2D,4C,9S,AS,KH",
    "both": "2D,3C,4C,9S,AS,KH",
    "overdrawn": f"{DEALT}\n{OUTSIDE}\nshoe card_out_of_game reason=overdrawn",
}


test_a_card_that_is_told_of_in_any_way_counts_once = each_history(HISTORIES, **STEPS)


# ---- a whole shoe ----


@pytest.mark.parametrize("decks", [4, 6, 8])
def test_a_whole_shoe_is_accounted_for_to_the_last_card(decks: int) -> None:
    rulebook = book("au-commission", f"decks={decks}")
    table = CardTable(DecisionContext(table="t1", rulebook=rulebook))
    table.load(SHOE, shuffled("a whole shoe", decks), decks=decks)
    while not table.over:
        table.coup()
    (audit,) = (event for event in table.world.log if isinstance(event, ShoeAudited))
    assert audit.seen + sum(audit.left.values()) == 52 * decks
    assert audit.seen == audit.known == 52 * decks - table.deck.left
    assert audit.left == {card: table.deck.composition()[card] for card in Card}
    assert 52 * decks / 6 < audit.coups < 52 * decks / 4
    # The coup in which the cut card came was finished and one more played: 14 cards do that.
    assert 3 <= table.deck.left <= 10
