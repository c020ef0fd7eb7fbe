"""Cards that were not read, misread, missed, drawn in excess: each with its way out."""

from collections.abc import Sequence

import pytest

from tests.support.table.histories import histories, play_history

CARDS = """
an unreadable card is entered by hand and the coup settles
    in closed
    deal 9S 2D
    shoe card_unreadable P2
    B2 3C                 -> dealing; alarms()=unreadable_card
    result player         -> dealing    # it waits: a face is missing, no card is
    enter_card P2 KH      -> settled; settlement(1).player=9S,KH; alarms()=none
                          -> coup.cards.source=shoe,shoe,manual,shoe
an alarm names every card without a face until the face is entered
    in closed
    deal 9S 2D
    shoe card_unreadable P2 -> active()=unreadable_card alarm(unreadable_card)~"player 2 could"
    mark_unreadable B1      -> active()=unreadable_card
                            -> alarm(unreadable_card)~"at banker 1 and player 2 could not be"
    enter_card P2 KH        -> alarm(unreadable_card)~"the card at banker 1 could not be read"
    mark_unreadable P1      -> alarm(unreadable_card)~"at player 1 and banker 1 could not be"
    enter_card P1 9S        -> alarm(unreadable_card)~"the card at banker 1 could not be read"
    enter_card B1 2D        -> active()=none
    mark_unreadable P2      -> alarm(unreadable_card)~"the card at player 2 could not be read"
    void_coup               -> active()=none
an unreadable card without a position lies where one was due
    in closed
    deal 9S 2D KH
    shoe card_unreadable
    enter_card B2 3C      -> complete
a face that is not trusted is marked and entered again
    in complete
    mark_unreadable B1    -> dealing
    result player         -> dealing
    enter_card B1 2D      -> settled; settlement(1).winner=player
a wrong face corrected before settlement is judged again
    in complete
    correct_card B1 6D    -> complete; card_corrected: was=2D card=6D
    result tie            -> settled; settlement(1).winner=tie
a correction that makes a drawn card wrong misaligns
    in closed
    deal 2S 3D 3H 3C 4S   # Player stands on 7: the third card was not due
    correct_card P1 4S    -> misaligned; coup_misaligned: detail~"player drew a third card"
a correction can resolve a disputed result
    in closed
    deal 9S 2D KH 3C
    result banker         -> made result_disputed
    correct_card P1 2H    -> dealing
    # Banker 5 against 3 stands on an ace: they agree.
    P3 AD                 -> settled; settlement(1).winner=banker
what makes no sense is refused and changes nothing
    * "enter_card P1 4D"                           card_known
    * "enter_card B2 4D"                           not_due
    * "enter_card B1 4D reason=' '"                reason_required
    * "correct_card B1 4D"                         no_such_card
    * "correct_card P1 9S"                         same_card
    * "correct_card P1 4D reason="                 reason_required
    * "mark_unreadable B1"                         no_such_card
    * "mark_unreadable P1 reason="                 reason_required
    * "resolve_irregularity kind=other reason=' '" reason_required
    * "resolve_irregularity kind=who"              unknown_irregularity
    in dealing
    {0}                   -> refused {1}
a face that the shoe cannot hold is not entered
    in dealing
    8 x shoe burn_card 4D left=20
    enter_card B1 4D      -> refused too_many_copies
    correct_card P1 4D    -> refused too_many_copies
a misaligned coup is completed by hand and realigned
    in dealing
    shoe report_lost expected=3 got=5
    P2 KH B2 3C
    result player         -> misaligned    # a later result alone never heals it
    enter_card B1 2D      -> made card_entered
    enter_card P2 KH      -> made card_entered
    enter_card B2 3C      -> made card_entered
    realign               -> settled; settlement(1).player=9S,KH
a report that comes behind the entry of its card confirms it
    in closed
    deal 9S 2D KH
    enter_card B2 3C      -> complete
    B2 3C                 -> complete; alarms()=none; copies(3C)=1
    result player         -> settled; coup.cards.source=shoe,shoe,shoe,manual
a card that was entered and comes late without a face stays as entered
    in closed
    deal 9S 2D KH
    enter_card B2 3C      -> complete
    shoe card_unreadable B2 -> complete; alarms()=none
    result player         -> settled
all late reports confirm the cards that were entered
    in closed
    deal 9S
    enter_card B1 2D
    enter_card P2 KH
    enter_card B2 3C      -> complete
    B1 2D P2 KH B2 3C     -> complete; shoe.cards=6
    result player         -> settled
a late report of another face than was entered misaligns
    in closed
    deal 9S 2D KH
    enter_card B2 3C      -> complete
    B2 5C                 -> misaligned; coup_misaligned: reason=entry_contradicts; copies(3C)=0
    correct_card B2 5C
    realign               -> complete; shoe.cards=6; copies(5C)=1
a card that was entered in a void coup is not awaited in the next one
    in dealing
    shoe report_lost expected=3 got=4
    enter_card B1 2D
    void_coup
    open
    close
    P1 8S B1 2D           -> dealing; coup.cards.source=shoe,shoe; copies(2D)=2
behind a report of a later place an entered card is never confirmed
    in closed
    deal 9S
    shoe report_lost expected=3 got=4
    enter_card B1 2D
    P2 KH
    P1 9S                 -> misaligned; shoe.cards=6; copies(9S)=2
a card entered by correct_hands is confirmed by its late report
    in closed
    deal 9S 2D KH
    correct_hands player="9S KH" banker="2D 3C"
    B2 3C                 -> complete; copies(3C)=1
a realigned coup goes on where it stood
    in dealing
    shoe link_down reason=unplugged
    shoe link_open transport=pty:x
    realign               -> dealing
    B1 2D P2 KH B2 3C
    result player         -> settled
a card drawn for Player in error while Banker's third is due is Banker's
    in closed
    deal 6S 2D KH 3C      # Player stands on 6, Banker draws on 5
    P3 9D                 -> complete; card_dealt: hand=banker
                          -> irregularity_recorded: coup=20261127-01/1 kind=card_to_wrong_hand
                          -> irregularity_recorded: reason~"in error while Banker's third was due"
in a squeeze an unread third is judged when it is entered
    in closed
    squeeze
    shoe card_unreadable B3
    disclose 6S 2D KH 3C
    result player         -> dealing
    enter_card B3 TD      -> settled; settlement(1).banker=2D,3C,TD
"""

