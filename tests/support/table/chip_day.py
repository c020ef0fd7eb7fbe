"""A day at one table whose figures were worked by hand; docs/cage.md tells the same day.

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

from msgspec.structs import replace

from events.commands.chips import (
    ChipCommand,
    CloseFloat,
    CountChips,
    CountDrop,
    Credit,
    Fill,
    OpenFloat,
)
from events.commands.coup import CloseBetting, OpenBetting, VoidCoup
from events.commands.shoe import EndShoe
from events.commands.wagers import PlaceWager, WagerRequest
from events.types.chips import Pieces
from events.types.shoe_reports import DeviceResult
from events.types.table import TableEvent
from tests.support.table.coups import World

__all__ = ["FLOAT", "chip_day"]

FLOAT: Final = "20261127-01"
_BANKER: Final = ("KS", "9D", "2H", "TC")  # a natural nine against two
_PLAYER: Final = ("9S", "2D", "KH", "3C")  # a natural nine against five
_SIGNED: Final = ("s-1", "d-4")

# Seat, bet, dollars, patron.
_Asked = tuple[int, str, int, str | None]


def chip_day() -> list[TableEvent]:
    """The day's events, from the adoption of its rulebook to the count of its drop."""
    day = _Day()
    day.world.ready()
    tray = (Pieces(2_500, 400), Pieces(10_000, 300))
    day.chips(OpenFloat(transaction="", float_id=FLOAT, currency="AUD", chips=tray))
    day.coup(_BANKER, "banker", (3, "banker", 1_000, "p-17"), (5, "player", 500, "p-4"))
    more = (Pieces(10_000, 200),)
    day.chips(Fill(transaction="", slip="F-101", reference="R-7", chips=more))
    day.coup(_PLAYER, "player", (3, "player", 2_000, "p-17"), (7, "tie", 100, None))
    day.chips(Credit(transaction="", slip="C-55", chips=(Pieces(2_500, 100),)))
    counted = (Pieces(2_500, 300), Pieces(10_000, 450))
    day.chips(CountChips(transaction="", occasion="change of shift", chips=counted))
    day.coup(_BANKER, "banker", (5, "player", 3_000, "p-4"), (3, "player", 4_000, "p-17"))
    day.coup((), "", (5, "player", 1_000, "p-4"))
    day.world.must(EndShoe(transaction="end"))
    left = (Pieces(2_500, 86), Pieces(10_000, 480))
    day.chips(CloseFloat(transaction="", chips=left))
    notes = (Pieces(5_000, 38), Pieces(10_000, 100))
    day.chips(CountDrop(transaction="", float_id=FLOAT, box="B-7", notes=notes))
    return day.world.log


class _Day:
    def __init__(self) -> None:
        self.world = World()

    def chips(self, command: ChipCommand) -> None:
        self.world.must(_signed(command, self.world.transaction()))

    def coup(self, faces: tuple[str, ...], winner: str, *wagers: _Asked) -> None:
        """Played to its end; without cards it is void."""
        world = self.world
        world.must(OpenBetting(transaction=world.transaction()))
        asked = tuple(
            WagerRequest(seat=seat, bet=bet, stake=dollars * 100, patron=patron)
            for seat, bet, dollars, patron in wagers
        )
        world.must(PlaceWager(transaction=world.transaction(), wagers=asked))
        world.must(CloseBetting(transaction=world.transaction()))
        if not faces:
            world.must(VoidCoup(transaction=world.transaction(), reason="a patron fell ill"))
            return
        world.deal(*faces)
        world.say(DeviceResult(winner=winner))


def _signed(command: ChipCommand, transaction: str) -> ChipCommand:
    return replace(command, transaction=transaction, signed=_SIGNED)
