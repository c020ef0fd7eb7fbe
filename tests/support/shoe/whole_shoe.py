"""A table whose shoe is a real row of cards: whole shoes from the burn to the audit, coup by coup.

The cards go where an independent dealer puts them (`simulators.device.printed_rules` knows the
printed rules and nothing of the product's draw table), and the device's result is what that dealer
calls.
"""

from collections.abc import Callable, Sequence

from events.cards import Card
from events.commands import (
    CloseBetting,
    LoadShoe,
    OpenBetting,
    PlaceWager,
    ReleaseShoe,
    WagerRequest,
)
from events.types import (
    BurnCard,
    CardDrawn,
    CardRevealed,
    CutCardReported,
    DeviceResult,
    FirstCard,
    LinkOpen,
    LinkUp,
    TableEvent,
)
from simulators.device.deck import Deck
from simulators.device.printed_rules import PrintedOutcome, PrintedPlace, next_place, outcome
from table_core.decide.decision import DecisionContext
from tests.support.table.coups import World


class CardTable:
    """A table of the core alone, and the deck that lies in its shoe.

    Args:
        context: table and rulebook.
        world: makes the table; the core alone where nobody says otherwise.
    """

    def __init__(
        self, context: DecisionContext, world: Callable[[DecisionContext], World] = World
    ) -> None:
        self.world = world(context)
        self.world.say(LinkOpen(transport="pty:cards"), LinkUp())
        self.deck = Deck(())
        self.called: PrintedOutcome | None = None  # what the dealer called last

    @property
    def over(self) -> bool:
        """The shoe has ended, or none was loaded."""
        shoe = self.world.state.shoe
        return shoe is None or shoe.ended

    def load(self, shoe: str, cards: tuple[Card, ...], *, decks: int = 8) -> None:
        """A shuffled shoe, its first card exposed and its burn done."""
        self.deck = Deck(cards)
        for held in self.world.state.held:
            release = ReleaseShoe(
                transaction=self.world.transaction(), shoe=held.shoe, reason="corrected by chance"
            )
            self.world.must(release)
        self.world.must(LoadShoe(transaction=self.world.transaction(), shoe=shoe, decks=decks))
        burn = self.deck.burn()
        self.world.say(FirstCard(face=burn.first))
        left = len(burn.burned)
        for number, card in enumerate(burn.burned, start=1):
            self.world.say(BurnCard(face=card, left=left - number))

    def begin(self, wagers: Sequence[WagerRequest] = ()) -> None:
        """Betting opens, these wagers stand, betting closes."""
        self.world.must(OpenBetting(transaction=self.world.transaction()))
        if wagers:
            asked = PlaceWager(transaction=self.world.transaction(), wagers=tuple(wagers))
            self.world.must(asked)
        self.world.must(CloseBetting(transaction=self.world.transaction()))

    def draw(self) -> Card:
        """The next card leaves the shoe, the cut card before it where that is due."""
        if self.deck.cut_card_is_next:
            self.world.say(CutCardReported())
        return self.deck.draw()

    def deal(self, *, squeeze: bool = False) -> PrintedOutcome:
        """Every card of a coup, faces open or disclosed at the end; not yet its result."""
        cards: list[Card] = []
        places: list[PrintedPlace] = []
        while (place := next_place(cards)) is not None:
            card = self.draw()
            cards.append(card)
            places.append(place)
            face = None if squeeze else card
            self.world.say(CardDrawn(hand=place.hand, number=place.number, face=face))
        if squeeze:
            for place, card in zip(places, cards, strict=True):
                self.world.say(CardRevealed(hand=place.hand, number=place.number, face=card))
        self.called = outcome(cards)
        return self.called

    def coup(
        self, wagers: Sequence[WagerRequest] = (), *, squeeze: bool = False
    ) -> list[TableEvent]:
        """A coup from the opening of betting to its settlement; the events of all of it."""
        begun = len(self.world.log)
        self.begin(wagers)
        self.world.say(device_result(self.deal(squeeze=squeeze)))
        return self.world.log[begun:]


def device_result(called: PrintedOutcome) -> DeviceResult:
    """What the device says of a coup."""
    return DeviceResult(
        winner=called.winner.value,
        player_pair=called.player_pair,
        banker_pair=called.banker_pair,
        banker_six=called.banker_six,
    )
