"""The lists of chips that a dealer moves: what they come to is what the ledger books."""

import pytest

from tests.support.table.dealer_by_list import follow_the_lists
from tests.support.table.histories import histories, play_history
from tests.support.table.money_game import BOOKS

COUPS = 12  # of each rulebook; `tests/soak/test_pay_lists.py` plays 5,000


@pytest.mark.parametrize("name", BOOKS)
def test_chips_moved_by_the_lists_are_what_the_settlements_come_to(name: str) -> None:
    dealer = follow_the_lists(name, COUPS)
    assert dealer.moved > COUPS


HISTORIES = """
a correction is on the list until the dealer has moved its chips
    ready
    open
    bet 1 player 1000, 2 banker 2000
    close
    deal 9S 2D KH 3C
    result player                                                -> view().to_move=none
    correct_hands coup=@ player="2D KH" banker="9S KC"
    -> view().to_move.0.seats.gets=-2000,3900; view().advice.lines~advice.correction
    -> view().pay.seat=2,1; view().pay.take=2000,0; view().pay.pay=0,1000; view().pay_corrected=true
    acknowledge_correction coup=@ settlements=t1/20261127-01/1/2/1 -> refused corrected_again
    acknowledge_correction coup=@ settlements=t1/20261127-01/1/2/2
    -> made correction_acknowledged; view().to_move=none; view().pay.pay=0,1000
    acknowledge_correction coup=@ settlements=t1/20261127-01/1/2/2 -> refused no_chips_to_move

a wager that was added after the settlement is in the correction alone
    ready
    open
    bet 1 player 1000
    close
    deal 9S 2D KH 3C
    result player                           -> view().pay.pay=1000; view().pay_corrected=false
    correct_wager coup=@ to="5 player 300" reason=left
    -> view().to_move.0.seats.gets=300; view().pay.seat=1; view().pay.pay=1000

a wager that a corrected rulebook moves to the last phase is listed once
    * "9S 2D KH 3C" "player" 500 0 500 500,0 0,1000
    * "4S 2D 4H 3C" "player player_pair" 0 5500 -5500 0,0 1000,5500
    rules au-commission bets.player_pair.phase=1
    library au-commission
    empty
    ready
    open
    bet 1 player 1000, 2 player_pair 500
    close
    deal {0}                    -> view().pay.take={2}; view().pay.pay={3}; view().to_move=none
    correct_rulebook by=library -> view().pay.take={2}; view().to_move.0.seats.gets={4}
    result {1}  -> settled; view().pay.take={5}; view().pay.pay={6}; view().to_move=none

what is left of a moved wager's commission is in the correction
    rules au-commission bets.player_pair.phase=1
    library au-commission form=2 bets.player_pair.own_odds=true bets.player_pair.commission=true
    empty
    ready
    open
    bet 1 banker 1000, 2 player_pair 500
    close
    deal 4S 3D 4H 6C            -> view().pay.pay=5500
    correct_rulebook by=library -> view().to_move.0.seats.gets=-5500
    result banker player_pair   -> settled; view().pay.pay=950,5500
    -> view().to_move.0.seats.gets=-275

a wager that a correction added to a first phase is not returned when its coup is void
    rules au-commission bets.player_pair.phase=1
    empty
    ready
    open
    bet 1 player 1000, 2 player_pair 500
    close
    deal 9S 2D KH 3C            -> view().pay.seat=2
    correct_wager coup=@ to="5 player_pair 300" reason=left
    -> view().to_move.0.seats.gets=-300
    void_coup                   -> voided; view().pay.seat=2,1; view().to_move.0.seats.gets=-300
"""


@pytest.mark.parametrize("lines", histories(HISTORIES))
def test_a_correction_reaches_the_dealer(lines: list[str]) -> None:
    play_history(lines)
