"""Every card of a shoe is accounted for exactly once, however often and by whom it is told of."""

import random
from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from events.cards import Card, Hand
from events.commands.base import Command, Refusal
from events.commands.cards import CorrectCard, EnterCard, MarkUnreadable, ResolveIrregularity
from events.commands.coup import VoidCoup
from events.commands.shoe import EndShoe, LoadShoe, ReplaceShoe
from events.types.shoe_life import ShoeAudited
from events.types.shoe_reports import (
    AnyReport,
    BurnCard,
    CardCarriedOver,
    CardDrawn,
    CardOutOfGame,
    CardUnreadable,
    CutCardReported,
    DeviceResult,
    FirstCard,
    ReportLost,
)
from simulators.device.deck import shuffled
from simulators.device.printed_rules import PrintedPlace, next_place, outcome
from table_core.decide.decision import DecisionContext
from table_core.rulebooks.shipped import load_rulebook
from table_core.state.coup import Phase
from table_core.state.shoe import ShoeState
from tests.support.shoe.whole_shoe import CardTable, device_result
from tests.support.table.coups import NATURAL_NINE, SHOE, World, drawn, revealed, shoe_of, world_in
from tests.support.table.odd_shoes import OddTelling

P, B = Hand.PLAYER, Hand.BANKER
BURNED = "AS4C"  # the shoe of `World.ready` begins with these


def faces(shoe: ShoeState) -> list[str]:
    return [shoe.order[at : at + 2] for at in range(0, len(shoe.order), 2)]


# ---- told of more than once, or by a person ----

ENTER_P2 = EnterCard(transaction="e", hand=P, number=2, face=Card.HK, reason="by eye")

# what happens behind 9S and 2D (Player's and Banker's first), and the faces of all cards then
TOLD: dict[str, tuple[list[AnyReport | Command], int, str]] = {
    "disclosed twice": (
        [drawn(P, 2), revealed(P, 2, "KH"), revealed(P, 2, "KH"), revealed(P, 2, "KH")],
        3,
        "KH",
    ),
    "disclosed otherwise": ([drawn(P, 2), revealed(P, 2, "KH"), revealed(P, 2, "4D")], 3, "KH"),
    "drawn with its face and disclosed": ([drawn(P, 2, "KH"), revealed(P, 2, "KH")], 3, "KH"),
    "disclosed and its draw lost": ([revealed(P, 2, "KH")], 3, "KH"),
    "unreadable": ([CardUnreadable(hand=P, number=2)], 3, ""),
    "unreadable and entered": ([CardUnreadable(hand=P, number=2), ENTER_P2], 3, "KH"),
    "unreadable without a place and entered": ([CardUnreadable(), ENTER_P2], 3, "KH"),
    "entered before it is disclosed": ([drawn(P, 2), ENTER_P2, revealed(P, 2, "KH")], 3, "KH"),
    "never told of and entered": (
        [ReportLost(expected="3", got="4"), drawn(B, 2, "3C"), ENTER_P2],
        4,
        "3CKH",
    ),
    "told of while misaligned and entered": (
        [ReportLost(expected="3", got="4"), drawn(P, 2, "KH"), ENTER_P2],
        3,
        "KH",
    ),
    "told of while misaligned without a place and entered": (
        [ReportLost(expected="3", got="4"), CardDrawn(face=Card.HK), ENTER_P2],
        3,
        "KH",
    ),
    "corrected": (
        [
            drawn(P, 2, "4D"),
            CorrectCard(transaction="c", hand=P, number=2, face=Card.HK, reason="misread"),
        ],
        3,
        "KH",
    ),
    "not trusted": (
        [drawn(P, 2, "4D"), MarkUnreadable(transaction="m", hand=P, number=2, reason="smudged")],
        3,
        "",
    ),
    "not trusted and entered": (
        [
            drawn(P, 2, "4D"),
            MarkUnreadable(transaction="m", hand=P, number=2, reason="smudged"),
            ENTER_P2,
        ],
        3,
        "KH",
    ),
    "without places": ([CardDrawn(face=Card.HK), CardDrawn(face=Card.C3)], 4, "KH3C"),
}


@pytest.mark.parametrize("name", TOLD)
def test_a_card_counts_once_whoever_tells_of_it(name: str) -> None:
    steps, cards, last = TOLD[name]
    world = world_in(Phase.CLOSED)
    world.deal("9S", "2D")
    for step in steps:
        if isinstance(step, Command):
            world.must(step)
        else:
            world.say(step)
    shoe = shoe_of(world)
    assert shoe.cards == 2 + cards
    assert Counter(faces(shoe)) == Counter(
        faces(ShoeState(id="", decks=8, order=f"{BURNED}9S2D{last}"))
    )


