"""A card in excess: in a squeeze, against the shoe's evidence, and where it was due after all."""

from tests.support.table.histories import each_history

# 2 burned, 4 of the coup, 1 in excess: 7 cards; from the decision on each counts once more.
DECIDED = """
a hidden card in excess is held and carried over, in both modes
    * "{open}" disclose
    * squeeze "{faces}"
    in closed
    {0}
    {carried}
    {1}
    result player            -> held; shoe.cards=7 copies(4D)=0 count(excess_card_drawn)=1
    {resolve} seen=false     -> settled; excess_card_resolved: outcome=carried
                             -> count(irregularity_recorded)=0
    open
    close
    shoe card_carried_over P1 4D
    {goes_on}                -> totals.coups=2
                             -> shoe.cards=10 shoe.carried=1 shoe.discarded=0 copies(4D)=1
a card in excess that was seen is held and begins a dummy coup, in both modes
    * "{open}" disclose
    * squeeze "{faces}"
    in closed
    {0}
    {carried}
    {1}
    result player            -> held; shoe.cards=7 copies(4D)=0 count(excess_card_drawn)=1
    {resolve} seen=true      -> settled; excess_card_resolved: outcome=dummy
                             -> count(irregularity_recorded)=0
    open_betting             -> refused dummy_coup_due
    free_hand
    shoe card_carried_over P1 4D
    {goes_on}                -> totals.coups=2
                             -> shoe.cards=10 shoe.carried=1 shoe.discarded=0 copies(4D)=1
a card in excess is held and burned, by policy and by the shoe, in both modes
    * carry "{burned}"  false 1 1 "{open}" disclose
    * carry "{burned}"  true  1 1 "{open}" disclose
    * carry "{burned}"  false 1 1 squeeze  "{faces}"
    * carry "{burned}"  true  1 1 squeeze  "{faces}"
    * burn  "{carried}" false 0 0 "{open}" disclose
    * burn  "{carried}" true  0 0 "{open}" disclose
    * burn  "{carried}" false 0 0 squeeze  "{faces}"
    * burn  "{carried}" true  0 0 squeeze  "{faces}"
    * burn  "{burned}"  false 1 0 "{open}" disclose
    * burn  "{burned}"  true  1 0 "{open}" disclose
    * burn  "{burned}"  false 1 0 squeeze  "{faces}"
    * burn  "{burned}"  true  1 0 squeeze  "{faces}"
    rules au-commission procedure.excess={0}
    in closed
    {5}
    {1}
    {6}
    result player            -> held; shoe.cards=7 copies(4D)={3} count(excess_card_drawn)=1
    {resolve} seen={2}       -> settled; excess_card_resolved: outcome=burned
                             -> count(irregularity_recorded)={4}
    shoe error_cleared code=draw_timeout
    {plays_on}
                             -> shoe.cards=11 shoe.carried=0 shoe.discarded=1
a card in excess is held and voids the coup, in both modes
    * "{carried}" false 0 "{open}" disclose
    * "{carried}" true  0 "{open}" disclose
    * "{carried}" false 0 squeeze  "{faces}"
    * "{carried}" true  0 squeeze  "{faces}"
    * "{burned}"  false 1 "{open}" disclose
    * "{burned}"  true  1 "{open}" disclose
    * "{burned}"  false 1 squeeze  "{faces}"
    * "{burned}"  true  1 squeeze  "{faces}"
    rules au-commission procedure.excess=void
    in closed
    {3}
    {0}
    {4}
    result player            -> held; shoe.cards=7 copies(4D)={2} count(excess_card_drawn)=1
    {resolve} seen={1}       -> made coup_voided
    shoe error_cleared code=draw_timeout
    open
    close
    P1 4S
    {goes_on}                -> totals.coups=1 shoe.cards=11 shoe.carried=0 shoe.discarded=0
"""

