"""Wagers for the tests of the rules."""

from events.types.table import Wager


def wager(
    id: str = "w0",  # noqa: A002 - the field's name
    *,
    seat: int = 1,
    bet: str = "player",
    stake: int = 100,
    patron: str | None = None,
) -> Wager:
    """A wager of which only what matters is said."""
    return Wager(id=id, seat=seat, bet=bet, stake=stake, patron=patron)


def wagers(text: str) -> list[Wager]:
    """`3:banker=100 tie=5@p1`: seat (else 1), bet, stake, patron; ids w0, w1, ..."""
    made = []
    for index, word in enumerate(text.split()):
        spot, _, amount = word.partition("=")
        seat, colon, bet = spot.rpartition(":")
        stake, _, patron = amount.partition("@")
        made.append(
            Wager(
                id=f"w{index}",
                seat=int(seat) if colon else 1,
                bet=bet,
                stake=int(stake),
                patron=patron or None,
            )
        )
    return made
