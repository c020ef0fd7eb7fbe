"""Where the house closes betting before the reveal, cards may lie face down while wagers come."""

import pytest

from events.cards import Hand
from events.commands.base import Refusal
from events.commands.coup import CloseBetting
from events.commands.wagers import PlaceWager, WagerRequest
from events.types.shoe_reports import DeviceResult, ReportLost
from events.types.table import BettingClosed, CardDealt, CoupMisaligned, CoupSettled
from table_core.decide.decision import DecisionContext
from table_core.rulebooks.shipped import shipped_source
from table_core.rules.rulebook_file import parse_rulebook
from table_core.state.coup import Phase
from tests.support.table.coups import NATURAL_NINE, ORDER, World, drawn, revealed

SOURCE = shipped_source("mini-lucky8") + b"\n[procedure]\nbetting_closes = 'before_reveal'\n"


def table() -> World:
    world = World(DecisionContext(table="t1", rulebook=parse_rulebook("mini-lucky8.toml", SOURCE)))
    world.ready()
    world.open()
    world.bet((1, "player", 1000))
    return world


def stands(world: World) -> Phase:
    return world.state.phase


def test_hidden_cards_leave_betting_open_and_the_first_face_closes_it() -> None:
    world = table()
    world.say(*(drawn(hand, n) for hand, n in ORDER))
    assert stands(world) is Phase.BETTING
    world.bet((2, "tie", 500))
    _, closed, *_ = world.say(revealed(Hand.PLAYER, 1, NATURAL_NINE[0]))
    assert isinstance(closed, BettingClosed)
    assert closed.by == "reveal"
    late = world.ask(
        PlaceWager(transaction="w", wagers=(WagerRequest(seat=3, bet="tie", stake=500),))
    )
    assert isinstance(late, Refusal)
    assert late.code == "betting_closed"
    rest = zip(ORDER[1:], NATURAL_NINE[1:], strict=True)
    world.say(*(revealed(hand, n, face) for (hand, n), face in rest))
    world.say(DeviceResult(winner="player"))
    settlement = next(e for e in world.log if isinstance(e, CoupSettled)).settlement
    assert [line.paid for line in settlement.lines] == [2000, 0]


def test_an_open_face_closes_betting_as_ever() -> None:
    world = table()
    _, closed, dealt = world.say(drawn(Hand.PLAYER, 1, "4D"))
    assert isinstance(closed, BettingClosed)
    assert closed.by == "first_card"
    assert isinstance(dealt, CardDealt)


def test_the_dealer_may_close_with_cards_on_the_table() -> None:
    world = table()
    world.say(drawn(Hand.PLAYER, 1), drawn(Hand.BANKER, 1))
    world.must(CloseBetting(transaction="c"))
    assert stands(world) is Phase.CLOSED
    world.say(drawn(Hand.PLAYER, 2), drawn(Hand.BANKER, 2))
    assert stands(world) is Phase.DEALING


@pytest.mark.parametrize("wrong", [drawn(Hand.BANKER, 2), ReportLost(expected="3", got="5")])
def test_a_break_while_cards_lie_face_down_closes_betting_and_misaligns(wrong: object) -> None:
    world = table()
    world.say(drawn(Hand.PLAYER, 1))
    _, closed, misaligned = world.say(wrong)  # type: ignore[arg-type]  # both are reports
    assert isinstance(closed, BettingClosed)
    assert isinstance(misaligned, CoupMisaligned)


def test_a_card_that_is_not_the_first_still_misaligns() -> None:
    world = table()
    *_, last = world.say(drawn(Hand.BANKER, 1))
    assert isinstance(last, CoupMisaligned)
    assert last.reason == "first_card_missing"
