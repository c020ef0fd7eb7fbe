"""Coups as the shoe tells them: both disclosure modes, contradictions, disputes, stray cards."""

from collections.abc import Sequence

import pytest

from events.cards import Hand, Winner
from events.types.shoe_reports import DeviceResult
from events.types.table import (
    CoupSettled,
    DealCompleted,
)
from table_core.state.coup import Phase
from tests.support.table.coups import (
    COUP,
    ORDER,
    World,
    cards,
    drawn,
    revealed,
    world_in,
)
from tests.support.table.histories import histories, play_history

P, B = Hand.PLAYER, Hand.BANKER

# dealing order | Player | Banker | winner | rules applied
COUPS = """
9S 2D KH 3C        | 9S KH    | 2D 3C    | player | player natural
2S 8D KH QC        | 2S KH    | 8D QC    | banker | banker natural
2S 3D 3H 3C 4S     | 2S 3H 4S | 3D 3C    | player | -
6S 2D KH 3C 9D     | 6S KH    | 2D 3C 9D | player | -
5S 2D KH KC 8D 4H  | 5S KH 8D | 2D KC 4H | banker | -
7S 7D KH QC        | 7S KH    | 7D QC    | tie    | -
"""


def _coups() -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")][:4] for line in COUPS.strip().splitlines()]


def settlement_in(world: World, result: DeviceResult) -> CoupSettled:
    (settled,) = (event for event in world.say(result) if isinstance(event, CoupSettled))
    return settled


def _places(dealt: list[str], banker_third_only: bool) -> list[tuple[Hand, int, str]]:
    thirds = [(B, 3)] if banker_third_only else [(P, 3), (B, 3)]
    return [
        (hand, number, face) for (hand, number), face in zip([*ORDER, *thirds], dealt, strict=False)
    ]


@pytest.mark.parametrize(("dealt", "player", "banker", "winner"), _coups())
@pytest.mark.parametrize("deferred", [False, True])
def test_a_coup_plays_to_its_settlement_in_both_disclosure_modes(
    dealt: str, player: str, banker: str, winner: str, deferred: bool
) -> None:
    world = world_in(Phase.CLOSED)
    places = _places(dealt.split(), len(player.split()) == 2)
    if deferred:
        world.say(*(drawn(hand, n) for hand, n, _ in places))
        assert world.state.phase is Phase.DEALING
        world.say(*(revealed(hand, n, face) for hand, n, face in reversed(places)))
    else:
        world.say(*(drawn(hand, n, face) for hand, n, face in places))
    assert world.state.phase is Phase.COMPLETE
    completed = next(e for e in world.log if isinstance(e, DealCompleted))
    assert completed.player == cards(player)
    assert completed.banker == cards(banker)
    assert completed.winner is Winner(winner)
    settled = settlement_in(
        world,
        DeviceResult(
            winner=winner,
            player_pair=dealt.split(maxsplit=1)[0][0] == dealt.split()[2][0],
            banker_pair=dealt.split()[1][0] == dealt.split()[3][0],
        ),
    )
    assert settled.settlement.settlement_id == f"t1/{COUP}/2/1"


HISTORIES = """
a deferred third card that was not due misaligns at disclosure
    in closed
    P1 B1 P2 B2 P3
    disclose 9S 2D KH 3C 5D
                          -> coup_misaligned: reason=position_contradicts_draw_table
                          -> coup_misaligned: detail~"player drew a third card"
a short disclosure misaligns when the result comes
    in closed
    squeeze
    disclose 9S 2D KH
    result player         -> coup_misaligned: reason=result_too_early
a disclosure repeated alike changes nothing and otherwise misaligns
    in closed
    P1
    reveal P1 4D
    reveal P1 4D          -> made nothing
    reveal P1 4H          -> coup_misaligned: reason=disclosure_contradicts
a result that agrees settles
    in complete
    result player         -> made result_confirmed coup_settled
a result that disagrees holds the settlement
    * "banker"             "winner: the table says player, the shoe banker"
    * "tie"                "winner: the table says player, the shoe tie"
    * "player player_pair" "Player pair: the table says no"
    * "player banker_pair" "Banker pair: the table says no"
    * "banker banker_six"  "Banker with six: the table says no"
    in complete
    result {0}            -> made result_disputed; totals.coups=0
                          -> result_disputed: "detail~{1}"
a six told as plain Banker is no disagreement
    * banker
    * "banker banker_six"
    in closed
    deal 2S 6D KH QC
    P3 2D                 -> complete
    result {0}            -> settlement(1).winner=banker
the first card closes betting and the later wager is late
    in betting
    P1 4D                 -> made betting_closed card_dealt
                          -> betting_closed: coup=20261127-01/1 by=first_card
a card without open betting is a wagerless coup with an alarm
    in none
    deal 9S 2D KH 3C      -> alarm_raised: alarm=wagerless_coup
    result player         -> settlement(1).lines=none count(alarm_raised)=1 alarms()=none
a card without a shoe is recorded and told
    empty
    P1 4D                 -> made alarm_raised; alarm_raised: alarm=card_without_shoe
                          -> coup=none count(shoe_reported)=1
the rest of a void round belongs to no hand and the next first card begins anew
    in misaligned
    void_coup
    B2 5D P3 6D           -> made nothing
    deal 9S               -> betting_opened: wagerless=true
after a void round's own result a stray card is a break again
    in misaligned
    result player
    void_coup
    B2 5D                 -> coup_misaligned: reason=first_card_missing
a stray card of an old round never falls into the new coup
    in misaligned
    void_coup
    open
    B2 5D                 -> coup_misaligned: reason=first_card_missing
where the profile has no result the last card due settles
    in closed result_required=false
    deal 9S 2D KH 3C      -> settled; coup_settled: coup=20261127-01/1
cards without positions go where the draw table says
    in closed
    shoe card_drawn 2S
    shoe card_drawn 3D
    shoe card_drawn 3H
    shoe card_drawn 3C
    shoe card_drawn 4S    -> deal_completed: player=2S,3H,4S banker=3D,3C
no text of the table tells a face that it has not seen
    * "card_out_of_game reason=overdrawn 4D" 4D
    * "card_carried_over P1 4D"              4D
    * "copy_conflict device_seq=2 bodies=4481B4,4481B8" 4481
    in dealing
    shoe {0}              -> coup_misaligned: detail!~{1}
"""


@pytest.mark.parametrize("lines", histories(HISTORIES))
def test_coups_as_the_shoe_tells_them(lines: Sequence[str]) -> None:
    assert play_history(lines).log