def test_a_lost_first_card_is_not_taken_for_the_first_card_of_the_round_before() -> None:
    world = world_in(Phase.SETTLED)
    before = shoe_of(world)
    world.open()
    world.close()
    world.say(ReportLost(expected="3", got="4"), drawn(B, 1, "3C"))
    world.must(EnterCard(transaction="e", hand=P, number=1, face=Card.HK, reason="by eye"))
    shoe = shoe_of(world)
    assert shoe.cards == before.cards + 2
    assert Counter(faces(shoe)) == Counter([*faces(before), "3C", "KH"])


def test_a_lost_first_card_without_open_betting_is_not_either() -> None:
    world = world_in(Phase.SETTLED)
    before = shoe_of(world)
    world.say(drawn(B, 1, "3C"))  # a coup begins without wagers, misaligned
    world.must(EnterCard(transaction="e", hand=P, number=1, face=Card.HK, reason="by eye"))
    shoe = shoe_of(world)
    assert shoe.cards == before.cards + 2
    assert Counter(faces(shoe)) == Counter([*faces(before), "3C", "KH"])


def test_an_overdrawn_card_that_came_to_a_place_counts_once_when_it_is_carried_over() -> None:
    world = world_in(Phase.COMPLETE)
    world.say(drawn(B, 3, "5D"))
    resolve = ResolveIrregularity(transaction="r", kind="excess_card", seen=False, reason="hidden")
    world.must(resolve)
    world.must(VoidCoup(transaction="v", reason="test"))
    world.open()
    world.close()
    world.say(CardCarriedOver(hand=P, number=1, face=Card.D5))
    shoe = shoe_of(world)
    assert (shoe.cards, faces(shoe).count("5D"), shoe.carried) == (7, 1, 1)


def test_each_of_two_overdrawn_cards_counts() -> None:
    world = world_in(Phase.NONE)
    for face in (Card.D5, Card.D6):
        world.open()
        world.close()
        world.deal(*NATURAL_NINE)
        world.say(CardOutOfGame(reason="drawn_outside_game"))
        world.say(CardOutOfGame(reason="overdrawn", face=face))
        world.must(VoidCoup(transaction=world.transaction(), reason="overdraw"))
    shoe = shoe_of(world)
    assert shoe.cards == 2 + 2 * 5
    assert {"5D", "6D"} <= set(faces(shoe))


def test_a_squeezed_card_that_is_carried_over_is_disclosed_once() -> None:
    world = world_in(Phase.COMPLETE)
    world.say(CardOutOfGame(reason="drawn_outside_game", face=Card.D5))
    world.must(VoidCoup(transaction="v", reason="test"))
    world.open()
    world.close()
    world.say(CardCarriedOver(hand=P, number=1), revealed(P, 1, "5D"))
    assert faces(shoe_of(world)).count("5D") == 1


def test_the_last_copy_that_was_told_of_may_be_entered_and_no_ninth() -> None:
    world = world_in(Phase.CLOSED)
    world.say(*(BurnCard(face=Card.HK, left=20 - n) for n in range(7)))
    world.say(drawn(P, 1, "9S"), ReportLost(expected="3", got="4"), drawn(P, 2, "KH"))
    world.must(EnterCard(transaction="b", hand=B, number=1, face=Card.D2, reason="by eye"))
    world.must(ENTER_P2)
    ninth = EnterCard(transaction="n", hand=B, number=2, face=Card.HK, reason="by eye")
    refusal = world.ask(ninth)
    assert isinstance(refusal, Refusal)
    assert refusal.code == "too_many_copies"


def test_a_card_of_the_shoe_before_is_not_counted_in_the_one_that_replaced_it() -> None:
    world = world_in(Phase.CLOSED)
    world.say(drawn(P, 1, "9S"), CardUnreadable(hand=B, number=1))
    replace = ReplaceShoe(transaction="r", shoe="20261127-02", coup="continue", reason="jammed")
    world.must(replace)
    world.must(EnterCard(transaction="e", hand=B, number=1, face=Card.D2, reason="by eye"))
    assert (shoe_of(world).cards, shoe_of(world).order) == (0, "")
    world.say(drawn(P, 2, "KH"), drawn(B, 2, "3C"))
    assert (shoe_of(world).cards, shoe_of(world).order) == (2, "KH3C")


# ---- a whole shoe ----


def audited(world: World) -> ShoeAudited:
    (found,) = (event for event in world.log if isinstance(event, ShoeAudited))
    return found


@pytest.mark.parametrize("decks", [4, 6, 8])
def test_a_whole_shoe_is_accounted_for_to_the_last_card(decks: int) -> None:
    table = CardTable(DecisionContext(table="t1", rulebook=load_rulebook("au-commission")))
    table.load(SHOE, shuffled("a whole shoe", decks), decks=decks)
    while not table.over:
        table.coup()
    audit = audited(table.world)
    assert audit.seen + sum(audit.left.values()) == 52 * decks
    assert audit.seen == audit.known == 52 * decks - table.deck.left
    assert audit.left == {card: table.deck.composition()[card] for card in Card}
    assert 52 * decks / 6 < audit.coups < 52 * decks / 4
    # The coup in which the cut card came was finished and one more played: 14 cards do that.
    assert 3 <= table.deck.left <= 10


