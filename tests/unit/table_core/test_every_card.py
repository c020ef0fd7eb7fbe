"""Every card of a shoe is accounted for exactly once, however often and by whom it is told of."""

import random
from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from events.cards import Card, Hand
from events.commands import ResolveIrregularity
from events.types import (
    CardCarriedOver,
    CardOutOfGame,
    ShoeAudited,
)
from simulators.device.deck import shuffled
from simulators.device.printed_rules import PrintedPlace, next_place, outcome
from table_core.decide.decision import DecisionContext
from table_core.state.coup import Phase
from table_core.state.shoe import ShoeState
from tests.support.cage.books import book
from tests.support.shoe.whole_shoe import CardTable, device_result
from tests.support.table.coups import SHOE, World, shoe_of
from tests.support.table.histories import each_history
from tests.support.table.odd_shoes import OddTelling

P, B = Hand.PLAYER, Hand.BANKER


def faces(shoe: ShoeState) -> list[str]:
    return [shoe.order[at : at + 2] for at in range(0, len(shoe.order), 2)]


HISTORIES = """
a card counts once, whoever tells of it and however often
    * P2      "reveal P2 KH P2 KH P2 KH" deal      5 {king}    # disclosed more than once
    * P2      "reveal P2 KH P2 4D"       deal      5 {king}    # disclosed otherwise
    * "P2 KH" "reveal P2 KH"             deal      5 {king}    # drawn with its face, disclosed
    * deal    "reveal P2 KH"             deal      5 {king}    # its draw was lost
    * deal    "shoe card_unreadable P2"  deal      5 {none}
    * deal    "shoe card_unreadable P2"  "{enter}" 5 {king}
    * deal    "shoe card_unreadable"     "{enter}" 5 {king}
    * P2      "{enter}"       "reveal P2 KH"       5 {king}
    * "{lost}" "B2 3C"                   "{enter}" 6 {both}    # never told of
    * "{lost}" "P2 KH"                   "{enter}" 5 {king}    # told of while misaligned
    * "{lost}" "shoe card_drawn KH"      "{enter}" 5 {king}
    * "P2 4D" "correct_card P2 KH"       deal      5 {king}
    * "P2 4D" "mark_unreadable P2"       deal      5 {none}
    * "P2 4D" "mark_unreadable P2"       "{enter}" 5 {king}
    * deal "shoe card_drawn KH"  "shoe card_drawn 3C" 6 {both}
    in closed
    deal 9S 2D
    {0}
    {1}
    {2}                      -> shoe.cards={3} faces(01)={4}
a lost first card is not taken for the first card of the round before
    * open close
    * deal deal              # without betting, a coup begins without wagers, misaligned
    in settled
    {0}
    {1}
    {lost}
    B1 3C
    enter_card P1 KH         -> shoe.cards=8 faces(01)=2D,3C,3C,4C,9S,AS,KH,KH
an overdrawn card that came to a place counts once when it is carried over
    in complete
    B3 5D
    resolve_irregularity kind=excess_card seen=false
    void_coup
    open
    close
    shoe card_carried_over P1 5D -> shoe.cards=7 shoe.carried=1 copies(5D)=1
each of two overdrawn cards counts
    in none
    {overdrawn} 5D
    void_coup
    {overdrawn} 6D
    void_coup                -> shoe.cards=12 copies(5D)=1 copies(6D)=1
a squeezed card that is carried over is disclosed once
    in complete
    shoe card_out_of_game reason=drawn_outside_game 5D
    void_coup
    open
    close
    shoe card_carried_over P1
    reveal P1 5D             -> copies(5D)=1
the last copy that was told of may be entered and no ninth
    in closed
    7 x shoe burn_card KH left=20
    P1 9S
    {lost}
    P2 KH
    enter_card B1 2D
    {enter}
    enter_card B2 KH         -> refused too_many_copies
a card of the shoe before is not counted in the one that replaced it
    in closed
    P1 9S
    shoe card_unreadable B1
    replace_shoe shoe=02 coup=continue
    enter_card B1 2D         -> shoe.cards=0 shoe.order=
    P2 KH B2 3C              -> shoe.cards=2 shoe.order=KH3C
an overdrawn card of a shoe's last coup is not awaited from the next shoe
    in complete
    shoe cut_card
    shoe card_out_of_game reason=drawn_outside_game 5D
    resolve_irregularity kind=excess_card seen=false
    result player
    end_shoe
    load_shoe shoe=02
    shoe first_card AS
    shoe burn_card 4C left=0
    open
    close
    deal 9S 2D KH 3C
    result player            -> settled
"""
OUTSIDE = "shoe card_out_of_game reason=drawn_outside_game"
DEALT = "open\nclose\ndeal 9S 2D KH 3C"
STEPS = {
    "lost": "shoe report_lost expected=3 got=4",
    "enter": "enter_card P2 KH",
    "none": "2D,4C,9S,AS",
    "king": "2D,4C,9S,AS,KH",
    "both": "2D,3C,4C,9S,AS,KH",
    "overdrawn": f"{DEALT}\n{OUTSIDE}\nshoe card_out_of_game reason=overdrawn",
}


test_a_card_that_is_told_of_in_any_way_counts_once = each_history(HISTORIES, **STEPS)


# ---- a whole shoe ----


def audited(world: World) -> ShoeAudited:
    (found,) = (event for event in world.log if isinstance(event, ShoeAudited))
    return found


def context_of(decks: int) -> DecisionContext:
    return DecisionContext(table="t1", rulebook=book("au-commission", f"decks={decks}"))


@pytest.mark.parametrize("decks", [4, 6, 8])
def test_a_whole_shoe_is_accounted_for_to_the_last_card(decks: int) -> None:
    table = CardTable(context_of(decks))
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
        self.table = CardTable(context_of(decks))
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
