"""A made-up log of settlements between other events, as the table would publish it."""

import hashlib
from typing import Final

from msgspec.structs import replace

from events.cards import Card, Winner
from events.types.envelope import with_hash
from events.types.table import BettingClosed, CoupSettled, Settlement, TableEvent
from tests.support.log.logs import stored_bytes

__all__ = ["EVERY", "SHOE", "publish_log", "published", "settlement"]

SHOE: Final = "20261127-01"
EVERY: Final = 4  # each fourth event is a settlement: positions 4, 8, 12...


def settlement(coup: int, *, revision: int = 1, paid: int | None = None) -> Settlement:
    """Coup n stakes 1000 n, pays 700 n and keeps a commission of n."""
    first = Settlement(
        settlement_id=f"t1/{SHOE}/{coup}/2/1",
        coup=f"{SHOE}/{coup}",
        phase=2,
        revision=1,
        rulebook="au-commission",
        rulebook_hash="0" * 64,
        player=(Card.S9, Card.HK),
        banker=(Card.D2, Card.C3),
        player_total=9,
        banker_total=5,
        winner=Winner.PLAYER,
        lines=(),
        staked=1000 * coup,
        paid=700 * coup if paid is None else paid,
        commission=coup,
    )
    if revision == 1:
        return first
    return replace(
        first,
        settlement_id=f"t1/{SHOE}/{coup}/2/{revision}",
        revision=revision,
        reverses=f"t1/{SHOE}/{coup}/2/{revision - 1}",
    )


def published(position: int, event: TableEvent) -> bytes:
    """The event as a message: envelope and hash."""
    stored = stored_bytes(event, position, stream="site/t1")
    return with_hash(stored, hashlib.sha256(stored).digest())


def publish_log(coups: int) -> dict[int, bytes]:
    """Position to message, for so many coups."""
    log = {}
    for position in range(1, EVERY * coups + 1):
        coup, rest = divmod(position, EVERY)
        event: TableEvent = (
            BettingClosed(coup=f"{SHOE}/{coup + 1}", by="dealer")
            if rest
            else CoupSettled(coup=f"{SHOE}/{coup}", settlement=settlement(coup))
        )
        log[position] = published(position, event)
    return log
