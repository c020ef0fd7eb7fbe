"""A running table as an integrator's program sees it: coups, corrections, acknowledgements."""

import sqlite3
from contextlib import closing
from pathlib import Path

from events.cards import Card, Hand
from events.commands.cards import CorrectCard
from events.commands.coup import CloseBetting, OpenBetting, VoidCoup
from events.commands.wagers import PlaceWager, WagerRequest
from events.types.shoe_reports import DeviceResult
from tests.support.machine.waiting import until
from tests.support.service.table_service import Table1
from tests.support.table.coups import NATURAL_NINE, ORDER, SHOE, drawn, shoe_event

__all__ = ["acknowledged", "correct", "coup"]


async def coup(table: Table1, number: int) -> None:
    """One more like the first, with two seats; its number begins at 2."""
    await table.ask("dealer", OpenBetting(transaction=f"o{number}"))
    wagers = (
        WagerRequest(seat=1, bet="player", stake=1000 * number),
        WagerRequest(seat=number, bet="banker", stake=500 * number),
    )
    await table.ask("wagers", PlaceWager(transaction=f"w{number}", wagers=wagers))
    await table.ask("dealer", CloseBetting(transaction=f"c{number}"))
    first, before = 3 + 5 * (number - 1), len(table.settlements)
    for seq, ((hand, place), face) in enumerate(zip(ORDER, NATURAL_NINE, strict=True), start=first):
        await table.say(shoe_event(seq, drawn(hand, place, face)))
    await table.say(shoe_event(first + 4, DeviceResult(winner="player")))
    await until(lambda: len(table.settlements) > before, f"coup {number} was not settled")


async def correct(table: Table1) -> None:
    """The first coup had another card, and the second does not count."""
    face = CorrectCard(
        transaction="f",
        hand=Hand.BANKER,
        number=1,
        face=Card.D6,
        reason="camera 4",
        coup=f"{SHOE}/1",
    )
    await table.must("supervisor", face)
    void = VoidCoup(transaction="v", reason="a wrong shoe", coup=f"{SHOE}/2")
    await table.must("supervisor", void)


async def acknowledged(table: Table1, path: Path, consumer: str) -> None:
    """The newest settlement is acknowledged in the log."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as read:
        query = "SELECT max(position) FROM event WHERE type = 'coup_settled'"
        (newest,) = read.execute(query).fetchone()
    await until(lambda: table.settlements[-1].position >= newest, "it is heard here too")

    def told() -> bool:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as read:
            row = read.execute(
                "SELECT position FROM cursor WHERE name = ?", (f"consumer/cage/{consumer}",)
            ).fetchone()
        read.close()
        return bool(row and row[0] >= newest)

    await until(told, f"{consumer} has not acknowledged {newest}")
