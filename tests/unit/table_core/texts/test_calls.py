"""The dealer's calls at each step, in English, as a dealer says them."""

from typing import Any

import pytest

from displays.http.words import LANGUAGES, load_words
from events.money import Currency
from table_core.texts.calls import calls
from table_core.texts.sentences import say
from tests.support.table.histories import histories, play_history

AUD = Currency("AUD", 2)
HISTORIES = """
a hand with a third card each
    rules au-commission
    in none
    open                    -> "call()=Place your bets."
    bet 1 player 1000
    close                   -> "call()=No more bets."
    P1 3S B1 AD P2 2H       -> call()=
    B2 3C                   -> "call()=Player has 5, Banker has 4. Player draws."
    P3 4D                   -> "call()=Player has 9, Banker has 4. Banker draws."
    B3 3C                   -> complete; "call()=Player wins, 9 over 7."
    result player           -> settled; "call()=Player wins, 9 over 7."
Banker draws alone
    in none
    open
    close
    deal 3S 2D 3H AC        -> "call()=Player stands on 6, Banker has 3. Banker draws."
    B3 3C                   -> "call()=Player stands on 6. Tie, 6 each."
nobody draws
    in none
    open
    close
    deal 3S 3D 3H 4C
    -> "call()=Player stands on 6. Banker stands on 7. Banker wins, 7 over 6."
Banker stands on Player's third card
    in none
    open
    close
    deal 2S 3D 3H 3C
    P3 AD                   -> "call()=Banker stands on 6. Tie, 6 each."
naturals
    * 9S 2D 9H 3C  "Natural 8, Player wins."
    * 2S 9D 5H KC  "Natural 9, Banker wins."
    * 9S 9D KH TC  "Natural 9 each, tie."
    * 9S 8D KH TC  "Natural 9, Player wins."
    in none
    open
    close
    deal {0} {1} {2} {3}    -> "call()={4}"
what a side wager on the table is paid is called, each kind once
    in none
    open
    bet 1 banker 1000, 1 tiger 1000, 2 tiger 500, 2 small_tiger 500, 3 big_tiger 500
    close
    deal 2S 4D KH 2C
    P3 KD
    result banker           -> settled
    -> "call()=Banker stands on 6. Banker wins, 6 over 2. \
Tiger, 2 cards: pays 12 to 1. Small Tiger, 2 cards: pays 22 to 1."
an Even Money six, and an EZ seven, are called
    * au-even-money 4D "P3 9D" \
"Banker stands on 6. Banker wins, 6 over 1. Banker, on 6: pays 1 to 2."
    * ez 3D "P3 4D B3 2D" "Banker wins, 7 over 6. Banker, 3-card 7: the stake goes back."
    rules {0}
    in none
    open
    bet 1 banker 1000
    close
    deal 2S {1} QH 2C
    {2}
    result banker           -> settled; "call()={3}"
Perfect Pairs are called when they are paid, before the third card
    rules nz-scale-one
    in none
    open
    bet 1 player 1000, 1 perfect_pairs 1000
    close
    deal 2S 2D 2S 2C
    -> "call()=Perfect Pairs, perfect: pays 30 to 1. \
Player has 4, Banker has 4. Player draws."
    P3 9S                   -> "call()=Banker stands on 4. Banker wins, 4 over 3."
nothing is called of a face that nobody has seen, nor while a person must decide
    in none
    open
    close
    squeeze                 -> call()=
    void_coup               -> "call()=This coup is void: stakes go back."
a held result is not called
    in disputed             -> call()=
"""


def called(world: Any, _: str) -> str:
    """What the dealer says, in English; and it can be said in each language."""
    sentences = calls(world.state.coup)
    for tag in LANGUAGES:
        for each in sentences:
            text = say(each, load_words(tag), AUD)
            figures = [value for value in each.values.values() if isinstance(value, str)]
            assert [value for value in figures if value not in text] == []
    return " ".join(say(each, load_words("en"), AUD) for each in sentences)


@pytest.mark.parametrize("lines", histories(HISTORIES))
def test_the_dealer_calls_each_step(lines: list[str]) -> None:
    assert play_history(lines, functions={"call": called}).log
