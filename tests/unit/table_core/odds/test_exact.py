"""Exact odds: against outside figures, against all deals played one by one, and class by class."""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from math import perm

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.cards import Card, Hand, Winner
from events.errors import InputError
from events.types import Wager
from table_core.odds.deals import DealClass, classes_by_pairs, classes_by_suits, merged_by_totals
from table_core.odds.exact import BetOdds, exact_odds
from table_core.rulebooks.shipped import load_rulebook, shipped_ids
from table_core.rules.draw import Outcome, deal_cards, hand_due, judge_hands
from table_core.rules.rulebook_file import full_shoe, read_composition
from table_core.rules.settlement import settle
from table_core.rules.wagers import BET_KINDS, JudgeScope
from tests.support.cage.books import book
from tests.support.machine.files import vector
from tests.support.table.deals import cards, trimmed
from tests.support.table.every_wager import every_wager

SECONDS = 5  # the promise for each rulebook, of processor time
BOOKS = shipped_ids()


@cache
def odds_of(name: str, decks: int = 8) -> tuple[dict[str, BetOdds], float]:
    """The odds of a shipped rulebook, and the processor seconds that they took."""
    began = time.process_time()
    found = exact_odds(load_rulebook(name), full_shoe(decks))
    return found, time.process_time() - began


# ---- figures from outside ----

OUTSIDE = """
player                            -> au-commission player
banker_5pct                       -> au-commission banker
tie_8                             -> ez tie
banker_even_money                 -> au-even-money banker
perfect_pairs_scale1              -> nz-scale-one perfect_pairs
player_pair_11                    -> au-commission player_pair
banker_pair_11                    -> au-even-money banker_pair
super_six_15                      -> au-commission super_six
tiger_12_22                       -> au-commission tiger
big_tiger_55                      -> au-even-money big_tiger
lucky8_player__A_each_hand_suited -> mini-lucky8 lucky8_player
"""
# Their names of categories -> ours.
NAMES = {
    "push_tie": "push",
    "win_not_6": "win",
    "banker_win_6": "banker_six",
    "two_card_6": "two_card",
    "three_card_6": "three_card",
}
PUBLISHED = msgspec.json.decode(vector("odds-8-decks.json"))["bets"]


@pytest.mark.parametrize("line", OUTSIDE.strip().splitlines())
def test_a_wager_has_the_odds_computed_elsewhere(line: str) -> None:
    name, _, ours = line.partition("->")
    book, bet = ours.split()
    found, expected = odds_of(book)[0][bet], PUBLISHED[name.strip()]
    assert found.edge == Fraction(expected["edge"])
    rows = {category: (row.pays, row.probability) for category, row in found.categories.items()}
    assert rows == {
        NAMES.get(category, category): (Fraction(row["pays"]), Fraction(row["probability"]))
        for category, row in expected["categories"].items()
    }
    assert [row.probability * perm(416, 6) for row in found.categories.values()] == [
        expected["categories"][theirs]["combinations"]
        for category in found.categories
        for theirs in expected["categories"]
        if NAMES.get(theirs, theirs) == category
    ]


def test_every_outside_figure_is_used() -> None:
    assert {line.split()[0] for line in OUTSIDE.strip().splitlines()} == set(PUBLISHED)


@pytest.mark.parametrize(
    ("book", "bet", "percent"),
    [
        ("au-commission", "banker", "1.06"),
        ("au-commission", "player", "1.24"),
        ("au-even-money", "banker", "1.46"),
        ("au-even-money", "player", "1.24"),
    ],
)
def test_the_house_edge_is_what_seed_2_tells_its_patrons(book: str, bet: str, percent: str) -> None:
    edge = odds_of(book)[0][bet].edge
    assert abs(edge * 100 - Fraction(percent)) <= Fraction(1, 200)


def test_the_literal_double_suited_8_gives_the_patron_a_quarter() -> None:
    rulebook = book("mini-lucky8", "bets.lucky8_player.variant=no_suit")
    edge = exact_odds(rulebook, full_shoe(8))["lucky8_player"].edge
    assert round(edge * 100) == -26


