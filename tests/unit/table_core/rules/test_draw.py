"""The draw table against the seeds' own tables, and the proof by counting all deals."""

from collections import Counter
from fractions import Fraction
from itertools import product

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.cards import Card, Hand, Winner
from events.errors import OurBug
from table_core.rulebooks.shipped import load_rulebook
from table_core.rules.draw import DRAW_TABLE, Outcome, deal_cards, hand_due, judge_hands
from table_core.rules.rulebook import Rulebook
from table_core.rules.settlement import settle
from tests.support.machine.files import vector
from tests.support.table.deals import (
    BY_POINTS,
    SHOE_OF_8,
    all_deals_by_points,
    cards,
    outcome,
    trimmed,
    wager,
)

# The tables as the seeds print them: first two cards, draws on, stands on.
SEED_2_PLAYER = """
0, 1, 2, 3, 4, 5 | Draws
6, 7             | Stands
8, 9             | Natural
"""
SEED_2_BANKER = """
3 | 0, 1, 2, 3, 4, 5, 6, 7, 9 | 8
4 | 2, 3, 4, 5, 6, 7          | 0, 1, 8, 9
5 | 4, 5, 6, 7                | 0, 1, 2, 3, 8, 9
6 | 6, 7                      | 0, 1, 2, 3, 4, 5, 8, 9
"""
SEED_3_BANKER = """
3 | 1-2-3-4-5-6-7-9-10 | 8
4 | 2-3-4-5-6-7        | 1-8-9-10
5 | 4-5-6-7            | 1-2-3-8-9-10
6 | 6-7                | 1-2-3-4-5-8-9-10
"""


def numbers(text: str) -> set[int]:
    return {int(n) % 10 for n in text.replace("-", ",").split(",")}


def banker_table(text: str) -> dict[tuple[int, int], bool]:
    """(Banker's total, Player's third) to whether Banker draws."""
    table: dict[tuple[int, int], bool] = {}
    for row in text.strip().splitlines():
        total, draws, stands = row.split("|")
        assert not numbers(draws) & numbers(stands)
        table |= {(int(total), third): True for third in numbers(draws)}
        table |= {(int(total), third): False for third in numbers(stands)}
    return table


def seeds_say(player: int, banker: int, third: int | None) -> tuple[bool, bool]:
    """Whether Player and Banker draw, straight from the seeds' words."""
    if player >= 8 or banker >= 8:
        return False, False
    rows = [row.split("|") for row in SEED_2_PLAYER.strip().splitlines()]
    player_draws = any(
        player in numbers(totals) and word.strip() == "Draws" for totals, word in rows
    )
    if not player_draws:
        return False, banker <= 5  # seed 3: draws on 0-5, stands on 6 and 7
    assert third is not None
    if banker <= 2:
        return True, True
    if banker == 7:
        return True, False
    return True, banker_table(SEED_2_BANKER)[banker, third]


def two_cards(total: int) -> list[Card]:
    return [BY_POINTS[0], BY_POINTS[total]]


def test_the_seeds_agree_with_one_another() -> None:
    assert banker_table(SEED_2_BANKER) == banker_table(SEED_3_BANKER)
    assert len(banker_table(SEED_2_BANKER)) == 40


def test_the_table_decides_every_situation_as_the_seeds_do() -> None:
    for player, banker, third in product(range(10), range(10), range(10)):
        player_draws, banker_draws = seeds_say(player, banker, third)
        hands = two_cards(player), two_cards(banker)
        hand, rules = hand_due(*hands)
        assert (hand is Hand.PLAYER) == player_draws, (player, banker, rules)
        if player_draws:
            hands[0].append(BY_POINTS[third])
            hand, rules = hand_due(*hands)
        assert (hand is Hand.BANKER) == banker_draws, (player, banker, third, rules)
        if banker_draws:
            hands[1].append(BY_POINTS[0])
        assert hand_due(*hands)[0] is None


def test_exactly_one_row_applies_to_each_hand_in_each_situation() -> None:
    for hand, player, banker in product(Hand, range(10), range(10)):
        drew = player <= 5 and banker <= 7 and hand is Hand.BANKER
        for third in range(10) if drew else (None,):
            rows = [
                row.rule.rule
                for row in DRAW_TABLE
                if row.rule.hand is hand
                and player in row.player
                and banker in row.banker
                and third in row.third
            ]
            assert len(rows) == 1, (hand, player, banker, third, rows)


