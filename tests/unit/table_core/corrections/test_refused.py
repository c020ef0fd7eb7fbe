"""Corrections that cannot be: refused with a code, and nothing changes."""

from events.money import MAX_STAKE
from tests.support.table.histories import each_history

HISTORIES = """
what cannot be is refused and changes nothing
    * "correct_card coup=01/1 P1 2S"                          incomplete_coup
    * "correct_hands player='9S' banker='2D'"                 incomplete_coup
    * "correct_hands player='' banker=''"                     incomplete_coup
    * "correct_hands player='9S KH 2C' banker='2D 3C'"        excess_card
    * "correct_hands player='6S KH 2C' banker='2D 3C'"        excess_card
    * "correct_hands player='2S KH 2C 3C' banker='2D 3C'"     excess_card
    * "correct_hands player='9S KH 2C 4C' banker=''"          excess_card
    * "correct_card coup=01/1 P1 9S"                          same_card
    * "correct_hands player='9S KH' banker='2D 3C'"           changes_nothing
    * "correct_card coup=01/1 P3 9S"                          no_such_card
    * "correct_card coup=01/9 P1 8S"                          unknown_coup
    * "correct_hands coup=nonsense player='9S KH' banker='2D 3C'" unknown_coup
    * "correct_card P1 8S"                                    nothing_to_correct
    * "correct_wager wager=dealer/t-99/0 to=none"             unknown_wager
    * "correct_wager to=none"                                 changes_nothing
    * "correct_wager wager=@1 to='1 player 1000'"             changes_nothing
    * "correct_wager to='1 ante 10'"                          unknown_bet
    * "correct_wager to='1 dragon7 10'"                       not_offered
    * "correct_wager to='1 tie 0'"                            invalid_stake
    * "correct_wager to='100 tie 0'"                          invalid_seat
    * "correct_wager to='1 tie 100 patron='"                  invalid_patron
    * "correct_wager to='1 tie {max_stake}'"                  table_maximum
    * "correct_rulebook by=ez"                                unknown_rulebook
    * "correct_rulebook by=own rulebook=ez"                   unknown_rulebook
    * "correct_rulebook by=own"                               changes_nothing
    * "void_coup coup=01/2"                                   unknown_coup
    {played} 9S KH | 2D 3C
    {0}                      -> refused {1}
a correction without a reason is refused
    * ""
    * "  "
    {played} 6S KH | 7D KC
    correct_card coup=01/1 P1 8S reason="{0}"  -> refused reason_required
    correct_hands player="8S KH" banker="7D KC" reason="{0}" -> refused reason_required
    correct_wager wager=@1 to=none reason="{0}" -> refused reason_required
    correct_rulebook by=ez reason="{0}"        -> refused reason_required
    void_coup coup=01/1 reason="{0}"           -> refused reason_required
a ninth copy of a face is refused
    {played} 9S 9S | 2D KC |
    played 9S 9S | 2D KC |
    played 9S 9S | 2D KC |
    played 9S 9S | 2D KC |   -> copies(9S)=8
    correct_hands player="9S 9S" banker="9S KC" -> refused too_many_copies
    # The same copies, in other places.
    correct_hands player="9S KC" banker="9S 2D" -> copies(9S)=8
a coup void before its settlement is not corrected
    in none
    open
    bet 1 player 1000
    void_coup
    correct_hands player="9S KH" banker="2D 3C" -> refused coup_void
    correct_card coup=01/1 P1 9S -> refused coup_void
a coup is not judged by a rulebook of another currency
    library ez
    {played} 9S KH | 2D 3C
    correct_rulebook by=library -> refused wrong_currency
"""
WORDS = {"played": "in none\nplayed", "max_stake": str(MAX_STAKE)}


test_corrections_that_cannot_be = each_history(HISTORIES, **WORDS)
