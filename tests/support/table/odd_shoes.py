"""Shoes in which every coup goes in one of many ways, and what physically left each of them.

The oracle keeps for itself which cards left which shoe and which faces nobody has been told. Cards
go where an independent dealer puts them.
"""

import random
from collections import Counter
from typing import Any

from events.cards import Card
from events.commands import (
    Command,
    CorrectCard,
    EndShoe,
    EnterCard,
    FreeHand,
    Realign,
    ReplaceShoe,
    ResolveIrregularity,
    VoidCoup,
)
from events.types import (
    AnyReport,
    CardCarriedOver,
    CardDrawn,
    CardOutOfGame,
    CardRevealed,
    CardUnreadable,
    ReportLost,
    ShoeBooted,
)
from simulators.device.deck import Deck, shuffled
from simulators.device.printed_rules import PrintedPlace, next_place, outcome
from simulators.shoe.dealing import next_shoe_id
from table_core.decide.decision import DecisionContext
from table_core.state.coup import Phase
from table_core.state.shoe import ShoeState, times_seen
from tests.support.cage.books import book
from tests.support.shoe.whole_shoe import CardTable, device_result
from tests.support.table.coups import SHOE, shoe_of

WAYS = ("open", "squeeze", "squeeze", "unread", "misread", "lost", "booted", "void")
ENOUGH = 90  # coups; shoes that replace one another could go on for ever


