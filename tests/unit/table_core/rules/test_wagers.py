"""What each wager wins as: a line a case, the category last."""

from fractions import Fraction
from itertools import product

import msgspec
import pytest
from hypothesis import given

from events.cards import Card, Winner
from table_core.rulebooks.shipped import load_rulebook, shipped_ids
from table_core.rules.draw import Outcome, judge_hands
from table_core.rules.rulebook import PUSH, Rulebook
from table_core.rules.settlement import settle
from table_core.rules.wagers import BET_KINDS, BetKind
from tests.support.machine.files import vector
from tests.support.table.deals import cards, coups, outcome, wager

# rulebook, bet, cards in dealing order -> category. Hands, where a case needs them read out:
# P and B are the totals, with the number of cards where it is three.
CASES = """
au-commission player       9H 2D KS KC          -> win
au-commission player       2H 4D KS 4C          -> lose
au-commission player       9H 2D 8S KC 5H       -> push
au-commission banker       2H 4D KS 4C          -> win
au-commission banker       2H 3D KS KC AH 4D    -> win            B 7 on three is a push in EZ alone
au-commission banker       9H 2D KS KC          -> lose
au-commission banker       9H 2D 8S KC 5H       -> push
au-commission banker       3D AC 2C 5H TH       -> win            B wins with 6
au-commission tie          9H 2D 8S KC 5H       -> win
au-commission tie          9H 2D KS KC          -> lose
au-even-money banker       3D AC 2C 5H TH       -> win_on_6
au-even-money banker       2H 4D KS 4C          -> win
au-even-money banker       2H 3D KS KC AH 4D    -> win            B 7 on three
au-even-money banker       6H 6D KS KC          -> push           6 each is no win on 6
au-even-money banker       7H 6D KS KC          -> lose           B loses with 6
ez            banker       2H 3D KS KC AH 4D    -> push_dragon7   B 7 on three
ez            banker       2H 7D KS KC AH       -> win            B 7 on two
ez            banker       2H 2D KS KC AH 4D    -> win            B 6 on three
ez            banker       7H 3D KS KC 4D       -> push           7 each: a tie
ez            banker       8H 3D KS KC          -> lose
ez            dragon7      2H 3D KS KC AH 4D    -> win
ez            dragon7      2H 7D KS KC AH       -> lose           on two cards
ez            dragon7      7H 3D KS KC 4D       -> lose           7 each: no win
ez            panda8       2H 2D KS KC 6H KD    -> win            P 8 on three
ez            panda8       8H 3D KS KC          -> lose           on two cards
ez            panda8       2H 2D KS KC 6H 6D    -> lose           8 each: no win
ez            panda8       2H 3D KS KC 6H 6D    -> lose           8 against 9
au-commission player_pair  9H 2D 9S KC          -> pair
au-commission player_pair  TH 2D KS KC 5H 5D    -> lose           ten and king are no pair
au-commission player_pair  9H 2D KS 2C          -> lose           Banker's pair
au-commission player_pair  2H 2D KS KC 2S KD    -> lose           the third card counts for nothing
au-commission banker_pair  9H 2D KS 2C          -> pair
au-commission banker_pair  9H JD KS QC          -> lose           jack and queen are no pair
au-commission banker_pair  9H 2D 9S KC          -> lose           Player's pair
au-commission banker_pair  6H 3D KS 3C          -> pair           on a tie as well
au-commission super_six    3D AC 2C 5H TH       -> banker_six
au-commission super_six    2H 2D KS KC AH 4D    -> banker_six     on three cards as well
au-commission super_six    6H 6D KS KC          -> lose           a tie on 6
au-commission super_six    7H 6D KS KC          -> lose           B loses with 6
au-commission super_six    2H 7D KS KC AH       -> lose
au-commission tiger        3D AC 2C 5H TH       -> two_card
au-commission tiger        2H 2D KS KC AH 4D    -> three_card
au-commission tiger        6H 6D KS KC          -> lose
au-commission big_tiger    2H 2D KS KC AH 4D    -> three_card
au-commission big_tiger    3D AC 2C 5H TH       -> lose
au-commission small_tiger  3D AC 2C 5H TH       -> two_card
au-commission small_tiger  2H 2D KS KC AH 4D    -> lose
au-commission small_tiger  6H 6D KS KC          -> lose
au-commission tiger_tie    6H 6D KS KC          -> tie_on_6
au-commission tiger_tie    9H 2D 8S KC 5H       -> lose           a tie on 7
au-commission tiger_tie    3D AC 2C 5H TH       -> lose           B 6, no tie
au-commission tiger_pair   9H 2D 9S KC          -> single
au-commission tiger_pair   9H 2D KS 2C          -> single
au-commission tiger_pair   9H 2D 9S 2C          -> double
au-commission tiger_pair   JH JD JS JC 5H 5D    -> twin
au-commission tiger_pair   JH QD JS QC 5H 5D    -> double
au-commission tiger_pair   TH JD QS KC 5H 5D    -> lose
nz-scale-one  perfect_pairs 9H 2D 9S KC         -> mixed
nz-scale-one  perfect_pairs 9C 2D 9H KC         -> mixed
nz-scale-one  perfect_pairs 9H 2D 9D KC         -> coloured
nz-scale-one  perfect_pairs 9C 2D 9S KC         -> coloured
nz-scale-one  perfect_pairs 9C 2D 9C KC         -> perfect
nz-scale-two  perfect_pairs 9C 2D 9C KC         -> perfect
nz-scale-two  perfect_pairs 9C 2D 8C KC 5H      -> lose           one suit is no pair
nz-scale-two  perfect_pairs 9H 2D KS 2D         -> lose           Banker's pair
nz-scale-two  perfect_pairs 6H 6D 6S 6C KS KD   -> mixed          a tie does not matter
mini-lucky8 lucky8_player  JS JC 2S TC 6S 8C    -> double_suited_8
mini-lucky8 lucky8_banker  JS JC 2S TC 6S 8C    -> double_suited_8
mini-lucky8 lucky8_player  JS JC 2S TC 6S 8D    -> suited_8       B 8 of two suits
mini-lucky8 lucky8_banker  JS JC 2S TC 6S 8D    -> double_8
mini-lucky8 lucky8_banker  JS JC 2D TC 6S 8C    -> suited_8       P 8 of two suits
mini-lucky8 lucky8_player  JS 4C 2S JC 6S 5D    -> suited_8       against 9
mini-lucky8 lucky8_player  JS 3C 2S JC 6S 4D    -> suited_8       against 7
mini-lucky8 lucky8_player  8S 8C JS JC          -> double_8       two cards of a suit are not three
mini-lucky8 lucky8_player  8S 9C JS JC          -> unlucky_8
mini-lucky8 lucky8_banker  9S 8C JS JC          -> unlucky_8
mini-lucky8 lucky8_player  8S 7C JS JC          -> lucky_8
mini-lucky8 lucky8_banker  7S 8C JS JC          -> lucky_8
mini-lucky8 lucky8_banker  8S 7C JS JC          -> lose
mini-lucky8 lucky8_player  9S 9C JS JC          -> lose
extras dragon_bonus_player 9H 9D KS KC          -> natural_tie
extras dragon_bonus_banker 8H 8D KS KC          -> natural_tie
extras dragon_bonus_player 6H 6D KS KC          -> lose           a tie without naturals
extras dragon_bonus_player 2H 2D KS KC 6H 6D    -> lose           a tie on 8, no naturals
extras dragon_bonus_player 9H KD KS KC          -> natural_win    by 9, but a natural
extras dragon_bonus_player 9H 8D KS KC          -> natural_win
extras dragon_bonus_banker 8H 9D KS KC          -> natural_win
extras dragon_bonus_banker 9H 8D KS KC          -> lose
extras dragon_bonus_player 4H 2D KS KC 5H 8D    -> win_by_9
extras dragon_bonus_player 4H 2D KS KC 4H 8D    -> win_by_8
extras dragon_bonus_player 7H 2D KS KC 8D       -> win_by_7
extras dragon_bonus_player 6H 2D KS KC 8D       -> win_by_6
extras dragon_bonus_player 7H 2D KS KC KD       -> win_by_5
extras dragon_bonus_player 6H 2D KS KC KD       -> win_by_4
extras dragon_bonus_player 6H 2D KS KC AD       -> lose           by 3
extras dragon_bonus_player 7H 6D KS KC          -> lose           by 1
extras dragon_bonus_banker 2H 2D KS KC 8H 7D    -> win_by_9
extras dragon_bonus_banker 2H 2D KS KC 9H 7D    -> win_by_8
extras dragon_bonus_banker 2H 2D KS KC 8H 5D    -> win_by_7
extras dragon_bonus_banker 2H 2D KS KC 8H 4D    -> win_by_6
extras dragon_bonus_banker 2H 2D KS KC 8H 3D    -> win_by_5
extras dragon_bonus_banker 2H 2D KS KC 8D 2C    -> win_by_4
extras dragon_bonus_banker 2H 2D KS KC 8D AC    -> lose           by 3
extras dragon_bonus_banker 7H 2D KS KC KD       -> lose
extras big                 7H 2D KS KC 8D       -> win
extras big                 4H 2D KS KC 5H 8D    -> win
extras big                 7H 6D KS KC          -> lose
extras small               7H 6D KS KC          -> win
extras small               7H 2D KS KC 8D       -> lose
extras either_pair         9H 2D 9S KC          -> pair
extras either_pair         9H 2D KS 2C          -> pair
extras either_pair         9H 2D 9S 2C          -> pair
extras either_pair         9H 2D KS KC          -> lose
extras perfect_pair_either 9H 2D 9H KC          -> one
extras perfect_pair_either 9H 2D KS 2D          -> one
extras perfect_pair_either 9H 2D 9H 2D          -> both
extras perfect_pair_either 9H 2D 9D 2C          -> lose           pairs, but of two suits
extras lucky6              3D AC 2C 5H TH       -> two_card
extras lucky6              2H 2D KS KC AH 4D    -> three_card
extras lucky6              6H 6D KS KC          -> lose
extras banker              3D AC 2C 5H TH       -> win
"""
LINES = CASES.strip().splitlines()


