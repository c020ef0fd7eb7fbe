"""What corrections mean for the commission: every timing, and the identity that always holds."""

from collections.abc import Sequence

import pytest

from tests.support.table.histories import histories, play_history

# Banker has won: seat 1 owes 50, seat 2 owes 20. `book()` is what was accrued, reversed,
# collected, recovered, is outstanding, uncollected and laid in advance.
HISTORIES = """
what was taken at once is given back and taken at once
    * deduct
    * prepaid
    {rules}{0}
    {won}                    -> book()=70,0,70,0,0,0,0
    {player_wins}            -> book()=70,70,0,0,0,0,0
    {banker_wins}            -> book()=140,70,70,0,0,0,0
a coup that is open keeps what is laid beside it
    {rules}prepaid
    {won}
    open
    bet 1 banker 2000
    close                    -> book()=70,0,70,0,0,0,100
    {player_wins}            -> book()=70,70,0,0,0,0,100
    {banker_wins}            -> book()=140,70,70,0,0,0,100
what is still owed is owed no longer
    * per_coup
    * per_shoe
    {rules}{0}
    {won}                    -> book()=70,0,0,0,70,0,0
    {player_wins}            -> book()=70,70,0,0,0,0,0
what a seat had paid is kept for what it owes now
    {rules}per_shoe
    {won}
    collect_commission
    correct_wager wager=@1 to="1 banker 3000" -> book()=170,0,70,0,100,0,0
                             -> made wager_corrected coup_settled commission_accrued
                             -> commission_accrued: amounts.seat=1 amounts.amount=100
                             -> commission.outstanding.seat=1 commission.outstanding.amount=100
what a seat had paid goes back when it owes nothing
    {rules}per_shoe
    {won}
    collect_commission
    {player_wins}            -> book()=70,70,0,0,0,0,0
                             -> commission_refunded: method=paid amounts.seat=1,2 reason=r
                             -> commission_refunded: amounts.amount=50,20 currency=AUD
                             -> commission.refunds.amount=50,20
    open                     -> commission.refunds=none
what was given up is not paid back and stays given up
    {rules}per_shoe
    {won}
    mark_uncollected seat=1  -> book()=70,0,0,0,20,50,0
    # Seat 2 had no wager.
    correct_wager wager=@2 to=none -> book()=70,20,0,0,0,50,0
                             -> commission_reversed: amounts.seat=2 amounts.outstanding=20
    {player_wins}            -> book()=70,70,0,0,0,0,0
what was recovered goes back out of what was recovered
    {rules}per_shoe
    {won}
    mark_uncollected seat=1
    recover_commission seat=1 amount=50 -> book()=70,0,0,50,20,0,0
    {player_wins}            -> book()=70,70,0,0,0,0,0
a correction that makes a seat owe is collected before the next coup
    {rules}per_coup
    {won}
    collect_commission
    correct_wager wager=@1 to="1 banker 3000"
    open_betting             -> refused commission_outstanding
    collect_commission
    open                     -> betting
another timing makes nobody pay what is paid, and takes nothing that is not
    * deduct   per_shoe 70,0,70,0,0,0,0
    * per_shoe deduct   70,0,0,0,70,0,0
    * prepaid  per_shoe 70,0,70,0,0,0,0
    * deduct   prepaid  70,0,70,0,0,0,0
    {rules}{0}
    library au-commission commission.timing={1}
    {won}
    correct_rulebook by=library -> made rulebook_corrected coup_settled; book()={2}
"""
STEPS = {
    "rules": "rules au-commission commission.timing=",
    "won": "in none\nplayed 6S KH | 7D KC | 1 banker 1000, 2 banker 400",
    "player_wins": "correct_card coup=01/1 P1 8S",
    "banker_wins": "correct_card coup=01/1 P1 6S",
}


@pytest.mark.parametrize("lines", histories(HISTORIES, **STEPS))
def test_commission_follows_corrections(lines: Sequence[str]) -> None:
    assert play_history(lines).log