class OddShoes:
    """A table whose shoes run out, or are replaced, while everything happens.

    Args:
        seed: of the cards and of the ways.
        decks: how many in each shoe.
        policy: the house's, for a card in excess.
    """

    def __init__(self, seed: int, decks: int, policy: str) -> None:
        rulebook = book("au-commission", f"decks={decks}", f"procedure.excess={policy}")
        self.table = CardTable(DecisionContext(table="t1", rulebook=rulebook))
        self.world, self.rng = self.table.world, random.Random(seed)
        self.seed, self.decks, self.policy = seed, decks, policy
        self.shoe = SHOE
        self.table.load(SHOE, shuffled(seed, decks), decks=decks)
        self.out: dict[str, Counter[Card]] = {SHOE: Counter()}
        self.untold: dict[str, Counter[Card]] = {SHOE: Counter()}
        burned = Counter(shuffled(seed, decks)) - Counter(self.table.deck.rest())
        self.out[SHOE] += burned
        self.coups: Counter[str] = Counter()
        self.voids: Counter[str] = Counter()
        self.carried: Counter[str] = Counter()
        self.aside: Card | None = None  # an overdrawn card that is the next coup's first
        self.ways: list[str] = []

    @property
    def over(self) -> bool:
        return self.table.over or len(self.ways) >= ENOUGH

    def end(self) -> None:
        """The shoe on the table ends, if it has not."""
        self.ask(EndShoe(transaction=self.world.transaction()))

    def play(self) -> None:
        """One coup in some way."""
        rng, shoe = self.rng, self.shoe
        way = rng.choice(WAYS)
        replaced = rng.choice(("continue", "void")) if self._calm and rng.random() < 0.05 else ""
        if replaced and way not in {"open", "squeeze", "unread", "misread"}:
            way = "squeeze"
        if replaced == "void":
            way = "squeeze"
        overdraws = self._calm and rng.random() < 0.3
        self.ways.append(" ".join((way, replaced, "overdrawn" * overdraws)))
        self._begin()
        self.coups[shoe] += 1
        dealt = self._deal(way, replaced)
        if dealt is not None and self.world.state.in_progress:
            odd = self._odd
            known = way != "lost" or odd < len(dealt) - 1  # a card behind it was told of
            excess = self._overdraw(way) if overdraws and known else None
            self.tell_the_rest(way, dealt, odd)
            if excess is not None:
                self._resolve(*excess)
        if dealt is not None:
            self.world.say(device_result(outcome([card for _, card in dealt])))
        assert not self.world.state.in_progress, self.ways
        self.voids[shoe] += self.world.state.phase is Phase.VOIDED

    @property
    def _calm(self) -> bool:
        """No card lies aside, and the cut card is far."""
        return self.aside is None and self.table.deck.left > 30

    def _begin(self) -> None:
        link = self.world.state.link
        assert link.carried == (self.aside is not None), self.ways
        if link.dummy or self.rng.random() < 0.15:
            self.ask(FreeHand(transaction=self.world.transaction()))
        else:
            self.table.begin()

    def _deal(self, way: str, replaced: str) -> list[tuple[PrintedPlace, Card]] | None:
        """The cards in dealing order; None where the coup was broken off."""
        self._odd = self.rng.randrange(4) if self.aside is None else self.rng.randrange(1, 4)
        switch = self.rng.randrange(1, 4)
        dealt: list[tuple[PrintedPlace, Card]] = []
        while (place := next_place([card for _, card in dealt])) is not None:
            if replaced and len(dealt) == switch:
                if replaced == "void":
                    self.untold[self.shoe].update(card for _, card in dealt)
                self._replace(replaced)
                if replaced == "void":
                    return None
            dealt.append((place, self._next(place, way, odd=len(dealt) == self._odd)))
            if self.table.over or (self.world.state.phase is Phase.VOIDED and way == "booted"):
                return None
        return dealt

    def _next(self, place: PrintedPlace, way: str, *, odd: bool) -> Card:
        hand, number = place.hand, place.number
        squeeze = way == "squeeze"
        if self.aside is not None:
            card, self.aside = self.aside, None
            self.untold[self.shoe] -= Counter([card])
            self.carried[self.shoe] += 1
            face = None if squeeze else card
            self.world.say(CardCarriedOver(hand=hand, number=number, face=face))
            return card
        card = self._draw()
        self.tell(place, card, way, odd=odd)
        return card

    def _draw(self) -> Card:
        card = self.table.draw()
        self.out[self.shoe][card] += 1
        return card

    def _replace(self, coup: str) -> None:
        self.shoe = next_shoe_id(self.shoe)
        self.out[self.shoe], self.untold[self.shoe] = Counter(), Counter()
        self.ask(
            ReplaceShoe(
                transaction=self.world.transaction(),
                shoe=self.shoe,
                decks=self.decks,
                coup=coup,  # type: ignore[arg-type]  # one of the two words
                reason="jammed",
            )
        )
        self.table.deck = Deck(shuffled(f"{self.seed}/{self.shoe}", self.decks))

    # ---- a card in excess ----

    def _overdraw(self, way: str) -> tuple[Card, str]:
        """It leaves the shoe behind the last card; what the shoe then does with it."""
        card = self._draw()
        may = ("carries", "burns", "burns late") if self.policy == "carry" else ("burns", "nothing")
        does = self.rng.choice(may)
        face = None if way == "squeeze" else self.rng.choice((None, card))
        self.world.say(CardOutOfGame(reason="drawn_outside_game", face=face))
        if does == "burns":
            self._take_out(card)
        elif face is None:
            self.untold[self.shoe][card] += 1
        return card, does

    def _take_out(self, card: Card) -> None:
        self.world.say(CardOutOfGame(reason="overdrawn", face=card))

    def _resolve(self, card: Card, does: str) -> None:
        assert self.world.state.phase is Phase.HELD, self.ways
        self.ask(
            ResolveIrregularity(
                transaction=self.world.transaction(),
                kind="excess_card",
                seen=self.rng.random() < 0.5,
                reason="looked",
            )
        )
        if does == "carries":
            self.aside = card
        if does == "burns late":
            self._take_out(card)
            self.untold[self.shoe] -= Counter([card])

    def view(self) -> ShoeState:
        """The shoe on the table as the table knows it."""
        return shoe_of(self.world)

    # ---- telling of the cards ----

    def tell(self, place: PrintedPlace, card: Card, way: str, *, odd: bool) -> None:
        """The card has left the shoe; it is the one of its coup with which something is `odd`."""
        hand, number = place.hand, place.number
        told: AnyReport = CardDrawn(hand=hand, number=number, face=card)
        if way == "squeeze":
            told = CardDrawn(hand=hand, number=number)
        elif odd and way == "unread":
            told = CardUnreadable(hand=hand, number=number)
        elif odd and way == "misread":
            told = CardDrawn(hand=hand, number=number, face=self._another(card))
        elif odd and way == "lost":
            told = ReportLost(expected="1", got="3")
        self.world.say(told)
        if odd and way == "misread":
            self.ask(CorrectCard(**self._at(place), face=card, reason="misread"))
        elif odd and way in {"void", "booted"}:
            if way == "booted":
                self.world.say(ShoeBooted())
            self.ask(VoidCoup(transaction=self.world.transaction(), reason=way))

    def tell_the_rest(self, way: str, dealt: list[tuple[PrintedPlace, Card]], odd: int) -> None:
        """All cards lie there: what was withheld, unread or lost is told of."""
        if way == "squeeze":
            for place, card in self.rng.sample(dealt, len(dealt)):
                told = CardRevealed(hand=place.hand, number=place.number, face=card)
                self.world.say(*[told] * self.rng.choice((1, 1, 2)))
        missing = {"unread": dealt[odd : odd + 1], "lost": dealt[odd:]}.get(way, [])
        for place, card in missing:
            self.ask(EnterCard(**self._at(place), face=card, reason="by eye"))
        if way == "lost":
            self.ask(Realign(transaction=self.world.transaction(), reason="looked"))

    def ask(self, command: Command) -> None:
        """A person asks, and is not refused."""
        self.world.must(command)

    def _another(self, card: Card) -> Card:
        """A face that the shoe may still hold."""
        shoe = shoe_of(self.world)
        return self.rng.choice(
            [face for face in Card if face is not card and times_seen(shoe, face) < shoe.decks]
        )

    def _at(self, place: PrintedPlace) -> dict[str, Any]:
        transaction = self.world.transaction()
        return {"transaction": transaction, "hand": place.hand, "number": place.number}
