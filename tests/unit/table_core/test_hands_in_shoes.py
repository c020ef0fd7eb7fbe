"""Hands corrected whole while the coup is in progress: what that makes of the shoe's own cards."""

from tests.support.table.histories import each_history

HISTORIES = """
a card that was misread or misplaced is still one card
    # Player and Banker as they really lay, and the faces out of the shoe
    * "9S KH" "2D 4C" 2D,4C,4C,9S,AS,KH    # one misread
    * "9S QH" "2D 4C" 2D,4C,4C,9S,AS,QH    # two misread
    * "2D 3C" "9S KH" 2D,3C,4C,9S,AS,KH    # hands changed over
    * "KH 9S" "3C 2D" 2D,3C,4C,9S,AS,KH    # all in other places
    * "KH 9S" "2D 4C" 2D,4C,4C,9S,AS,KH    # moved and misread
    in closed
    deal 9S 2D KH 3C
    correct_hands player="{0}" banker="{1}"  -> complete; shoe.cards=6 faces(01)={2}
    correct_hands player="9S KH" banker="2D 3C" -> faces(01)=2D,3C,4C,9S,AS,KH
    result player            -> settled
a card that was misread or misplaced is still one card, with one in excess
    * "9S KH" "2D 4C" 2D,4C,4C,9S,AS,KH
    * "9S QH" "2D 4C" 2D,4C,4C,9S,AS,QH
    * "2D 3C" "9S KH" 2D,3C,4C,9S,AS,KH
    * "KH 9S" "3C 2D" 2D,3C,4C,9S,AS,KH
    * "KH 9S" "2D 4C" 2D,4C,4C,9S,AS,KH
    in closed
    deal 9S 2D KH 3C
    shoe card_out_of_game reason=drawn_outside_game
    # A card in excess is open until it is resolved.
    correct_hands player="{0}" banker="{1}"  -> held; shoe.cards=7 faces(01)={2}
    resolve_irregularity kind=excess_card seen=false -> link.carried=true
    correct_hands player="9S KH" banker="2D 3C" -> faces(01)=2D,3C,4C,9S,AS,KH
    result player            -> settled
a card that was never told of is one more
    in closed
    P1 9S
    shoe report_lost expected=2 got=4
    B2 3C
    correct_hands player="9S KH" banker="2D 3C"
                             -> shoe.cards=6 faces(01)=2D,3C,4C,9S,AS,KH
a third card that was the other hand's is the same card
    # Player stands on 6: what the shoe told as Player's third, its faces late, is Banker's.
    in closed
    P1 B1 P2 B2 P3
    disclose 6S 2D KH 3C
    reveal P3 9D             -> misaligned
    correct_hands player="6S KH" banker="2D 3C 9D"
                             -> shoe.cards=7 faces(01)=2D,3C,4C,6S,9D,AS,KH
a card that lay in no hand has left the shoe
    in closed
    deal 2S 3D 3H 3C 4S
    correct_hands player="9S KH" banker="3D 3C" -> shoe.cards=7 copies(4S)=1
the card in excess was the third after all
    in held
    shoe card_out_of_game reason=overdrawn 4D
    correct_hands player="2S 3H 4D" banker="3D 4C"
                             -> complete; shoe.cards=7 shoe.extra=none copies(4D)=1
cards of a shoe that was replaced stay its own
    in closed
    deal 9S 2D
    replace_shoe shoe=02 coup=continue
    P2 KH B2 3C
    correct_hands player="9S KH" banker="4D 4C"
                             -> faces(01)=4C,4D,9S,AS faces(02)=4C,KH
                             -> shoe(01).cards=4 shoe(02).cards=2
"""


test_hands_corrected_in_mid_coup = each_history(HISTORIES)
