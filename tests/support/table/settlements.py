"""Made-up settlements."""

from typing import Final

from msgspec.structs import replace

from events.cards import Card, Winner
from events.types import Settlement

SHOE: Final = "20261127-01"


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
