"""A correction that moves much money after a settlement: two people sign it."""

from tests.support.table.histories import each_history

HISTORIES = """
below the sum one person corrects
    in none sign_corrections_from=2901
    {played}
    {tie}                    -> count(correction_signed)=0 settlement(-1).revision=2
a table that names no sum asks for no signatures and records those that are given
    in none
    {played}
    {tie}                    -> count(correction_signed)=0 settlement(-1).revision=2
    {back} signed=s-1        -> refused signatures_required
    {back} signed=s-1,s-4    -> correction_signed: coup=20261127-01/1 signed=s-1,s-4
at the sum and above it two people sign
    * 2900
    * 1
    in none sign_corrections_from={0}
    {played}
    # A tie: 1,000 goes back to seat 1, and seat 2 gives back the 1,900 that it won.
    {tie}                    -> refused signatures_required "text~it moves 2900, and from {0} on 2"
    {tie} signed=s-1         -> refused signatures_required
    {tie} signed=s-1,s-1     -> refused signatures_required text~2900
    {tie} signed=s-1,s-4     -> last()=correction_signed settlement(-1).revision=2
                             -> correction_signed: coup=20261127-01/1 signed=s-1,s-4
every correction is asked
    * 5900 'correct_hands player="8S KH" banker="7D KC"'
    * 2900 'void_coup coup=01/1'
    * 1000 'correct_wager wager=@1 to=none'
    * 100  'correct_rulebook by=library'
    library au-even-money
    in none sign_corrections_from={0}
    {played}
    {1}                      -> refused signatures_required "text~it moves {0}, and from {0} on"
    {1} signed=s-1,s-4       -> last()=correction_signed
patrons of one seat do not cancel each other out
    in none sign_corrections_from=2000
    {played}
    correct_wager wager=@1 to="1 player 1000 patron=p-2" -> refused signatures_required text~2000
a coup of an earlier shoe asks as well, and so does one that counts again
    in none sign_corrections_from=2900
    {played}
    end_shoe
    load_shoe shoe=02
    recall 01
    void_coup coup=01/1      -> refused signatures_required
    recall 01
    void_coup coup=01/1 signed=s-1,s-4
    recall 01
    {back}                   -> refused signatures_required text~2900
before the settlement nobody else signs
    in none sign_corrections_from=1
    open
    bet 1 player 1000
    close
    deal 6S 7D KH KC
    correct_card P1 9S       -> complete; count(correction_signed)=0
    void_coup                -> voided; count(correction_signed)=0
a first phase that is paid is settled
    rules au-commission bets.player_pair.phase=1
    in none sign_corrections_from=1200
    open
    bet 1 player_pair 100, 2 banker 1000
    close
    deal 9S 2D 9H 5C         -> settlement(1).paid=1200
    correct_card P1 8S       -> refused signatures_required text~1200
    # The result pays the last phase for the first time, which is no correction.
    result player player_pair -> settled; count(coup_settled)=2
"""
STEPS = {
    "played": "played 6S KH | 7D KC",
    "tie": "correct_card coup=01/1 P1 7S",
    "back": "correct_hands player='6S KH' banker='7D KC'",
}


test_corrections_that_two_people_sign = each_history(HISTORIES, **STEPS)