# Other houses publish these for eight decks, in per cent: EZ Banker, Dragon 7, Panda 8; Dragon
# Bonus on either side.
@pytest.mark.parametrize(
    ("book", "bet", "percent"),
    [
        ("ez", "banker", "1.018"),
        ("ez", "dragon7", "7.611"),
        ("ez", "panda8", "10.188"),
        ("extras", "dragon_bonus_player", "2.652"),
        ("extras", "dragon_bonus_banker", "9.373"),
    ],
)
def test_wagers_of_other_houses_cost_what_they_are_known_to(
    book: str, bet: str, percent: str
) -> None:
    edge = odds_of(book)[0][bet].edge
    assert abs(edge * 100 - Fraction(percent)) <= Fraction(1, 2000)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("book", "decks"), [*((book, 8) for book in BOOKS), ("mini-lucky8", 4), ("mini-lucky8", 6)]
)
def test_each_rulebook_takes_less_than_five_seconds(book: str, decks: int) -> None:
    found, seconds = odds_of(book, decks)
    assert seconds < SECONDS
    assert set(found) == set(load_rulebook(book).bets)
    for row in found.values():
        assert sum(category.probability for category in row.categories.values()) == 1
        assert list(row.categories)[-1] == "lose"


# ---- every deal of a small shoe, one by one ----


EVERY_WAGER = [every_wager(variant) for variant in range(3)]
STAKE = 4 * 20 * 100 * 5  # odds, commission, its blocks and the unit all come out even


def _played(shoe: Mapping[Card, int]) -> Iterator[tuple[Outcome, int]]:
    """Every deal of the shoe, face by face, with the number of ordered six-card deals."""
    left = Counter(shoe)

    def play(player: list[Card], banker: list[Card], weight: int) -> Iterator[tuple[Outcome, int]]:
        hand, _ = hand_due(player, banker)
        if hand is None:
            undrawn = 6 - len(player) - len(banker)
            yield judge_hands(player, banker), weight * perm(left.total(), undrawn)
            return
        drawn = player if hand is Hand.PLAYER else banker
        for card in shoe:
            if copies := left[card]:
                left[card] -= 1
                drawn.append(card)
                yield from play(player, banker, weight * copies)
                drawn.pop()
                left[card] += 1

    yield from play([], [], 1)


def _check_by_playing(shoe: Mapping[Card, int]) -> None:
    dealt, all_deals = list(_played(shoe)), perm(sum(shoe.values()), 6)
    for rulebook in EVERY_WAGER:
        wagers = [Wager(id=bet, seat=1, bet=bet, stake=STAKE) for bet in rulebook.bets]
        lost: Counter[str] = Counter()
        came: dict[str, Counter[str]] = {bet: Counter() for bet in rulebook.bets}
        for outcome, weight in dealt:
            for line in settle(rulebook, outcome, wagers):
                lost[line.bet] += weight * (line.stake - line.paid)
                came[line.bet][line.category] += weight
        for bet, row in exact_odds(rulebook, shoe).items():
            assert row.edge == Fraction(lost[bet], STAKE * all_deals), (bet, shoe)
            found = {name: row.probability * all_deals for name, row in row.categories.items()}
            assert +Counter(found) == came[bet], (bet, shoe)


# Faces and their copies: pairs of all kinds, hands of one suit, eights, nines and sixes.
SMALL_SHOES = [
    {"2S": 8, "6S": 8, "TS": 8, "TC": 8},
    {"JS": 3, "QS": 5, "2S": 1, "6S": 2, "4H": 7},
    {"JH": 1, "JD": 2, "JC": 8, "9C": 4, "8D": 3},
    {"AC": 4, "3C": 6, "4C": 8, "4D": 2},
    {"KS": 1, "KH": 1, "2H": 1, "2D": 1, "6D": 1, "9D": 1},
    {"TD": 6},
]


@pytest.mark.sweep
@pytest.mark.parametrize("faces", SMALL_SHOES, ids=" ".join)
def test_a_small_shoe_has_the_odds_of_all_its_deals_played(faces: dict[str, int]) -> None:
    _check_by_playing({Card(face): copies for face, copies in faces.items()})


