"""A coup put right after its settlement: reversed and issued again, and nothing else moves."""

from events.cards import Card
from table_core.fold.dispatch import fold_all
from table_core.state.table import TableState
from tests.support.table.coups import cards
from tests.support.table.histories import each_history, play_history
from tests.support.table.settled_coups import P, face, played

HISTORIES = """
a wrong face reverses the settlement and issues the next
    {played}
    # Before: 1,000 lost, 2,000 won at 19/20 net. After: both push.
    {face} 7S                -> settlement(1).lines.paid=0,3900
                             -> hands_corrected: was_player=6S,KH was_banker=7D,KC
                             -> hands_corrected: player=7S,KH banker=7D,KC coup=20261127-01/1
                             -> hands_corrected: reason=r; deal_completed: winner=tie
                             -> coup_settled: settlement.revision=2
                             -> coup_settled: settlement.reverses=t1/20261127-01/1/2/1
                             -> settlement(2).lines.paid=1000,2000
                             -> settlement(2).difference.seat=1,2
                             -> settlement(2).difference.paid=1000,-1900
                             -> settlement(2).difference.commission=0,-100
                             -> settlement(2).difference.staked=0,0
                             -> totals.staked=3000 totals.paid=3000 totals.commission=0
                             -> totals.coups=1 totals.voids=0 commission.reconciles=true
a missed card is put in
    in none
    played 6S KH | 7D KC | 1 player 1000 -> shoe.cards=6
    # The five was read as a six, its third never told of.
    {hands} player="5S KH 4D" banker="7D KC"
                             -> settlement(-1).player=5S,KH,4D settlement(-1).player_total=9
                             -> settlement(-1).winner=player settlement(-1).difference.seat=1
                             -> settlement(-1).difference.paid=2000
                             -> settlement(-1).difference.staked=0
                             -> shoe.cards=7 shoe.order=AS4C5S7DKHKC4D
                             -> player().number=1,2,3 player().source=manual,shoe,manual
a card that lay in the other hand is moved
    in none
    played 5S KH 4D | 7D KC | 1 banker 1000 -> settlement(-1).winner=player
    {hands} player="7S KH" banker="5D KC 4D"
                             -> coup.cards.hand=player,banker,player,banker,banker
                             -> settlement(-1).player_total=7 settlement(-1).banker_total=9
                             -> settlement(-1).winner=banker settlement(-1).difference.seat=1
                             -> settlement(-1).difference.paid=1950
                             -> settlement(-1).difference.commission=50
a second correction takes back the first
    {played}
    {face} 2S                -> refused incomplete_coup
    {face} 7S
    {face} 2S                -> refused incomplete_coup
    {face} 8S
    {face} 2S                -> refused incomplete_coup
    {face} 6S                -> count(coup_settled)=4; settlement(1).revision=1
                             -> settlement(2).revision=2 settlement(3).revision=3
                             -> settlement(4).revision=4 settlement(1).reverses=none
                             -> settlement(2).reverses=t1/20261127-01/1/2/1
                             -> settlement(3).reverses=t1/20261127-01/1/2/2
                             -> settlement(4).reverses=t1/20261127-01/1/2/3
                             -> settlement(1).lines.paid=0,3900 settlement(4).lines.paid=0,3900
                             -> settlement(4).lines.result=lose,win
                             -> totals.staked=3000 totals.paid=3900 totals.commission=100
an earlier coup is corrected while another is being dealt
    {played}
    open
    bet 1 tie 700
    close
    deal 9S 2D               -> coup.id=20261127-01/2 coup.cards.card=9S,2D totals.paid=3900
    {face} 8S                -> coup.id=20261127-01/2 coup.cards.card=9S,2D; dealing
                             -> coup.wagers.bet=tie alarms()=none totals.paid=2000
                             -> copies(8S)=1 copies(6S)=0 shoe.order=AS4C8S7DKHKC9S2D
    P2 KH B2 3C
    result player            -> settled; totals.coups=2
the audit of a shoe that has ended follows
    {played}
    end_shoe                 -> shoe_audited: left.6S=7 left.8S=8
    {face} 8S                -> shoe_audited: left.6S=8 left.8S=7
                             -> last()=shoe_audited count(shoe_audited)=2
                             -> shoe.order=AS4C8S7DKHKC
a coup of an earlier shoe is corrected with what the log recalls
    {played}
    played 9S KH | 2D 3C | 1 tie 100
    end_shoe
    load_shoe shoe=02
    played 9S KH | 2D 3C | 3 tie 300
    {face} 8S                -> refused unknown_coup
    recall 01
    {face} 8S                -> settlement(-1).coup=20261127-01/1 settlement(-1).revision=2
                             -> totals.paid=2000 coup.id=20261127-02/1 shoe.id=20261127-02
                             -> shoe.cards=4
    recall 01
    {face} 6S                -> settlement(-1).coup=20261127-01/1 settlement(-1).revision=3
                             -> totals.paid=3900 coup.id=20261127-02/1 shoe.id=20261127-02
                             -> shoe.cards=4
    recall 01
    {face} 6S                -> refused same_card
    void_coup coup=01/1      -> totals.coups=2 totals.voids=1
    recall 01
    {hands} player="6S KH" banker="7D KC" -> totals.coups=3 totals.voids=0
the last coup in view follows though the next shoe is loaded
    {played}
    end_shoe
    load_shoe shoe=02
    recall 01
    {face} 8S                -> coup.completed.winner=player shoe.cards=0 shoe.roads.beads=none
"""
CORRECTED = """in none
played 6S KH | 7D KC
correct_card coup=01/1 P1 8S
played 9S KH | 2D 3C
void_coup coup=01/1
correct_hands player="6S KH" banker="7D KC"
correct_wager wager=@1 coup=@ to=none"""
STEPS = {
    "played": "in none\nplayed 6S KH | 7D KC",
    "face": "correct_card coup=01/1 P1",
    "hands": "correct_hands",
}


test_a_settled_coup_put_right = each_history(HISTORIES, **STEPS)


def test_the_roads_are_laid_anew_from_the_corrected_coup_on() -> None:
    rest = (("9S KH", "2D 3C"), ("2H KD", "9C KS"), ("7S KH", "7D KC"))
    corrected, never_wrong = (
        played(player=cards(first), banker=cards("7D KC"), bets=()) for first in ("6S KH", "8S KH")
    )
    for world in (corrected, never_wrong):
        for player, banker in rest:
            played(player=cards(player), banker=cards(banker), bets=(), world=world)
    assert corrected.state.shoe is not None
    assert never_wrong.state.shoe is not None
    assert corrected.state.shoe.roads.heights == (1, 1, 1)
    corrected.must(face(P, 1, Card.S8))
    after = corrected.state.shoe
    assert after.roads == never_wrong.state.shoe.roads
    assert len(after.roads.heights) == 2
    assert after.order == never_wrong.state.shoe.order


def test_every_cut_of_a_corrected_log_folds_to_the_same_table() -> None:
    world = play_history(CORRECTED.splitlines())
    whole = fold_all(TableState(), world.log)
    assert whole == world.state
    for cut in range(len(world.log)):
        assert fold_all(fold_all(TableState(), world.log[:cut]), world.log[cut:]) == whole