def test_the_initial_four_go_player_banker_player_banker() -> None:
    player: list[Card] = []
    banker: list[Card] = []
    came = []
    for card in cards("9H 2D 8S KC"):
        hand, rules = hand_due(player, banker)
        assert hand is not None
        assert (rules[-1].hand, rules[-1].draws, rules[-1].rule) == (hand, True, "initial")
        came.append(hand.value)
        (player if hand is Hand.PLAYER else banker).append(card)
    assert came == ["player", "banker", "player", "banker"]


# cards in dealing order -> the rules after the initial four, `+` draws and `-` stands
RULES = """
9H 2D KS KC          -> P-natural B-natural
2H 4D KS 4C          -> P-natural B-natural
9H 8D KS KC          -> P-natural B-natural
2H 2D 3S KC 9H 5D    -> P+player_0_5_draws B+banker_0_2_draws
2H 3D KS KC 8H       -> P+player_0_5_draws B-banker_3_stands_on_8
2H 3D KS KC 9H 2S    -> P+player_0_5_draws B+banker_3_draws_unless_8
2H 4D KS KC AH       -> P+player_0_5_draws B-banker_4_stands_on_0_1_8_9
2H 4D KS KC 2H 2S    -> P+player_0_5_draws B+banker_4_draws_on_2_7
2H 5D KS KC 3H       -> P+player_0_5_draws B-banker_5_stands_on_0_3_8_9
2H 5D KS KC 4H 2S    -> P+player_0_5_draws B+banker_5_draws_on_4_7
2H 6D KS KC TH       -> P+player_0_5_draws B-banker_6_stands_on_0_5_8_9
2H 6D KS KC 6H 2S    -> P+player_0_5_draws B+banker_6_draws_on_6_7
2H 7D KS KC 6H       -> P+player_0_5_draws B-banker_7_stands
6H 5D KS KC 3H       -> P-player_6_7_stands B+banker_player_stood_0_5_draws
7H 6D KS KC          -> P-player_6_7_stands B-banker_player_stood_6_7_stands
"""


@pytest.mark.parametrize("line", RULES.strip().splitlines())
def test_each_decision_names_its_row(line: str) -> None:
    dealt, _, expected = line.partition("->")
    judged = outcome(dealt)
    hand, rules = hand_due(judged.player, judged.banker)
    assert hand is None
    assert [rule.rule for rule in rules[:4]] == ["initial"] * 4
    said = [f"{r.hand.name[0]}{'+' if r.draws else '-'}{r.rule}" for r in rules[4:]]
    assert said == expected.split()


def test_every_row_of_the_table_has_its_line_above() -> None:
    named = {
        word[2:] for line in RULES.strip().splitlines() for word in line.split("->")[1].split()
    }
    assert named == {row.rule.rule for row in DRAW_TABLE}


# cards -> code of what is wrong, or totals and winner
DEALS = """
                     -> incomplete_coup
AD 2C                -> incomplete_coup
AS 3H AH KH 6D       -> incomplete_coup
QH AD JD AH AS       -> incomplete_coup
9H 2D KS KC 5S       -> excess_card
2D JS 4D 5H 2D 2C    -> excess_card
2H 2D 3S KC 9H 5D 9S -> excess_card
9H 2D 8S KC 5H       -> 7 7 tie
9H 2D KS KC          -> 9 2 player natural
2H 4D KS 4C          -> 2 8 banker natural
9H 9D KS KC          -> 9 9 tie natural
8H 9D KS KC          -> 8 9 banker natural
2H 2D 3S KC 3H 6D    -> 8 8 tie
"""


@pytest.mark.parametrize("line", DEALS.strip("\n").splitlines())
def test_a_row_of_cards_is_a_coup_or_says_what_is_wrong(line: str) -> None:
    dealt, _, expected = line.partition("->")
    judged = deal_cards(cards(dealt))
    if isinstance(judged, Outcome):
        words = [str(judged.player_total), str(judged.banker_total), judged.winner.value]
        assert judged.complete
        assert words + ["natural"] * judged.natural == expected.split()
    else:
        assert judged == expected.strip()


@pytest.mark.parametrize(
    ("player", "banker", "complete"),
    [
        ("2H KS", "2D KC", False),  # Player's third is due
        ("2H KS 9H", "2D KC", False),  # Banker's third is due
        ("2H KS 9H", "2D KC 5S", True),
        ("7H KS", "6D KC", True),
        ("7H KS 2H", "6D KC", False),  # Player's third was not due
        ("7H KS", "6D KC 2S", False),  # nor Banker's
    ],
)
def test_an_outcome_knows_whether_its_deal_is_complete(
    player: str, banker: str, complete: bool
) -> None:
    assert judge_hands(cards(player), cards(banker)).complete is complete


