"""What a coup or a shoe leaves after it does not stand for ever."""

from tests.support.table.histories import each_history

HISTORIES = """
a carried card is no longer awaited when the first card was entered by hand
    {carried_card_missing}
    B1 2D P2 KH B2 3C
    result player
    enter_card P1 9S
    enter_card B1 2D
    enter_card P2 KH
    enter_card B2 3C
    realign
    {plays_on}
a carried card is no longer awaited when its coup was void
    {carried_card_missing}
    void_coup
    result player
    {plays_on}
a carried card is still awaited when a coup was void before its first card
    in held
    result player
    resolve_irregularity kind=excess_card seen=false
    open
    void_coup
    open
    P1 4D                 -> coup_misaligned: reason=carried_card_missing
the alarm for a missing burn ends when the shoe tells of the burn after all
    {unburned}
    shoe first_card AS
    shoe burn_card 4C left=0 -> alarms()=none
the alarm for a missing burn ends with its shoe
    {unburned}
    void_coup
    end_shoe              -> alarms()=none
    load_shoe shoe=03
    shoe first_card AS
    shoe burn_card 4C left=0
    {plays_on}            -> alarms()=none
the alarm for a missing burn ends when a person records it
    {unburned}
    burn cards=0          -> alarms()=none
cards that a restarted shoe tells of at its own places count once
    # It has lost its power in mid-coup and calls the third card Player's first.
    in closed
    deal 9S 2D
    shoe shoe_booted
    P1 KH B1 3C
    enter_card P2 KH
    enter_card B2 3C
    realign               -> complete; shoe.cards=6
                          -> copies(9S)=1 copies(2D)=1 copies(KH)=1 copies(3C)=1
    void_coup
    {plays_on}            -> copies(9S)=2
"""
STEPS = {
    # A card was to be the dummy coup's first, and the shoe deals from itself.
    "carried_card_missing": """in held
result player
resolve_irregularity kind=excess_card seen=true
free_hand
P1 9S -> misaligned""",
    # A coup of a shoe whose burn nobody reported.
    "unburned": """in none
replace_shoe shoe=02
open -> alarms()=burn_missing""",
    "plays_on": """open
close
deal 9S 2D KH 3C -> complete""",
}


test_what_was_left_is_over_in_the_end = each_history(HISTORIES, **STEPS)