HISTORIES = """
a shoe that carries a card over against the policy misaligns and counts it once
    * burn "deal 9S 2D KH 3C" disclose 4D
    * void "deal 9S 2D KH 3C" disclose 4D
    * burn squeeze "disclose 9S 2D KH 3C" ""
    * void squeeze "disclose 9S 2D KH 3C" ""
    rules au-commission procedure.excess={0}
    in closed
    {1}
    {carried}
    {2}
    result player
    resolve_irregularity kind=excess_card seen=false
    open
    close
    shoe card_carried_over P1 {3} -> misaligned; coup_misaligned: reason=card_carried_over
    enter_card P1 4D         -> shoe.cards=7 copies(4D)=1
in a squeeze a carried card is dealt faceless and disclosed once
    in closed
    squeeze
    {carried}
    disclose 9S 2D KH 3C
    result player
    resolve_irregularity kind=excess_card seen=false
    open
    close
    shoe card_carried_over P1
    B1 P2 B2
    disclose 4D 2D 5H 3C
    result player            -> settled; shoe.cards=10 shoe.carried=1 copies(4D)=1
in a squeeze the table is told at once and held when the faces are known
    in closed
    squeeze
    shoe {outside}           -> dealing; alarm(excess_card)~"put it aside"
                             -> count(excess_card_drawn)=0
    shoe {taken_out}         -> alarm(excess_card)~"taken it out of play"
    disclose 9S 2D KH        -> dealing
    reveal B2 3C             -> held
                             -> alarm(excess_card)~"say whether the table has seen it"
                             -> alarm(excess_card)!~4D
a card drawn outside that was due by our table does not settle
    in closed
    squeeze
    {carried}
    # Player's 5 draws: the shoe has thrown the third card out, or never meant it.
    disclose 2S 7D 3H QC
    result player            -> misaligned; coup.reason~"excess_card_was_due:"
                             -> coup.reason~"player 3 was due"
    realign                  -> dealing    # a card is still due: nothing is paid
    result player            -> misaligned
a card drawn outside that was due is entered at its place and counts once
    in closed
    squeeze
    {carried}
    disclose 2S 7D 3H QC
    result player            -> shoe.cards=7
    enter_card P3 4D         -> shoe.cards=7 shoe.extra=none copies(4D)=1
    realign                  -> settled    # 9 against 7, and no card in excess is left
    {plays_on}
a face that is known tells the excess card from one that was due
    in closed
    squeeze
    {burned}
    disclose 2S 7D 3H QC
    result player            -> shoe.cards=7
    enter_card P3 4C         -> shoe.cards=8 copies(4D)=1
    realign                  -> held       # the other card is still to be resolved
a card after one drawn outside shows that the deal was not over
    in closed
    squeeze
    shoe {outside}
    P3                       -> misaligned; coup_misaligned: reason=excess_card_was_due
a card drawn outside before the fourth misaligns at once in a squeeze too
    in closed
    P1 B1 P2
    shoe {outside}           -> misaligned; coup_misaligned: reason=card_out_of_game
a second card in excess misaligns
    * "{open}" disclose
    * squeeze "{faces}"
    in closed
    {0}
    {carried}
    shoe {outside}
    {1}
    result player            -> misaligned; shoe.cards=8
a card in excess is not forgotten by a coup that was misaligned
    * "{lost}" "shoe {outside}"
    * "shoe {outside}" "{lost}"
    in complete
    {0}
    {1}
    realign                  -> held
    resolve_irregularity kind=excess_card seen=false
    result player            -> settled
    open
    close
    shoe card_carried_over P1 4D
    {goes_on}                -> totals.coups=2
a card drawn outside among open faces is vouched for by the person who realigns
    in dealing
    shoe {outside}           -> misaligned; coup_misaligned: reason=card_out_of_game
    realign
    B1 2D P2 KH B2 3C
    result player            -> settled
before the reveal a card in excess closes betting and is judged later
    rules au-commission procedure.betting_closes=before_reveal
    in betting
    squeeze                  -> betting
    {carried}
                             -> closed
    disclose 9S 2D KH 3C     -> held
an unread face keeps the judgement open where the others lie open
    in closed
    deal 9S 2D KH
    B2                       # a device that could not read it withholds the face
    {carried}
    enter_card B2 3C         -> held
a disclosure that contradicts after an overdraw misaligns
    in closed
    squeeze
    {carried}
    reveal P1 9S
    reveal P1 8S             -> made coup_misaligned
                             -> coup_misaligned: reason=disclosure_contradicts

a held coup shows that the shoe has taken the card out
    * "{open}" disclose
    * squeeze "{faces}"
    in closed
    {0}
    {burned}
    {1}
    result player            -> alarm(excess_card)~"taken it out of play: it is burned"
no coup waits for a card that the shoe takes out after the decision, before the result
    * false
    * true
    in held
    resolve_irregularity kind=excess_card seen={0}
    shoe {taken_out}         -> irregularity_recorded: kind=excess_card_mismatch
                             -> alarms()~excess_card_mismatch
    result player
    {plays_on}
                             -> shoe.carried=0 shoe.discarded=1 copies(4D)=1
no coup waits for a card that the shoe takes out after the decision and the result
    * false
    * true
    in held
    resolve_irregularity kind=excess_card seen={0}
    result player
    shoe {taken_out}         -> irregularity_recorded: kind=excess_card_mismatch
                             -> alarms()~excess_card_mismatch
    {plays_on}
                             -> shoe.carried=0 shoe.discarded=1 copies(4D)=1
no coup waits for a card that the shoe takes out in the next betting
    in held
    resolve_irregularity kind=excess_card seen=false
    result player
    open
    shoe {taken_out}         -> irregularity_recorded: kind=excess_card_mismatch
                             -> alarms()~excess_card_mismatch
    void_coup
    {plays_on}
                             -> shoe.carried=0 shoe.discarded=1 copies(4D)=1
a carried card whose report was lost is entered and counts once
    in closed
    deal 9S 2D KH 3C
    {carried}
    result player
    resolve_irregularity kind=excess_card seen=false -> shoe.cards=7
    open
    close
    shoe report_lost expected=1 got=3
    B1 2D
    enter_card P1 4D         -> shoe.cards=8 copies(4D)=1
a card in excess whose shoe was replaced is burned whatever the policy
    * false
    * true
    in closed
    deal 9S 2D KH 3C
    {carried}
    result player
    replace_shoe shoe=02 coup=continue
    resolve_irregularity kind=excess_card seen={0}
                             -> settled; excess_card_resolved: outcome=burned
                             -> irregularity_recorded: reason~"its shoe 20261127-01 was replaced"
    {plays_on}
"""

