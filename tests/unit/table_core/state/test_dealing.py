"""Where the next card may come to, faces open or withheld: a line a case."""

import pytest

from events.cards import Hand, parse_card
from events.types import DealCompleted
from table_core.state.coup import Phase
from table_core.state.dealing import FIRST_PLACE, due_places, judge_deal
from table_core.state.table import Coup, DealtCard

P, B = Hand.PLAYER, Hand.BANKER
PLACES = ((P, 1), (B, 1), (P, 2), (B, 2))


def coup_of(text: str) -> Coup:
    """Cards in dealing order, `??` withheld; third cards are named by their hand: `P:9S`."""
    dealt = []
    for index, word in enumerate(text.split()):
        third, _, face = word.rpartition(":")
        hand, number = (Hand.PLAYER if third == "P" else Hand.BANKER, 3) if third else PLACES[index]
        card = None if face == "??" else parse_card(face)
        dealt.append(DealtCard(hand, number, card, None, "shoe"))
    return Coup(id="s/1", phase=Phase.DEALING, rulebook="r", rulebook_hash="h", cards=tuple(dealt))


# cards -> place and rule of what may come next
DUE = """
                     -> player 1 initial
9S                   -> banker 1 initial
9S 2D                -> player 2 initial
9S 2D KH             -> banker 2 initial
??                   -> banker 1 initial
?? 2D                -> player 2 initial
?? ?? ??             -> banker 2 initial
9S 2D KH 3C          -> nothing
2S 2D KH 3C          -> player 3 player_0_5_draws
7S 2D KH 3C          -> banker 3 banker_player_stood_0_5_draws
2S 2D KH KC P:9S     -> banker 3 banker_0_2_draws
2S 7D KH KC P:9S     -> nothing
2S 2D KH KC P:9S B:5D -> nothing
?? ?? ?? ??          -> player 3 None, banker 3 None
?? 2D KH 3C          -> player 3 None, banker 3 None
9S 2D KH ??          -> nothing
?? 8D KH KC          -> nothing
?? KD ?? 9C          -> nothing
6S 2D KH ??          -> banker 3 None
6S ?? KH ??          -> banker 3 None
5S 2D KH ??          -> player 3 None
?? 7D KH KC          -> player 3 None
?? 6D KH KC          -> player 3 None
?? 5D KH KC          -> player 3 None, banker 3 None
5S 2D KH ?? P:4D     -> banker 3 None
9S 2D KH ?? P:4D     -> nothing
?? 7D KH KC P:4D     -> nothing
?? 6D KH KC P:5D     -> nothing
?? 6D KH KC P:??     -> banker 3 None
?? ?? ?? ?? P:??     -> banker 3 None
2S 2D KH KC P:??     -> banker 3 None
?? ?? ?? ?? B:??     -> nothing
?? ?? ?? ?? P:?? B:?? -> nothing
"""


@pytest.mark.parametrize("line", DUE.strip("\n").splitlines())
def test_the_next_card_may_come_to_these_places(line: str) -> None:
    dealt, _, expected = line.partition("->")
    places = due_places(coup_of(dealt))
    said = ", ".join(f"{place.hand.value} {place.number} {place.rule}" for place in places)
    assert isinstance(places, tuple)
    assert (said or "nothing") == expected.strip()
    assert all(str(place) == f"{place.hand.value} {place.number}" for place in places)


# cards -> what is wrong with them, once all faces are known
WRONG = """
9S 2D KH 3C           -> nothing
9S 2D KH 3C P:4D      -> player drew a third card that was not due (natural)
7S 2D KH 3C P:4D      -> player drew a third card that was not due (banker_player_stood_0_5_draws)
7S 6D KH KC B:4D      -> banker drew a third card that was not due (banker_player_stood_6_7_stands)
9S 2D KH 3C P:4D B:5D -> player and banker drew a third card that was not due (natural)
2S 7D KH KC P:9S B:5D -> banker drew a third card that was not due (banker_7_stands)
2S 2D KH KC P:9S B:5D -> nothing
2S 2D KH KC P:9S      -> nothing
2S 2D KH KC B:9S      -> banker drew a third card that was not due (player_0_5_draws)
9S 2D KH ?? P:4D      -> nothing
"""


@pytest.mark.parametrize("line", WRONG.strip().splitlines())
def test_a_third_card_that_was_not_due_is_told_of(line: str) -> None:
    dealt, _, expected = line.partition("->")
    judged = judge_deal(coup_of(dealt))
    assert (judged if isinstance(judged, str) else "nothing") == expected.strip()


# cards -> totals, winner, whether a natural
COMPLETE = """
9S 2D KH 3C           -> 9 5 player natural
6S 7D KH KC           -> 6 7 banker
2S 2D KH KC P:9S B:5D -> 1 7 banker
2S 7D KH KC P:5S      -> 7 7 tie
2S 2D KH KC P:9S      -> nothing
9S 2D KH              -> nothing
9S 2D KH ??           -> nothing
"""


@pytest.mark.parametrize("line", COMPLETE.strip().splitlines())
def test_a_deal_is_complete_when_every_card_that_was_due_is_known(line: str) -> None:
    dealt, _, expected = line.partition("->")
    coup = coup_of(dealt)
    done = judge_deal(coup)
    if done is None:
        assert expected.strip() == "nothing"
        return
    assert isinstance(done, DealCompleted)
    words = [str(done.player_total), str(done.banker_total), done.winner.value]
    assert words + ["natural"] * done.natural == expected.split()
    assert done.coup == coup.id
    assert [done.player, done.banker] == [
        tuple(dealt.card for dealt in coup.hand(hand)) for hand in (P, B)
    ]
    assert [rule.rule for rule in done.rules[:4]] == ["initial"] * 4
    assert len(done.rules) == 6


def test_the_first_place_is_the_one_that_is_due_before_any_card() -> None:
    assert due_places(coup_of("")) == (FIRST_PLACE,)