def category(rulebook: Rulebook, bet: str, judged: Outcome) -> str:
    (line,) = settle(rulebook, judged, [wager(bet=bet)])
    return line.category


@pytest.mark.parametrize("line", LINES)
def test_a_wager_wins_as_its_rules_say(line: str) -> None:
    case, _, expected = line.partition("->")
    rulebook, bet, dealt = case.split(maxsplit=2)
    assert category(load_rulebook(rulebook), bet, outcome(dealt)) == expected.split()[0]


def test_every_category_of_every_shipped_schedule_has_its_line_above() -> None:
    shown = {(line.split()[1], line.split("->")[1].split()[0]) for line in LINES}
    listed = {
        (bet.id, name)
        for rulebook in map(load_rulebook, shipped_ids())
        for bet in rulebook.bets.values()
        for name in (*bet.schedule, "lose")
    }
    assert listed <= shown


# variant, cards -> does Lucky 8 on Player win as double_suited_8
VARIANTS = """
each_hand JS JC 2S TC 6S 8C -> yes   each of one suit, two suits
each_hand JS JS 2S TS 6S 8S -> yes
each_hand JS JC 2S TC 6S 8D -> no
each_hand JS JC 2D TC 6S 8C -> no
all_six   JS JC 2S TC 6S 8C -> no
all_six   JS JS 2S TS 6S 8S -> yes
bet_hand  JS JC 2S TC 6S 8D -> yes
bet_hand  JS JC 2D TC 6S 8C -> no
no_suit   JS JC 2D TC 6S 8C -> yes
no_suit   8S JC TD 8C       -> no
"""


