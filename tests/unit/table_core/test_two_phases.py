"""Two settlement phases: pairs after the initial deal, and what later changes make of them."""

from tests.support.table.histories import each_history

HISTORIES = """
pair wagers are paid at the end of the initial deal
    {table}               -> count(coup_settled)=1; settlement(1).phase=1 settlement(1).winner=none
                          -> settlement(1).lines.bet=perfect_pairs
                          -> settlement(1).lines.category=mixed settlement(1).lines.paid=3000
    result player player_pair -> count(coup_settled)=2; settlement(2).lines.bet=player
                          -> totals.staked=1500 totals.paid=5000
a first phase without wagers is not issued
    in complete           -> count(coup_settled)=0
a corrected card that phase one used reverses and reissues it
    {table}
    correct_card P2 9S    -> count(coup_settled)=2; settlement(2).revision=2
                          -> settlement(2).reverses=t1/20261127-01/1/1/1
                          -> settlement(2).settlement_id=t1/20261127-01/1/1/2
                          -> settlement(2).lines.category=perfect settlement(2).lines.paid=15500
    # The totals count what stands, not what was taken back.
    result player player_pair -> totals.paid=17500 totals.staked=1500
a correction that changes no payment changes the face on record
    {table}
    correct_card B1 4D    -> settlement(1).banker=2D,3C settlement(2).banker=4D,3C
                          -> settlement(2).reverses=t1/20261127-01/1/1/1
                          -> settlement(2).difference=none
                          -> settlement(2).lines.category=mixed settlement(2).lines.paid=3000
a second correction of the same coup works
    {table}
    correct_card P2 9S
    correct_card P2 9H    -> count(coup_settled)=3; settlement(1).revision=1
                          -> settlement(2).revision=2 settlement(3).revision=3
                          -> settlement(3).reverses=t1/20261127-01/1/1/2
a card marked unreadable is settled again when it is entered
    {table}
    mark_unreadable P2    -> count(coup_settled)=1
    enter_card P2 KH      -> settlement(-1).lines.result=lose
a later void leaves phase one, by policy
    {table}
    void_coup             -> coup_voided: refunds.stake=1000
                          -> count(coup_settled)=1; totals.staked=500 totals.paid=3000
a later void takes phase one back, by policy
    rules nz-scale-one procedure.void_after_phase_one=reverse_all
    {wagers}
    void_coup             -> coup_voided: refunds.stake=1000
                          -> count(coup_settled)=2
                          -> settlement(2).reverses=t1/20261127-01/1/1/1
                          -> settlement(2).lines.result=void settlement(2).lines.paid=500
                          -> totals.staked=500 totals.paid=500
a third card comes after the first phase was paid
    rules nz-scale-two
    in none
    open
    bet 1 banker 1000, 1 perfect_pairs 500
    close
    deal 2S 3D 2S KC      -> settlement(1).lines.category=perfect
    P3 8D                 -> count(coup_settled)=1
"""
# 500 on Perfect Pairs and 1,000 on Player, and a pair of nines: mixed, pays 5.
WAGERS = """in none
open
bet 1 player 1000, 1 perfect_pairs 500
close
deal 9S 2D 9D 3C"""
TABLE = f"rules nz-scale-one procedure.void_after_phase_one=keep\n{WAGERS}"


test_the_two_phases = each_history(HISTORIES, table=TABLE, wagers=WAGERS)