EXCESS = """
a hidden excess card is the next coup's first card and counts once
    in complete
    shoe card_out_of_game reason=drawn_outside_game -> made excess_card_drawn alarm_raised
    result player         -> held    # nothing settles while it is open
    resolve_irregularity kind=excess_card seen=false
                          -> settled; excess_card_resolved: outcome=carried; shoe.cards=7
    open
    close
    shoe card_carried_over P1 9S -> dealing; shoe.cards=7 shoe.carried=1
    B1 2D P2 KH B2 3C
    result player         -> settled
a seen excess card is shown in a dummy coup without wagers
    in held
    result player
    resolve_irregularity kind=excess_card seen=true
    open_betting          -> refused dummy_coup_due
    free_hand             -> coup.wagerless=true
    shoe card_carried_over P1 9S
    B1 2D P2 KH B2 3C
    result player         -> totals.coups=2
    open                  -> betting
by policy every excess card is burned
    rules au-commission procedure.excess=burn
    in held
    resolve_irregularity kind=excess_card seen=true -> excess_card_resolved: outcome=burned
    shoe card_out_of_game reason=overdrawn 4D
    result player         -> settled
    open
    void_coup
    # Seen: the exposed card, the burned one after it, four of the coup, and the excess card.
    end_shoe              -> shoe_audited: seen=7 burned=3 carried=0
a shoe that takes out a card that was to be carried over is an alarm
    in held
    resolve_irregularity kind=excess_card seen=false
    shoe card_out_of_game reason=overdrawn 4D -> alarms()=excess_card,excess_card_mismatch
    result player         -> settled
by policy an excess card voids the coup
    rules au-commission procedure.excess=void
    in held
    resolve_irregularity kind=excess_card seen=false
                          -> voided; coup_voided: refunds.stake=1000,2000,500
a card drawn to a third place when none is due holds the coup
    in complete
    B3 5D                 -> held
    resolve_irregularity kind=excess_card -> refused seen_required
a carried card that does not come misaligns
    in held
    result player
    resolve_irregularity kind=excess_card seen=false
    open
    P1 4D                 -> coup_misaligned: reason=carried_card_missing
"""


@pytest.mark.parametrize("lines", [*histories(CARDS), *histories(EXCESS)])
def test_irregular_cards(lines: Sequence[str]) -> None:
    assert play_history(lines).log
