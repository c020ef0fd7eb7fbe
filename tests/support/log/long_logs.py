"""Logs of any number of coups, quickly: wagers, a settlement, and for every tenth a revision."""

from collections.abc import Iterator
from typing import Final

from events.types.table import (
    BettingOpened,
    CoupSettled,
    SeatDifference,
    Settlement,
    SettlementLine,
    TableEvent,
    Wager,
    WagersPlaced,
)

__all__ = ["REVISED", "long_log"]

REVISED: Final = 10
_SEATS: Final = range(1, 8)
_COUPS_A_SHOE: Final = 80
_SHOES_A_DAY: Final = 99
_STAKE: Final = 1_000


def long_log(coups: int) -> Iterator[TableEvent]:
    """Seven seats wager the same each time; Banker wins, and in a revision Player has won."""
    for number in range(coups):
        shoe, coup = divmod(number, _COUPS_A_SHOE)
        day, shoe = divmod(shoe, _SHOES_A_DAY)
        name = f"{20260101 + day}-{shoe + 1:02}/{coup + 1}"
        wagers = tuple(
            Wager(id=f"w/{name}/{seat}", seat=seat, bet=_bet(seat), stake=_STAKE) for seat in _SEATS
        )
        yield BettingOpened(coup=name, rulebook="ez", rulebook_hash="0" * 64)
        yield WagersPlaced(coup=name, wagers=wagers)
        yield CoupSettled(coup=name, settlement=_settlement(name, wagers, 1, "banker"))
        if number % REVISED == 0:
            yield CoupSettled(coup=name, settlement=_settlement(name, wagers, 2, "player"))


def _bet(seat: int) -> str:
    return "banker" if seat % 2 else "player"


def _settlement(coup: str, wagers: tuple[Wager, ...], revision: int, winner: str) -> Settlement:
    lines = tuple(_line(wager, winner) for wager in wagers)
    moved = [2 * _STAKE if each.bet == winner else -2 * _STAKE for each in wagers]
    return Settlement(
        settlement_id=f"t1/{coup}/2/{revision}",
        coup=coup,
        phase=2,
        revision=revision,
        reverses=f"t1/{coup}/2/{revision - 1}" if revision > 1 else None,
        rulebook="ez",
        rulebook_hash="0" * 64,
        player=(),
        banker=(),
        player_total=4,
        banker_total=7,
        lines=lines,
        staked=sum(line.stake for line in lines),
        paid=sum(line.paid for line in lines),
        commission=0,
        difference=tuple(
            SeatDifference(seat=each.seat, staked=0, paid=paid, commission=0)
            for each, paid in zip(wagers, moved, strict=True)
            if revision > 1
        ),
    )


def _line(wager: Wager, winner: str) -> SettlementLine:
    won = wager.bet == winner
    return SettlementLine(
        wager=wager.id,
        seat=wager.seat,
        bet=wager.bet,
        result="win" if won else "lose",
        category="win" if won else "lose",
        stake=wager.stake,
        winnings=wager.stake if won else 0,
        commission=0,
        paid=2 * wager.stake if won else 0,
    )
