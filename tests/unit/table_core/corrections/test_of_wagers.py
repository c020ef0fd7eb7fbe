"""Wagers, rulebooks and whole coups put right after the settlement."""

from tests.support.table.histories import each_history

HISTORIES = """
a wrong stake is corrected and only its seat differs
    {played}
    correct_wager wager=@1 to="1 player 4000"
                             -> wager_corrected: was.stake=1000 wager.stake=4000 was.seat=1
                             -> wager_corrected: wager.seat=1 was.bet=player wager.bet=player
                             -> wager_corrected: was.id=dealer/t-3/0 wager.id=dealer/t-3/0
                             -> settlement(-1).difference.seat=1
                             -> settlement(-1).difference.staked=3000
                             -> settlement(-1).difference.paid=6000
                             -> totals.staked=6000 totals.paid=8000
a wager on another seat and bet moves both seats
    {played}
    correct_wager wager=@1 to="7 tie 500"
                             -> settlement(-1).difference.seat=1,7
                             -> settlement(-1).difference.staked=-1000,500
                             -> settlement(-1).difference.paid=-2000,0
                             -> settlement(-1).lines.0.wager=dealer/t-3/0
a wager that was left out is added late
    {played}
    correct_wager transaction=w to="3 player 100 patron=p-9"
                             -> settlement(-1).difference.seat=3
                             -> settlement(-1).difference.staked=100
                             -> settlement(-1).difference.paid=200
                             -> settlement(-1).lines.-1.wager=dealer/w/0
                             -> settlement(-1).lines.-1.patron=p-9
a correction that names no patron leaves the patron as it is
    {played}
    correct_wager wager=@1 to="1 player 500 patron=p-9" -> wager_corrected: wager.patron=p-9
    correct_wager wager=@1 to="1 player 600" -> wager_corrected: wager.patron=p-9
    correct_wager wager=@1 to="1 player 700 patron=p-4" -> wager_corrected: wager.patron=p-4
a wager that did not stand is taken out
    {played}
    correct_wager wager=@1 to=none
                             -> settlement(-1).difference.seat=1
                             -> settlement(-1).difference.staked=-1000
                             -> settlement(-1).difference.paid=-2000
                             -> totals.staked=2000 totals.paid=0
a limit that a late wager breaks is recorded and it is paid in full
    {played}
    correct_wager to="1 banker 100"
                             -> irregularity_recorded: kind=limit_breach
                             -> irregularity_recorded: "reason~the patron has player already"
                             -> settlement(-1).lines.-1.stake=100
a stake that a patron has split is a breach where its sum is
    rules au-commission bets.player.maximum=1500 bets.player.minimum=1000
    {played}
    correct_wager to="1 player 600"
                             -> irregularity_recorded: "reason~1600 on player is above its maximum"
    correct_wager to="3 player 500 patron=p"
                             -> irregularity_recorded: "reason~500 on player is below its minimum"
    correct_wager to="4 player 500 patron=p"   -> count(irregularity_recorded)=2

a wrong rulebook is judged again by the right one
    library au-even-money
    in none
    played 7S KH | 8D KC | 1 banker 1000
    correct_rulebook by=library -> rulebook_corrected: rulebook=au-even-money
                             -> settlement(-1).rulebook=au-even-money
                             -> settlement(-1).difference.seat=1
                             -> settlement(-1).difference.paid=50
                             -> settlement(-1).difference.commission=-50
                             -> commission.accrued=50 commission.reversed_=50
                             -> commission.collected=0
    correct_rulebook by=library -> refused changes_nothing
    correct_rulebook by=own  -> settlement(1).lines.paid=1950 settlement(3).lines.paid=1950
                             -> settlement(3).lines.commission=50
wagers move to the phase in which the right rulebook settles them
    library au-even-money bets.player_pair.phase=1
    in none
    played 9S 9H | 2D 5C | 1 player_pair 100, 2 player 100
                             -> count(coup_settled)=1; settlement(1).phase=2
    # They leave the last phase, and come to the first.
    correct_rulebook by=library -> count(coup_settled)=3
                             -> settlement(2).phase=2 settlement(2).revision=2
                             -> settlement(2).lines.bet=player
                             -> settlement(2).difference.seat=1
                             -> settlement(2).difference.staked=-100
                             -> settlement(2).difference.paid=-1200
                             -> settlement(3).phase=1 settlement(3).revision=1
                             -> settlement(3).lines.bet=player_pair
                             -> settlement(3).difference.seat=1
                             -> settlement(3).difference.staked=100
                             -> settlement(3).difference.paid=1200
                             -> totals.staked=200 totals.paid=1400

a void after the settlement gives the stakes back less what was paid
    * keep        1 -2500
    * reverse_all 2 0
    rules nz-scale-one procedure.void_after_phase_one={0}
    in none
    played 9S 9D | 7D KC | 1 player 1000, 1 perfect_pairs 500, 2 banker 2000
                             -> totals.paid=5000
    void_coup coup=01/1      -> coup_voided: refunds=none; in_force(2).difference.seat=1,2
                             -> in_force(2).difference.paid=-1000,2000
                             -> in_force(2).lines.result=void,void
                             -> in_force(1).revision={1} totals.coups=0 totals.voids=1
                             -> totals.house={2} shoe.voids=1 shoe.roads.beads=none
    correct_wager wager=@1 to=none -> refused coup_void
    correct_hands player="9S 9D" banker="7D KC" -> settled
                             -> totals.paid=5000 totals.coups=1 totals.voids=0
                             -> shoe.voids=0 shoe.roads.heights=1
"""


test_what_was_settled_put_right = each_history(HISTORIES, played="in none\nplayed 9S KH | 2D 3C")
