"""A day at one table whose figures were worked by hand; docs/money/drop-and-hold.md has it too.

AUD; 5 per cent of what Banker wagers win is kept back. Amounts below are dollars.

    opening   400 x 25 + 300 x 100                     = 40,000
    coup 1    p-17 1,000 Banker, p-4 500 Player          Banker:  -1,000 + 500, commission 50
    fill F-101            200 x 100                    = 20,000
    coup 2    p-17 2,000 Player, seat 7 100 tie          Player:  -2,000 + 100
    credit C-55           100 x 25                     =  2,500
    count     at the change of shift: 300 x 25 + 450 x 100 = 52,500
    coup 3    p-4 3,000 and p-17 4,000 Player            Banker:  +7,000
    coup 4    p-4 1,000 Player                           void
    closing    86 x 25 + 480 x 100                     = 50,150
    drop box B-7          100 x 100 + 38 x 50          = 11,900
"""

from typing import Final

from events.types import TableEvent
from tests.support.table.coups import World
from tests.support.table.histories import perform

FLOAT: Final = "20261127-01"
_SIGNED: Final = "signed=s-1,d-4"
_BANKER_WINS: Final = "close\ndeal KS 9D 2H TC\nresult banker"  # a natural nine against two
_PLAYER_WINS: Final = "close\ndeal 9S 2D KH 3C\nresult player"  # a natural nine against five
_DAY: Final = f"""
open_float float_id={FLOAT} currency=AUD chips="2500x400 10000x300" {_SIGNED}
open
place_wager wagers="3 banker 100000 patron=p-17,5 player 50000 patron=p-4"
{_BANKER_WINS}
fill slip=F-101 reference=R-7 chips=10000x200 {_SIGNED}
open
place_wager wagers="3 player 200000 patron=p-17,7 tie 10000"
{_PLAYER_WINS}
credit slip=C-55 chips=2500x100 {_SIGNED}
count_chips occasion="change of shift" chips="2500x300 10000x450" {_SIGNED}
open
place_wager wagers="5 player 300000 patron=p-4,3 player 400000 patron=p-17"
{_BANKER_WINS}
open
place_wager wagers="5 player 100000 patron=p-4"
close
void_coup reason="a patron fell ill"
end_shoe
close_float chips="2500x86 10000x480" {_SIGNED}
count_drop float_id={FLOAT} box=B-7 notes="5000x38 10000x100" {_SIGNED}
"""


def chip_day() -> list[TableEvent]:
    """The day's events, from the adoption of its rulebook to the count of its drop."""
    world = World()
    world.ready()
    perform(world, _DAY)
    return world.log