@pytest.mark.sweep
@settings(max_examples=10, deadline=None)
@given(st.dictionaries(st.sampled_from(Card), st.integers(0, 8), min_size=3, max_size=4))
def test_any_small_shoe_has_the_odds_of_all_its_deals_played(shoe: dict[Card, int]) -> None:
    if sum(shoe.values()) < 6:
        with pytest.raises(InputError, match="a coup can need 6"):
            exact_odds(EVERY_WAGER[0], shoe)
    else:
        _check_by_playing(shoe)


# ---- what is left of a full shoe: probabilities of pairs, written out by hand ----


def test_an_uneven_shoe_has_the_pairs_that_its_ranks_and_faces_give() -> None:
    seed = 31
    rng = random.Random(seed)
    shoe = {card: rng.randint(0, 8) for card in Card}
    size = sum(shoe.values())
    ranks: Counter[str] = Counter()
    for card, copies in shoe.items():
        ranks[card.rank] += copies
    pair = Fraction(sum(n * (n - 1) for n in ranks.values()), perm(size, 2))
    perfect = Fraction(sum(n * (n - 1) for n in shoe.values()), perm(size, 2))
    twin = Fraction(sum(perm(n, 4) for n in ranks.values()), perm(size, 4))
    both = Fraction(
        sum(
            perm(n, 4) if one == two else perm(n, 2) * perm(m, 2)
            for one, n in ranks.items()
            for two, m in ranks.items()
        ),
        perm(size, 4),
    )
    found = exact_odds(EVERY_WAGER[0], shoe)

    def comes(bet: str, *names: str) -> Fraction:
        return sum((found[bet].categories[name].probability for name in names), Fraction(0))

    assert comes("player_pair", "pair") == comes("banker_pair", "pair") == pair, seed
    assert comes("perfect_pairs", "perfect") == perfect, seed
    assert comes("tiger_pair", "twin") == twin, seed
    assert comes("tiger_pair", "twin", "double") == both, seed
    assert comes("either_pair", "pair") == 2 * pair - both, seed


# ---- a class's deals are alike to every judge ----

Signature = tuple[object, ...]


def _totals(outcome: Outcome) -> Signature:
    return len(outcome.player), outcome.player_total, len(outcome.banker), outcome.banker_total


def _pairs(outcome: Outcome) -> Signature:
    """Totals, and the pair in each hand in full: no more than these may matter."""
    first = [hand[:2] for hand in (outcome.player, outcome.banker)]
    kinds = tuple(
        "none"
        if one.rank != two.rank
        else "perfect"
        if one.suit == two.suit
        else "coloured"
        if {one.suit, two.suit} in ({"H", "D"}, {"S", "C"})
        else "mixed"
        for one, two in first
    )  # fmt: skip - a row a case
    return (*_totals(outcome), kinds, len({card.rank for hand in first for card in hand}) == 1)


def _suits(outcome: Outcome) -> Signature:
    """Totals, and which hands of three cards are of one suit."""
    hands = [{c.suit for c in hand} for hand in (outcome.player, outcome.banker) if len(hand) == 3]
    flush = [
        len(hand) == 3 and len({c.suit for c in hand}) == 1
        for hand in (outcome.player, outcome.banker)
    ]  # fmt: skip - read as a table
    same = all(flush) and hands[0] == hands[1]
    return (*_totals(outcome), *flush, same)


SIGNS: dict[JudgeScope, Callable[[Outcome], Signature]]
SIGNS = {"totals": _totals, "pairs": _pairs, "suits": _suits}


@cache
def _full(looks: JudgeScope) -> dict[Signature, DealClass]:
    """Every class of a full shoe, by what may matter: no two classes are alike in it."""
    fine = (classes_by_suits if looks == "suits" else classes_by_pairs)(full_shoe(8))
    classes = merged_by_totals(fine) if looks == "totals" else list(fine)
    found = {SIGNS[looks](one.outcome): one for one in classes}
    assert len(found) == len(classes)
    return found