def test_less_than_four_cards_cannot_be_judged() -> None:
    with pytest.raises(OurBug, match="at least two"):
        judge_hands(cards("2H KS"), cards("2D"))


@given(st.lists(st.sampled_from(SHOE_OF_8), min_size=6, max_size=9))
def test_of_any_row_of_cards_one_beginning_alone_is_a_coup(row: list[Card]) -> None:
    coup = trimmed(row)
    assert 4 <= len(coup) <= 6
    for length in range(len(row) + 1):
        judged = deal_cards(row[:length])
        if length < len(coup):
            assert judged == "incomplete_coup"
        elif length > len(coup):
            assert judged == "excess_card"
        else:
            assert isinstance(judged, Outcome)
            assert sorted(map(str, (*judged.player, *judged.banker))) == sorted(map(str, coup))


@pytest.fixture(scope="module")
def all_deals() -> dict[tuple[int, int, int, int], tuple[int, Outcome]]:
    """All deals, those together that no wager on points alone can tell apart."""
    found: dict[tuple[int, int, int, int], tuple[int, Outcome]] = {}
    for weight, judged in all_deals_by_points():
        key = (len(judged.player), judged.player_total, len(judged.banker), judged.banker_total)
        before = found.get(key, (0, judged))[0]
        found[key] = (before + weight, judged)
    return found


AllDeals = dict[tuple[int, int, int, int], tuple[int, Outcome]]


@pytest.mark.sweep
def test_all_ordered_six_card_deals_of_eight_decks_come_out_exactly(all_deals: AllDeals) -> None:
    counted: Counter[Winner] = Counter()
    for weight, judged in all_deals.values():
        counted[judged.winner] += weight
    assert counted == {
        Winner.PLAYER: 2_230_518_282_592_256,
        Winner.BANKER: 2_292_252_566_437_888,
        Winner.TIE: 475_627_426_473_216,
    }
    assert counted.total() == 416 * 415 * 414 * 413 * 412 * 411


# the outside calculation's name -> rulebook and bet
PUBLISHED = """
player            -> au-commission player
banker_5pct       -> au-commission banker
tie_8             -> au-commission tie
banker_even_money -> au-even-money banker
super_six_15      -> au-commission super_six
tiger_12_22       -> au-even-money tiger
big_tiger_55      -> au-commission big_tiger
"""


@pytest.mark.parametrize("line", PUBLISHED.strip().splitlines())
def test_wagers_on_points_cost_what_was_computed_elsewhere(line: str, all_deals: AllDeals) -> None:
    name, _, ours = line.partition("->")
    rulebook, bet = ours.split()
    published = msgspec.json.decode(vector("odds-8-decks.json"))
    expected = published["bets"][name.strip()]
    assert _edge(load_rulebook(rulebook), bet, all_deals) == Fraction(expected["edge"])


def _edge(rulebook: Rulebook, bet: str, all_deals: AllDeals) -> Fraction:
    """The house's part of a stake of 40, on which no odds or commission here leave a rest."""
    lost = 0
    for weight, judged in all_deals.values():
        (line,) = settle(rulebook, judged, [wager(bet=bet, stake=40)])
        lost += weight * (line.stake - line.paid)
    return Fraction(lost, 40 * sum(weight for weight, _ in all_deals.values()))


def test_no_cell_of_the_table_is_idle() -> None:
    """What a row lists comes before it: nobody asks Banker's third card of a natural."""
    asked: dict[int, list[tuple[int, int, int | None]]] = {}
    for player, banker in product(range(10), repeat=2):
        over = player >= 8 or banker >= 8
        thirds: list[int | None] = [None] if over or player >= 6 else list(range(10))
        for index, row in enumerate(DRAW_TABLE):
            situations = [None] if row.rule.hand is Hand.PLAYER else thirds
            for third in situations:
                if player in row.player and banker in row.banker and third in row.third:
                    asked.setdefault(index, []).append((player, banker, third))
    for index, row in enumerate(DRAW_TABLE):
        players, bankers, drawn = map(set, zip(*asked[index], strict=True))
        assert (set(row.banker), set(row.third)) == (bankers, drawn), row.rule
        assert set(row.player) == players or row.rule.hand is Hand.BANKER, row.rule