@pytest.mark.parametrize("line", VARIANTS.strip().splitlines())
def test_a_site_chooses_which_suits_a_double_suited_8_needs(line: str) -> None:
    case, _, expected = line.partition("->")
    variant, dealt = case.split(maxsplit=1)
    found = BET_KINDS["lucky8_player"].judges[variant](outcome(dealt))
    assert ("double_suited_8" in found) == (expected.split()[0] == "yes")


# bet, cards -> all that it is, the most special first: a schedule without that pays the next
ALL_THAT_IT_IS = """
banker              2H 2D KS KC AH 4D -> win_on_6 win
banker              2H 3D KS KC AH 4D -> push_dragon7 win
super_six           2H 2D KS KC AH 4D -> three_card banker_six
super_six           3D AC 2C 5H TH    -> two_card banker_six
tiger_pair          JH JD JS JC 5H 5D -> twin double
perfect_pair_either 9H 2D 9H 2D       -> both one
"""


@pytest.mark.parametrize("line", ALL_THAT_IT_IS.strip().splitlines())
def test_what_is_special_is_the_ordinary_as_well(line: str) -> None:
    case, _, expected = line.partition("->")
    bet, dealt = case.split(maxsplit=1)
    assert BET_KINDS[bet].judges[""](outcome(dealt)) == tuple(expected.split())