class OddShoe(OddTelling):
    """A shoe in which every coup goes in one of many ways; at its end all its cards were told of.

    Args:
        seed: of the cards and of the ways.
        decks: how many.
    """

    def __init__(self, seed: int, decks: int) -> None:
        self.table = CardTable(DecisionContext(table="t1", rulebook=load_rulebook("au-commission")))
        super().__init__(self.table.world, random.Random(seed))
        self.cards = shuffled(seed, decks)
        self.table.load(SHOE, self.cards, decks=decks)
        self.aside: Card | None = None  # an overdrawn card that is the next coup's first
        self.ways: list[str] = []

    def play(self) -> None:
        way = self.rng.choice(("open", "squeeze", "unread", "misread", "lost", "booted", "void"))
        if self.aside is None and not self._is_last and self.rng.random() < 0.2:
            self.ways.append("overdrawn")
        self.ways.append(way)
        self.table.begin()
        odd = self.rng.randrange(4) if self.aside is None else self.rng.randrange(1, 4)
        dealt: list[tuple[PrintedPlace, Card]] = []
        while (place := next_place([card for _, card in dealt])) is not None:
            dealt.append((place, self._next(place, way, odd=len(dealt) == odd)))
            if self.table.over or (self.world.state.phase is Phase.VOIDED and way == "booted"):
                return
        self.tell_the_rest(way, dealt, odd)
        if self.ways[-2:-1] == ["overdrawn"] and self.world.state.phase is Phase.COMPLETE:
            self._overdraw()
        self.world.say(device_result(outcome([card for _, card in dealt])))
        assert not self.world.state.in_progress

    @property
    def _is_last(self) -> bool:
        return self.table.deck.left < 30  # far enough from the cut card to leave it out

    def _next(self, place: PrintedPlace, way: str, *, odd: bool) -> Card:
        hand, number = place.hand, place.number
        if self.aside is not None:
            card, self.aside = self.aside, None
            self.world.say(CardCarriedOver(hand=hand, number=number, face=card))
            return card
        card = self.table.draw()
        self.tell(place, card, way, odd=odd)
        return card

    def _overdraw(self) -> None:
        self.aside = self.table.draw()
        told = self.rng.choice((None, self.aside))
        self.world.say(CardOutOfGame(reason="drawn_outside_game", face=told))
        self.ask(
            ResolveIrregularity(
                transaction=self.world.transaction(), kind="excess_card", seen=False, reason="h"
            )
        )


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([4, 4, 8]))
@example(1, 8)
def test_whatever_happens_in_a_shoe_no_card_is_lost_or_counted_twice(seed: int, decks: int) -> None:
    odd = OddShoe(seed, decks)
    while not odd.table.over:
        odd.play()
        out = Counter(card.value for card in odd.cards[: len(odd.cards) - odd.table.deck.left])
        if odd.aside is not None and not faces_hold(odd, odd.aside):
            out[odd.aside.value] -= 1  # it lies there face down, and nobody has told its face
        shoe = shoe_of(odd.world)
        assert shoe.cards == len(odd.cards) - odd.table.deck.left, odd.ways
        assert Counter(faces(shoe)) == +out, odd.ways
    audit = audited(odd.world)
    assert audit.seen == audit.known == len(odd.cards) - odd.table.deck.left
    assert audit.left == {card: odd.table.deck.composition()[card] for card in Card}
    assert audit.coups == sum(way != "overdrawn" for way in odd.ways)
    assert audit.voids == sum(way in {"void", "booted"} for way in odd.ways)


def faces_hold(odd: OddShoe, card: Card) -> bool:
    extra = shoe_of(odd.world).extra
    return extra is not None and extra.face is card


def test_an_overdrawn_card_of_a_shoes_last_coup_is_not_awaited_from_the_next_shoe() -> None:
    world = world_in(Phase.COMPLETE)
    world.say(CutCardReported(), CardOutOfGame(reason="drawn_outside_game", face=Card.D5))
    resolve = ResolveIrregularity(transaction="r", kind="excess_card", seen=False, reason="hidden")
    world.must(resolve)
    world.say(DeviceResult(winner="player"))
    world.must(EndShoe(transaction="e"))
    world.must(LoadShoe(transaction="l", shoe="20261127-02"))
    world.say(FirstCard(face=Card.SA), BurnCard(face=Card.C4, left=0))
    world.open()
    world.close()
    world.deal(*NATURAL_NINE)
    world.say(DeviceResult(winner="player"))
    assert world.state.phase is Phase.SETTLED
