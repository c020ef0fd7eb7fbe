"""Histories in which a build of before told the money wrong, one a row."""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Row(NamedTuple):
    """One of them.

    Args:
        game: names the rulebooks that it is played by.
        history: its lines.
    """

    game: str
    history: str


_PLAYED: Final = """
    rulebook au-commission
    load
    open
    place 1 banker 1000
    P1 2S
    B1 9D
    P2 3S
    B2 KC
    result
"""
_MARKED: Final = """
    rulebook per-shoe
    load
    open
    place 1 banker 2000 p-1
    P1 2S
    B1 9D
    P2 3S
    B2 KC
    result
"""

ROWS: Final[Mapping[str, Row]] = {
    "a correction at the end of a shoe is told of another coup": Row(
        "AUD",
        _PLAYED + "open\nP1 2S\nvoid\nend\nhands 1/1 9S,KH 2D,3C",
    ),
    "a pair wager is added to a settled coup": Row(
        "AUD", _MARKED + "wager 1/1 new 2 player_pair 10"
    ),
    "a bet of a settled coup becomes a pair": Row("AUD", _MARKED + "wager 1/1 0 1 player_pair 10"),
    "a pair was paid on a card that never lay there, and the coup is void": Row(
        "AUD",
        """
    rulebook per-shoe
    load
    open
    place 1 player_pair 10
    P1 2S
    B1 KD
    P2 2C
    B2 7C
    P3 5D
    card P2 6C
    void
""",
    ),
    "a void coup's first phase is taken back": Row(
        "AUD",
        """
    rulebook per-shoe
    load
    open
    place 1 player_pair 10
    P1 2S
    B1 KD
    P2 2C
    B2 7C
    void
    hands 1/1 2S,6C KD,7C
""",
    ),
    "commission that is marked, by a rulebook that deducts": Row(
        "AUD", _MARKED + "by 1/1 au-commission"
    ),
    "commission that was deducted, by a rulebook that marks": Row(
        "AUD", _PLAYED + "by 1/1 per-shoe"
    ),
    "one patron's commission is given up, and the next at the seat owes his own": Row(
        "AUD",
        _MARKED
        + """
    giveup 1
    open
    place 1 banker 2000 p-2
    P1 2S
    B1 9D
    P2 3S
    B2 KC
    result
    void 1/1
""",
    ),
    "recovered commission is reversed while another seat paid": Row(
        "AUD",
        _MARKED
        + """
    giveup 1
    recover 1 100
    open
    place 2 banker 2000
    P1 2S
    B1 9D
    P2 3S
    B2 KC
    result
    collect 2
    void 1/1
""",
    ),
    "a pair with paid commission is judged in the other phase": Row(
        "AUD",
        """
    rulebook marked-pairs
    load
    open
    place 1 tiger_pair 1000
    P1 2S
    B1 9D
    P2 2C
    B2 KC
    result
    collect
    by 1/1 late-pairs
""",
    ),
    "a pair with prepaid commission is judged in the other phase": Row(
        "AUD",
        """
    rulebook prepaid-pairs
    load
    open
    place 1 tiger_pair 320
    P1 2S
    B1 9D
    P2 2C
    B2 KC
    result
    by 1/1 late-pairs
""",
    ),
    "a token is returned by a void after the settlement": Row(
        "AUD",
        """
    rulebook au-commission
    load
    open
    place 1 banker 1000 promo
    P1 2S
    B1 9D
    P2 3S
    B2 KC
    result
    void 1/1
""",
    ),
    "a patron wagers tokens alone, and a void is taken back": Row(
        "AUD",
        """
    rulebook au-commission
    load
    open
    place 1 banker 1000 promo p-1; 2 player 500 p-2
    P1 2S
    B1 9D
    P2 3S
    B2 KC
    result
    void 1/1
    hands 1/1 2S,3S 9D,KC
""",
    ),
    "a coup is corrected after the table went over to another currency": Row(
        "mixed",
        """
    rulebook aud
    load
    open
    place 1 player 1000
    P1 2S
    B1 9D
    P2 3S
    B2 KC
    result
    rulebook nzd
    wager 1/1 0 1 banker 1000
    hands 1/1 2S,3S 9D,QC
    collect 1
""",
    ),
    "a seat owes for a patron and for nobody, and each is paid alone": Row(
        "AUD",
        """
    rulebook per-shoe
    load
    open
    place 3 banker 1000 p-1; 3 banker 2000
    P1 2S
    B1 9D
    P2 3S
    B2 KC
    result
    collect 3 1 -
    giveup 3 -
    collect 3 p-1
    recover 3 1 -
""",
    ),
    "what a seat gave up in two currencies is not added up": Row(
        "mixed",
        """
    rulebook aud
    load
    open
    place 1 banker 1000
    P1 2S
    B1 9D
    P2 3S
    B2 KC
    result
    giveup 1
    rulebook usd
    open
    place 1 banker 2000
    P1 2H
    B1 9H
    P2 3H
    B2 KH
    result
    giveup 1
    recover 1 150
    recover 1 50 1/1
    recover 1 100
""",
    ),
    "nobody wagers in a shoe": Row(
        "AUD",
        """
    rulebook per-shoe
    load
    free
    P1 2S
    B1 9D
    P2 3S
    B2 KC
    result
    end
    load
    free
    P1 2S
    void
""",
    ),
    "an empty first phase is void with its coup": Row(
        "AUD",
        """
    rulebook pairs-first
    load
    open
    place 1 tiger_pair 100; 2 banker 100
    P1 2S
    B1 9D
    P2 2C
    B2 KC
    result
    wager 1/1 0 none
    void 1/1
""",
    ),
    "wagers of both sides are laid together, within the differential": Row(
        "AUD",
        "rulebook differential\nload\nopen\nplace 1 player 2000; 2 banker 1500",
    ),
}