def test_a_kind_says_what_its_judges_look_at() -> None:
    assert {bet for bet, kind in BET_KINDS.items() if kind.initial} == {
        "player_pair", "banker_pair", "tiger_pair", "perfect_pairs", "either_pair",
        "perfect_pair_either",
    }  # fmt: skip
    looks = {bet: kind.looks for bet, kind in BET_KINDS.items() if kind.looks != "totals"}
    assert looks == {
        "lucky8_player": "suits",
        "lucky8_banker": "suits",
        "player_pair": "pairs",
        "banker_pair": "pairs",
        "tiger_pair": "pairs",
        "perfect_pairs": "pairs",
        "either_pair": "pairs",
        "perfect_pair_either": "pairs",
    }
    # A hand wins by nine points at most, and the table of payoffs names each of them.
    by_points = {name for name in BET_KINDS["dragon_bonus_player"].categories if "by" in name}
    assert by_points == {f"win_by_{points}" for points in (1, 2, 3, 4, 5, 6, 7, 8, 9)}
    said = BetKind(name="", wins="", source="", categories={}, judges={})
    assert (said.initial, said.looks) == (False, "totals")


# variant, cards -> Perfect Pairs
HANDS = """
player 9H 2D 9H KC -> perfect
player 9H 2D KS 2D -> none
banker 9H 2D 9H KC -> none
banker 9H 2D KS 2D -> perfect
both   9H 2D 9S 2D -> perfect   the better of the two
both   9H 2D 9S KC -> mixed
both   9H 2D KS KC -> none
"""


@pytest.mark.parametrize("line", HANDS.strip().splitlines())
def test_a_site_chooses_the_hand_of_perfect_pairs(line: str) -> None:
    case, _, expected = line.partition("->")
    variant, dealt = case.split(maxsplit=1)
    found = BET_KINDS["perfect_pairs"].judges[variant](outcome(dealt))
    assert [*found[:1], "none"][0] == expected.split()[0]


def test_the_first_judge_named_is_the_houses_default() -> None:
    assert next(iter(BET_KINDS["lucky8_player"].judges)) == "each_hand"
    assert next(iter(BET_KINDS["perfect_pairs"].judges)) == "player"


# the outside calculation's name -> rulebook and bet; the first two cards of each hand decide
PAIRS = """
perfect_pairs_scale1 -> nz-scale-one perfect_pairs
player_pair_11       -> au-commission player_pair
banker_pair_11       -> au-even-money banker_pair
"""


@pytest.mark.parametrize("line", PAIRS.strip().splitlines())
def test_wagers_on_pairs_cost_what_was_computed_elsewhere(line: str) -> None:
    name, _, ours = line.partition("->")
    book, bet = ours.split()
    rulebook = load_rulebook(book)
    other = cards("8S KS")  # a natural, so that the deal is complete whatever the pair
    lost, deals = 0, 0
    for first, second in product(Card, Card):
        hand = (first, second)
        judged = judge_hands(other, hand) if bet == "banker_pair" else judge_hands(hand, other)
        (settled,) = settle(rulebook, judged, [wager(bet=bet)])
        weight = 8 * (7 if first is second else 8)
        lost += weight * (settled.stake - settled.paid)
        deals += weight
    published = msgspec.json.decode(vector("odds-8-decks.json"))
    assert Fraction(lost, 100 * deals) == Fraction(published["bets"][name.strip()]["edge"])


@given(coups)
def test_judges_name_only_their_kinds_categories(dealt: tuple[Card, ...]) -> None:
    judged = outcome(" ".join(map(str, dealt)))
    for bet, kind in BET_KINDS.items():
        for variant, judge_bet in kind.judges.items():
            found = judge_bet(judged)
            assert set(found) <= set(kind.categories), (bet, variant)
            assert PUSH not in found
            # "Highest category only" rests on this order.
            assert sorted(found, key=list(kind.categories).index) == list(found), (bet, variant)


@given(coups)
def test_a_wager_on_the_initial_deal_is_not_moved_by_third_cards(dealt: tuple[Card, ...]) -> None:
    judged = outcome(" ".join(map(str, dealt)))
    first_four = judge_hands(judged.player[:2], judged.banker[:2])
    for bet, kind in BET_KINDS.items():
        for judge_bet in kind.judges.values():
            assert not kind.initial or judge_bet(judged) == judge_bet(first_four), bet


@given(coups)
def test_wagers_that_exclude_one_another_never_win_together(dealt: tuple[Card, ...]) -> None:
    judged = outcome(" ".join(map(str, dealt)))
    won = {bet for bet, kind in BET_KINDS.items() for j in kind.judges.values() if j(judged)}
    assert len(won & {"player", "banker", "tie"}) == 1
    assert len(won & {"big", "small"}) == 1
    assert judged.winner is Winner.BANKER or not won & {"super_six", "tiger", "dragon7", "lucky6"}
