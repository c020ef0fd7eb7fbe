"""Commission in its four timings: who owes what and when, and books that always reconcile."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.cards import Hand
from events.commands.base import Command, Refusal
from events.commands.commission import CollectCommission, MarkUncollected, RecoverCommission
from events.commands.coup import OpenBetting, VoidCoup
from events.commands.shoe import EndShoe, LoadShoe
from events.types.commission import (
    CommissionAccrued,
    CommissionCollected,
    CommissionPrepaid,
    CommissionReturned,
    SeatAmount,
)
from events.types.shoe_reports import DeviceResult
from events.types.table import CoupSettled, Settlement, TableEvent
from table_core.decide.decision import DecisionContext
from table_core.rulebooks.shipped import shipped_source
from table_core.rules.rulebook_file import parse_rulebook
from tests.support.table.coups import World, drawn

# Banker wins with 7 against 2 on five cards; Player wins with a natural nine on four.
BANKER_WINS = ("2S", "3D", "KH", "4C"), "QD"
PLAYER_WINS = ("9S", "2D", "KH", "3C"), None


def context(timing: str) -> DecisionContext:
    source = shipped_source("au-commission").replace(b'"deduct"', f'"{timing}"'.encode())
    return DecisionContext(table="t1", rulebook=parse_rulebook("au-commission.toml", source))


def world(timing: str) -> World:
    made = World(context(timing))
    made.ready()
    return made


def play(table: World, *, banker: bool) -> list[TableEvent]:
    """A coup with 1,000 on Banker at seat 1 and 330 at seat 2, and 500 on Player at seat 3."""
    begun = len(table.log)
    table.open()
    table.bet((1, "banker", 1000), (2, "banker", 330), (3, "player", 500))
    table.close()
    cards, third = BANKER_WINS if banker else PLAYER_WINS
    table.deal(*cards)
    if third:
        table.say(drawn(Hand.PLAYER, 3, third))
    table.say(DeviceResult(winner="banker" if banker else "player"))
    return table.log[begun:]


def amounts(*pairs: tuple[int, int]) -> tuple[SeatAmount, ...]:
    return tuple(SeatAmount(seat=seat, amount=amount) for seat, amount in pairs)


# 5 % of 1,000 is 50; of 330 it is 16.5, and commission rounds down.
OWED = amounts((1, 50), (2, 16))


def only(events: list[TableEvent], *kinds: type[TableEvent]) -> list[TableEvent]:
    return [event for event in events if isinstance(event, kinds)]


MONEY = (CommissionPrepaid, CommissionAccrued, CommissionCollected, CommissionReturned)


def test_deducted_commission_is_owed_and_taken_in_one() -> None:
    table = world("deduct")
    accrued, collected = only(play(table, banker=True), *MONEY)
    assert isinstance(accrued, CommissionAccrued)
    assert (accrued.amounts, accrued.timing) == (OWED, "deduct")
    assert collected == CommissionCollected(coup=accrued.coup, method="deducted", amounts=OWED)
    assert table.state.commission.outstanding == ()


def test_prepaid_commission_is_laid_before_the_hand_and_taken_when_banker_wins() -> None:
    table = world("prepaid")
    laid, accrued, collected = only(play(table, banker=True), *MONEY)
    assert isinstance(laid, CommissionPrepaid)
    assert laid.amounts == OWED
    assert isinstance(accrued, CommissionAccrued)
    assert isinstance(collected, CommissionCollected)
    assert (collected.method, collected.amounts) == ("prepaid", OWED)
    assert table.state.commission.laid == ()


def test_prepaid_commission_goes_back_when_banker_does_not_win_and_on_a_void() -> None:
    table = world("prepaid")
    laid, back = only(play(table, banker=False), *MONEY)
    assert isinstance(laid, CommissionPrepaid)
    assert back == CommissionReturned(coup=laid.coup, amounts=OWED)
    table.open()
    table.bet((1, "banker", 1000))
    table.close()
    _, back = table.must(VoidCoup(transaction="v", reason="misdeal"))
    assert isinstance(back, CommissionReturned)
    assert back.amounts == amounts((1, 50))
    assert table.state.commission.laid == ()
    assert table.state.commission.accrued == 0


@pytest.mark.parametrize("timing", ["per_coup", "per_shoe"])
def test_marked_commission_stands_until_it_is_collected(timing: str) -> None:
    table = world(timing)
    (accrued,) = only(play(table, banker=True), *MONEY)
    assert isinstance(accrued, CommissionAccrued)
    assert table.state.commission.outstanding == OWED
    table.must(CollectCommission(transaction="c1", seat=1, amount=20))
    assert table.state.commission.outstanding == amounts((1, 30), (2, 16))
    table.must(CollectCommission(transaction="c2"))
    assert table.state.commission.outstanding == ()
    assert table.state.commission.collected == 66


def test_per_coup_commission_is_collected_before_the_next_coup() -> None:
    table = world("per_coup")
    play(table, banker=True)
    assert code(table, OpenBetting(transaction="o")) == "commission_outstanding"
    table.must(MarkUncollected(transaction="m", seat=2, reason="the patron has left"))
    table.must(CollectCommission(transaction="c"))
    table.open()


def test_per_shoe_commission_is_collected_before_the_next_shoe() -> None:
    table = world("per_shoe")
    play(table, banker=True)
    play(table, banker=True)
    table.must(EndShoe(transaction="e"))
    load = LoadShoe(transaction="l2", shoe="20261127-02")
    assert code(table, load) == "commission_outstanding"
    table.must(CollectCommission(transaction="c"))
    table.must(load)


def test_what_was_given_up_can_be_recovered_in_parts_and_never_twice() -> None:
    table = world("per_shoe")
    play(table, banker=True)
    table.must(MarkUncollected(transaction="m", seat=1, reason="left the floor"))
    assert code(table, CollectCommission(transaction="c", seat=1)) == "nothing_outstanding"
    table.must(RecoverCommission(transaction="r1", seat=1, amount=20))
    refused = RecoverCommission(transaction="r2", seat=1, amount=31)
    assert code(table, refused) == "invalid_amount"
    table.must(RecoverCommission(transaction="r3", seat=1, amount=30))
    again = RecoverCommission(transaction="r4", seat=1, amount=1)
    assert code(table, again) == "nothing_uncollected"
    assert table.state.commission.recovered == 50


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (CollectCommission(transaction="x"), "nothing_outstanding"),
        (CollectCommission(transaction="x", amount=5), "invalid_amount"),
        (CollectCommission(transaction="x", seat=1, amount=5), "nothing_outstanding"),
        (MarkUncollected(transaction="x", seat=1, reason=" "), "reason_required"),
        (MarkUncollected(transaction="x", seat=1, reason="left"), "nothing_outstanding"),
        (RecoverCommission(transaction="x", seat=1, amount=0), "nothing_uncollected"),
    ],
)
def test_refusals_have_their_codes(command: Command, expected: str) -> None:
    assert code(world("per_shoe"), command) == expected


@pytest.mark.parametrize("amount", [0, -1, 51])
def test_no_more_is_collected_than_is_owed(amount: int) -> None:
    table = world("per_coup")
    play(table, banker=True)
    refused = CollectCommission(transaction="x", seat=1, amount=amount)
    assert code(table, refused) == "invalid_amount"


def code(table: World, command: Command) -> str:
    refusal = table.ask(command)
    assert isinstance(refusal, Refusal)
    return refusal.code


# Both coups hold the king of hearts, and one the four of clubs, of which one was burned before: a
# shoe has eight of each.
MOST_COUPS = 7


def settled(table: World) -> list[Settlement]:
    return [event.settlement for event in table.log if isinstance(event, CoupSettled)]


STEPS = st.lists(
    st.sampled_from(["banker", "player", "collect", "collect_one", "mark", "recover"]), max_size=30
)


@given(st.sampled_from(["deduct", "prepaid", "per_coup", "per_shoe"]), STEPS)
def test_a_tables_commission_always_reconciles(timing: str, steps: list[str]) -> None:
    table = world(timing)
    for step in steps:
        command: Command | None = {
            "collect": CollectCommission(transaction="c"),
            "collect_one": CollectCommission(transaction="c", seat=1, amount=7),
            "mark": MarkUncollected(transaction="m", seat=1, reason="left"),
            "recover": RecoverCommission(transaction="r", seat=1, amount=5),
        }.get(step)
        if command is not None:
            table.ask(command)
        elif len(settled(table)) < MOST_COUPS and not (
            timing == "per_coup" and table.state.commission.outstanding
        ):
            play(table, banker=step == "banker")
        book = table.state.commission
        assert book.reconciles
        accrued = sum(settlement.commission for settlement in settled(table))
        assert book.accrued == accrued == table.state.totals.commission
        if timing in {"deduct", "prepaid"}:
            assert book.outstanding == ()