# Few faces make rare classes common: hands of one suit, two pairs of one rank.
POOLS = [
    list(Card),
    [card for card in Card if card.suit == "H"],
    [card for card in Card if card.suit in "SC" and card.points in (0, 2, 4, 6)],
    [card for card in Card if card.rank in "TJ"],
    [card for card in Card if card.rank in "4K9"],
    list(cards("JS QS 2S 6S 8S JC TC 8C KH")),
]


@pytest.mark.sweep
@pytest.mark.parametrize("pool", POOLS, ids=lambda pool: f"{len(pool)} faces")
def test_no_judge_tells_a_deal_from_the_one_that_stands_for_its_class(pool: list[Card]) -> None:
    seed = 1106
    rng = random.Random(seed)
    for _ in range(1000):
        dealt = deal_cards(trimmed(rng.choices(pool, k=6)))
        assert isinstance(dealt, Outcome)
        for bet, kind in BET_KINDS.items():
            standing = _full(kind.looks)[SIGNS[kind.looks](dealt)].outcome
            for variant, names in kind.judges.items():
                assert names(dealt) == names(standing), (seed, bet, variant, dealt)
            # A push on a tie depends on the winner.
            assert dealt.winner is standing.winner


def test_all_ways_of_counting_agree_and_count_every_deal_once() -> None:
    by_totals: dict[JudgeScope, Counter[Signature]] = {looks: Counter() for looks in SIGNS}
    for looks, counted in by_totals.items():
        for one in _full(looks).values():
            assert one.outcome.complete
            assert one.deals > 0
            counted[_totals(one.outcome)] += one.deals
    assert by_totals["totals"] == by_totals["pairs"] == by_totals["suits"]
    assert by_totals["pairs"].total() == perm(416, 6)


def test_the_winners_of_all_deals_are_those_proved_elsewhere() -> None:
    winners: Counter[Winner] = Counter()
    for one in _full("pairs").values():
        winners[one.outcome.winner] += one.deals
    assert winners == {
        Winner.PLAYER: 2_230_518_282_592_256,
        Winner.BANKER: 2_292_252_566_437_888,
        Winner.TIE: 475_627_426_473_216,
    }


# ---- what is left in a shoe, as a file ----


def test_a_composition_names_the_cards_that_are_left() -> None:
    left = read_composition("left.json", b'{"9D": 8, "10H": 0, "ks": 3}', 8)
    assert left == {Card.D9: 8, Card.HT: 0, Card.SK: 3}


# file -> what the refusal must name
FAULTS = {
    b'{"9D": 9}': "9D: 9 is no count; of 8 decks 0 to 8",
    b'{"9D": -1}': "9D: -1 is no count",
    b'{"9D": 1.0}': "9D: 1.0 is no count",
    b'{"9D": true}': "9D: True is no count",
    b'{"9D": "8"}': "9D: '8' is no count",
    b'{"9D": null}': "9D: None is no count",
    b'{"9D": {"x": 1}}': "9D: ",
    b'{"9D": 1e400}': "9D: inf is no count",
    b'{"9D": 1, "9D": 1}': "9D is there twice",
    b'{"TH": 1, "10H": 1}': "TH is there twice",
    b'{"1D": 1}': "'1D' is not a card",
    b'{"9DDDDDDDDDDDDDDDDDDDDDDDDDDDDDD": 1}': "is not a card",
    b"[]": "write an object",
    b"8": "write an object",
    b"": "not a JSON document",
    b'{"9D": 1': "not a JSON document",
    b"\xff\xfe": "not a JSON document",
    b"[" * 100_000: "not a JSON document",
    b'{"9D": ' + b"9" * 5000 + b"}": "not a JSON document",
}


@pytest.mark.parametrize("source", FAULTS, ids=lambda source: repr(source[:20]))
def test_a_bad_composition_is_refused_by_name(source: bytes) -> None:
    with pytest.raises(InputError) as refused:
        read_composition("left.json", source, 8)
    text = str(refused.value)
    assert text.startswith("left.json: ")
    assert FAULTS[source] in text
    assert len(text) < 250
    assert "\n" not in text
