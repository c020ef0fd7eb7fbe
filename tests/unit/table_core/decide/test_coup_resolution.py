"""What follows from the cards, in full: by whom a result is confirmed, and what people are told."""

import pytest
from msgspec.structs import replace

from table_core.decide.coup_resolution import settle_or_hold
from table_core.decide.decision import DecisionBuilder
from table_core.state.coup import Phase
from tests.support.table.coups import CONTEXT, world_in
from tests.support.table.histories import each_history

HISTORIES = """
the shoe's own result confirms where it is waited for
    in complete              -> count(result_confirmed)=0
    result player            -> result_confirmed: by=device
the last card confirms where no result is waited for
    in closed result_required=false
    deal 9S 2D KH 3C         -> settled; result_confirmed: by=last_card
a result that nobody waits for is not asked when a face is entered
    * player
    * banker
    in closed result_required=false
    deal 9S 2D KH
    shoe card_unreadable B2
    result {0}
    enter_card B2 3C         -> settled; result_confirmed: by=last_card
                             -> coup_settled: coup=20261127-01/1
a dispute says all that differs
    # Player 9S KH, Banker 2D 3C: no pair, no six.
    * "tie player_pair banker_pair banker_six" tie "{all}"
    * "player player_pair" player "{player_pair}"
    * "player banker_pair" player "{banker_pair}"
    * banker banker "winner: the table says player, the shoe banker"
    in complete
    result {0}               -> result_disputed: "detail={2}" ours=player device={1}
a six of the shoe's is a winning six or disputed
    * "3D AC 2C 5H KH" "banker"            settled
    * "3D AC 2C 5H KH" "banker banker_six" settled
    * "2H 7D KS KC AH" "banker banker_six" '{six}'
    * "6H 6D KS KC"    "tie banker_six"    '{six}'
    * "9H 6D KS KC"    "player banker_six" '{six}'
    * "9H 6D KS KC"    "player"            settled
    in closed
    deal {0}                 -> complete
    result {1}               -> {2}
pairs are paid when the first four faces are known and a third lies face down
    rules nz-scale-one       # it settles in two phases
    in none
    open
    bet 1 player 1000, 1 perfect_pairs 500
    close
    P1 B1 P2 B2 P3
    reveal P1 2S             -> count(coup_settled)=0
    reveal B1 4D             -> count(coup_settled)=0
    reveal P2 2H             -> count(coup_settled)=0
    reveal B2 KC             -> dealing; coup_settled: settlement.phase=1
a card drawn after a complete deal asks whether it was seen
    in complete
    shoe card_out_of_game reason=drawn_outside_game
                             -> alarm_raised: "text={drawn}; say whether the table has seen it"
a card drawn while faces are withheld is put aside until they are known
    in closed
    squeeze
    shoe card_out_of_game reason=drawn_outside_game
                             -> alarm_raised: "text={aside}"
"""
DRAWN = "coup 20261127-01/1: a card was drawn outside the game"
TEXTS = {
    "player_pair": "Player pair: the table says no, the shoe yes",
    "banker_pair": "Banker pair: the table says no, the shoe yes",
    "banker_six": "Banker with six: the table says no, the shoe yes",
    "six": 'result_disputed: "detail=Banker with six: the table says no, the shoe yes"',
    "drawn": DRAWN,
    "aside": f"{DRAWN}; put it aside; when the faces are known it is judged whether one was due",
}
DIFFER = ("winner: the table says player, the shoe tie", *list(TEXTS.values())[:3])


test_what_follows_from_the_cards = each_history(HISTORIES, **TEXTS, all="; ".join(DIFFER))


@pytest.mark.parametrize(
    "phase",
    [Phase.CLOSED, Phase.DEALING, Phase.DISPUTED, Phase.HELD, Phase.MISALIGNED, Phase.SETTLED],
)
@pytest.mark.parametrize("required", [True, False])
def test_only_a_complete_deal_is_concluded(phase: Phase, required: bool) -> None:
    context = replace(CONTEXT, result_required=required)
    draft = DecisionBuilder(world_in(phase).state)
    settle_or_hold(draft, context)
    assert draft.events == []
