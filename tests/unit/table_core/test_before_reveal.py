"""Where the house closes betting before the reveal, cards may lie face down while wagers come."""

from tests.support.table.histories import each_history

HISTORIES = """
hidden cards leave betting open and the first face closes it
    {table}
    squeeze               -> betting
    bet 2 tie 500
    reveal P1 9S          -> betting_closed: by=reveal
    place_wager wagers="3 tie 500" -> refused betting_closed
    reveal B1 2D P2 KH B2 3C
    result player         -> settlement(1).lines.paid=2000,0
Perfect Pairs close with the first card all the same
    # Seed 1, 11A.3: before any cards in the round of play are dealt.
    rules nz-scale-one procedure.betting_closes=before_reveal
    in none
    open
    place_wager transaction=a wagers="1 player 500,1 perfect_pairs 500,2 player 500"
    P1 B1 P2 B2
    place_wager wagers="2 perfect_pairs 500"   -> refused betting_closed
    withdraw_wager wagers=dealer/a/1           -> refused betting_closed
    withdraw_wager wagers=dealer/a/0           -> refused betting_closed    # they need it
    place_wager wagers="2 player 100"
    withdraw_wager wagers=dealer/a/2           -> betting
an open face closes betting as ever
    {table}
    P1 4D                 -> made betting_closed card_dealt; betting_closed: by=first_card
the dealer may close with cards on the table
    {table}
    P1 B1
    close_betting         -> closed
    P2 B2                 -> dealing
a break while cards lie face down closes betting and misaligns
    * B2
    * "shoe report_lost expected=3 got=5"
    {table}
    P1
    {0}                   -> made betting_closed coup_misaligned
a card that is not the first still misaligns
    {table}
    B1                    -> coup_misaligned: reason=first_card_missing
"""
TABLE = """rules mini-lucky8 procedure.betting_closes=before_reveal
in none
open
bet 1 player 1000"""


test_betting_that_closes_before_the_reveal = each_history(HISTORIES, table=TABLE)
