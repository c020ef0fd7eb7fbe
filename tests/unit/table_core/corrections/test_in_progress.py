"""The coup in progress put right: hands and wagers, in each phase in which that is lawful."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from events.cards import Card
from events.commands import Refusal
from table_core.state.coup import Phase
from table_core.state.shoe import times_seen
from tests.support.table.coups import world_in
from tests.support.table.histories import each_history
from tests.support.table.settled_coups import B, P, hands

HISTORIES = """
hands are corrected and the coup is judged again
    * dealing
    * complete
    in {0}
    {hands} player="6S KH" banker="7D KC" -> made hands_corrected deal_completed; complete
                             -> coup.completed.winner=banker
    result banker            -> settled; totals.paid=3900
hands are corrected and a disputed coup is judged again
    in disputed
    # There the shoe had said Banker, and is believed now.
    {hands} player="6S KH" banker="7D KC" -> settled; totals.paid=3900
                             -> coup.completed.winner=banker
                             -> hands_corrected: coup=20261127-01/1
a deal that goes on goes on from the corrected hands
    in dealing
    B1 7D P2 KH B2 KC        -> complete
    {hands} player="5S KH" banker="7D KC" -> dealing    # the nine of spades was a five
    P3 4D
    result player            -> settled; settlement(-1).player=5S,KH,4D
a misaligned coup takes its hands and waits for the realignment
    in misaligned
    {hands} player="9S KH" banker="2D 3C" -> misaligned
    realign                  -> complete
    result player            -> settled
a held coup is judged again and held again while the excess card lies there
    in held
    {hands} player="8S KH" banker="2D 3C" -> held
a card that lay in the other hand is moved and counted once
    in closed
    deal 6S 5D KH KC         -> dealing    # Player stands, Banker has drawn
    B3 4D                    -> shoe.cards=7
    {hands} player="5S KH 4D" banker="5D KC"
                             -> shoe.cards=7 copies(4D)=1 copies(6S)=0 copies(5S)=1
hands that contradict the draw table are refused
    * "9S KH 2C" "2D 3C"    r   excess_card
    * "9S"       "2D 3C"    r   excess_card
    * "2S KH"    "2D 3C 4C" r   excess_card    # Player's third was due before
    * ""         ""         r   incomplete_coup
    * "9S KH"    "2D 3C"    r   changes_nothing
    * "8S KH"    "2D 3C"    " " reason_required
    in complete
    {hands} player="{0}" banker="{1}" reason="{2}" -> refused {3}
withheld faces are not corrected away
    in closed
    P1
    {hands} player="9S" banker="" -> refused face_unknown
    reveal P1 8S
    {hands} player="9S" banker=""
a first phase that was paid follows the corrected hands
    * "deal 9S 2D 9D 3C" disclose
    * squeeze            "disclose 9S 2D 9D 3C"
    {pairs_bet}
    {0}
    {1}
    {hands} player="9S 8D" banker="2D 3C" -> count(coup_settled)=2
                             -> settlement(1).lines.paid=3000 settlement(2).lines.paid=0
    result player            -> misaligned    # Banker's 5 has a third card due

a wager is corrected in every phase after the betting
    * closed   "to='1 player 5000' wager=@1" 7500
    * closed   "to='6 player 5000'"          8500
    * closed   "to=none wager=@1"            2500
    * dealing  "to='1 player 5000' wager=@1" 7500
    * dealing  "to='6 player 5000'"          8500
    * dealing  "to=none wager=@1"            2500
    * complete "to='1 player 5000' wager=@1" 7500
    * complete "to='6 player 5000'"          8500
    * complete "to=none wager=@1"            2500
    * disputed "to='1 player 5000' wager=@1" 7500
    * disputed "to='6 player 5000'"          8500
    * disputed "to=none wager=@1"            2500
    * held     "to='1 player 5000' wager=@1" 7500
    * held     "to='6 player 5000'"          8500
    * held     "to=none wager=@1"            2500
    in {0}
    correct_wager {1}        -> {0}; made wager_corrected; coup.standing.staked={2}
while betting is open wagers are placed and withdrawn
    in betting
    correct_wager to="1 tie 100" -> refused betting_open
a misaligned coup's wagers wait for its cards
    in misaligned
    correct_wager to="1 tie 100" -> refused coup_misaligned
a first phase that was paid follows its wager
    * "to='1 perfect_pairs 700' wager=@2"      4200
    * "to='1 perfect_pairs 700 patron=p-2'"        3000,4200
    * "to=none wager=@2"                       none
    * "to='1 tie 300' wager=@2"                none
    {pairs_bet}
    deal 9S 2D 9D 3C
    correct_wager {0}        -> settlement(-1).revision=2 settlement(-1).lines.paid={1}
    result player player_pair -> settled
the first pair wager is added when the deal is complete
    rules nz-scale-one
    in none
    open
    bet 1 player 1000
    close
    deal 9S 2D 9D 3C
    correct_wager to="1 perfect_pairs 500"
                             -> count(coup_settled)=1; settlement(1).phase=1
                             -> settlement(1).revision=1 settlement(1).lines.paid=3000
    result player player_pair -> settled
commission laid in advance follows a corrected wager
    rules au-commission commission.timing=prepaid
    in none
    open
    bet 1 banker 1000, 2 banker 400
    close                    -> commission.laid.seat=1,2 commission.laid.amount=50,20
    correct_wager to="1 banker 3000" wager=@1
    correct_wager to=none wager=@2 -> commission.laid.seat=1 commission.laid.amount=150
    deal 6S 7D KH KC
    result banker            -> commission.collected=150
a disputed result is confirmed after the wagers are right
    in disputed
    correct_wager to=none wager=@3
    confirm_result           -> settlement(-1).lines.seat=1,2
nothing of a correction misaligns what was right
    in complete
    {hands} player="8S KH" banker="2D 3C"
                             -> count(coup_misaligned)=0 count(coup_settled)=0
"""
STEPS = {
    "hands": "correct_hands",
    "pairs_bet": """rules nz-scale-one
in none
open
bet 1 player 1000, 1 perfect_pairs 500
close""",
}


test_a_coup_in_progress_put_right = each_history(HISTORIES, **STEPS)


FACES = st.lists(st.sampled_from(list(Card)), max_size=4).map(tuple)


@settings(deadline=None)
@given(player=FACES, banker=FACES, phase=st.sampled_from(Phase))
def test_any_hands_are_taken_or_refused(
    player: tuple[Card, ...], banker: tuple[Card, ...], phase: Phase
) -> None:
    if phase is Phase.CONFIRMED:
        return  # no table stands in it
    world = world_in(phase)
    before = world.state
    made = world.ask(replace(hands("", ""), player=player, banker=banker))
    if isinstance(made, Refusal):
        assert world.state is before
        return
    coup = world.state.coup
    assert coup is not None
    assert tuple(dealt.card for dealt in coup.hand(P)) == player
    assert tuple(dealt.card for dealt in coup.hand(B)) == banker
    assert world.state.shoe is not None
    assert all(times_seen(world.state.shoe, face) >= player.count(face) for face in player)
