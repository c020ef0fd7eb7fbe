"""Tables brought to a wanted phase by commands and shoe events alone, for the tests of the core."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from events.cards import Card, Hand, parse_card
from events.commands import (
    CloseBetting,
    Command,
    ConfirmResult,
    LoadShoe,
    OpenBetting,
    PlaceWager,
    Refusal,
    VoidCoup,
    WagerRequest,
)
from events.types import (
    AnyReport,
    BurnCard,
    CardDrawn,
    CardOutOfGame,
    CardRevealed,
    CoupSettled,
    DeviceResult,
    FirstCard,
    LinkOpen,
    LinkUp,
    ReportLost,
    ShoeEvent,
    TableEvent,
)
from table_core.decide.decision import DecisionContext
from table_core.decide.dispatch import adopt_rulebook, decide
from table_core.decide.shoe_reports import decide_on_report
from table_core.fold.dispatch import fold_all
from table_core.rulebooks.shipped import load_rulebook
from table_core.state.coup import Phase
from table_core.state.shoe import ShoeState
from table_core.state.table import TableState

USER = "dealer"
SHOE = "20261127-01"
COUP = f"{SHOE}/1"
CONTEXT = DecisionContext(table="t1", rulebook=load_rulebook("au-commission"))

# Player 9 against 5: a natural, complete on four cards. Dealing order P B P B.
NATURAL_NINE = ("9S", "2D", "KH", "3C")
ORDER = (
    (Hand.PLAYER, 1),
    (Hand.BANKER, 1),
    (Hand.PLAYER, 2),
    (Hand.BANKER, 2),
)


class World:
    """A table that is driven one step at a time; every event it made is kept."""

    def __init__(self, context: DecisionContext = CONTEXT) -> None:
        self.context = context
        self.state = TableState()
        self.log: list[TableEvent] = []
        self._seq = 0
        self._transaction = 0
        self.take(adopt_rulebook(self.state, context.rulebook))

    def take(self, events: Sequence[TableEvent]) -> list[TableEvent]:
        self.state = fold_all(self.state, events)
        self.log += events
        return list(events)

    def transaction(self) -> str:
        self._transaction += 1
        return f"t-{self._transaction}"

    def ask(self, command: Command) -> list[TableEvent] | Refusal:
        decision = decide(self.state, command, replace(self.context, user=USER))
        return decision if isinstance(decision, Refusal) else self.take(decision)

    def must(self, command: Command) -> list[TableEvent]:
        made = self.ask(command)
        assert not isinstance(made, Refusal), made
        return made

    def say(self, *reports: AnyReport) -> list[TableEvent]:
        made: list[TableEvent] = []
        for report in reports:
            made += self.take(decide_on_report(self.state, self.event(report), self.context))
        return made

    def event(self, report: AnyReport) -> ShoeEvent:
        self._seq += 1
        return shoe_event(self._seq, report)

    def ready(self) -> None:
        self.say(LinkOpen(transport="pty:test"), LinkUp())
        self.must(LoadShoe(transaction=self.transaction(), shoe=SHOE))
        self.say(FirstCard(face=Card.SA), BurnCard(face=Card.C4, left=0))

    def open(self) -> None:
        self.must(OpenBetting(transaction=self.transaction()))

    def bet(self, *wagers: tuple[int, str, int]) -> None:
        asked = tuple(WagerRequest(seat=seat, bet=bet, stake=stake) for seat, bet, stake in wagers)
        self.must(PlaceWager(transaction=self.transaction(), wagers=asked))

    def close(self) -> None:
        self.must(CloseBetting(transaction=self.transaction()))

    def deal(self, *cards: str) -> list[TableEvent]:
        """The first cards of a coup in dealing order, faces open."""
        places = ORDER[: len(cards)]
        return self.say(
            *(drawn(hand, n, card) for (hand, n), card in zip(places, cards, strict=True))
        )


def shoe_event(seq: int, report: AnyReport, journal: str = "j1") -> ShoeEvent:
    return ShoeEvent(
        journal=journal,
        seq=seq,
        profile="enq-bcc",
        profile_hash="0" * 64,
        offset=seq * 8,
        mono_us=seq * 1000,
        utc="2026-11-27T00:00:00.000000000Z",
        report=report,
    )


def drawn(hand: Hand, number: int, face: str | None = None) -> CardDrawn:
    return CardDrawn(hand=hand, number=number, face=parse_card(face) if face else None)


def revealed(hand: Hand, number: int, face: str) -> CardRevealed:
    return CardRevealed(hand=hand, number=number, face=parse_card(face))


def cards(text: str) -> tuple[Card, ...]:
    return tuple(parse_card(card) for card in text.split())


def world_in(
    phase: Phase,
    *,
    wagers: bool = True,
    context: DecisionContext = CONTEXT,
    make: Callable[[DecisionContext], World] = World,
) -> World:
    """A table whose coup stands in `phase`."""
    world = make(context)
    world.ready()
    for step in WAYS[phase]:
        if wagers or step is not _wagers:
            step(world)
    assert world.state.phase is phase
    return world


def _wagers(world: World) -> None:
    world.bet((1, "player", 1000), (2, "banker", 2000), (3, "tie", 500))


def _first_card(world: World) -> None:
    world.deal(*NATURAL_NINE[:1])


def _other_cards(world: World) -> None:
    rest = zip(ORDER[1:], NATURAL_NINE[1:], strict=True)
    world.say(*(drawn(hand, n, card) for (hand, n), card in rest))


def _says(report: AnyReport) -> Callable[[World], object]:
    return lambda world: world.say(report)


def _voids(world: World) -> None:
    world.must(VoidCoup(transaction=world.transaction(), reason="test"))


_BETTING = (World.open, _wagers)
_CLOSED = (*_BETTING, World.close)
_DEALING = (*_CLOSED, _first_card)
_COMPLETE = (*_DEALING, _other_cards)

# `CONFIRMED` is left in the transaction that enters it: no table can stand in it.
WAYS: dict[Phase, tuple[Callable[[World], object], ...]] = {
    Phase.NONE: (),
    Phase.BETTING: _BETTING,
    Phase.CLOSED: _CLOSED,
    Phase.DEALING: _DEALING,
    Phase.COMPLETE: _COMPLETE,
    Phase.DISPUTED: (*_COMPLETE, _says(DeviceResult(winner="banker"))),
    Phase.HELD: (*_COMPLETE, _says(CardOutOfGame(reason="drawn_outside_game"))),
    Phase.MISALIGNED: (*_DEALING, _says(ReportLost(expected="3", got="5"))),
    Phase.SETTLED: (*_COMPLETE, _says(DeviceResult(winner="player"))),
    Phase.VOIDED: (*_COMPLETE, _voids),
}


def confirm(world: World) -> ConfirmResult:
    return ConfirmResult(transaction=world.transaction(), reason="the supervisor looked")


def code(world: World, command: Command) -> str:
    """The code with which the table refuses."""
    refusal = world.ask(command)
    assert isinstance(refusal, Refusal)
    return refusal.code


def settled(world: World) -> CoupSettled:
    """The one settlement there is."""
    (found,) = (event for event in world.log if isinstance(event, CoupSettled))
    return found


def shoe_of(world: World) -> ShoeState:
    """The shoe on the table, as the table knows it."""
    assert world.state.shoe is not None
    return world.state.shoe