OUTSIDE = "card_out_of_game reason=drawn_outside_game"
TAKEN_OUT = "card_out_of_game reason=overdrawn face=4D"
RAISED = "shoe error_raised code=overdraw latched=false"
TIMEOUT = "shoe error_raised code=draw_timeout latched=true"
CLEARED = "shoe error_cleared code=overdraw"
GOES_ON = "B1 2D P2 5H B2 3C\nresult player -> settled"
# As the shoe's page has them: "overdraw carried" and "overdraw burned", after the cards.
STEPS = {
    "outside": OUTSIDE,
    "taken_out": TAKEN_OUT,
    "carried": f"{RAISED}\nshoe {OUTSIDE}\n{CLEARED}",
    "burned": f"{RAISED}\n{TIMEOUT}\nshoe {OUTSIDE}\nshoe {TAKEN_OUT}\n{CLEARED}",
    "lost": "shoe link_down reason=unplugged\nshoe link_open transport=pty:x",
    "open": "deal 9S 2D KH 3C",
    "faces": "disclose 9S 2D KH 3C",
    "resolve": "resolve_irregularity kind=excess_card",
    "goes_on": GOES_ON,
    "plays_on": f"open\nclose\nP1 4S\n{GOES_ON}; totals.coups=2",
}


test_histories_of_a_card_in_excess = each_history(DECIDED + HISTORIES, **STEPS)
