"""What corrections mean for the commission: every timing, and the identity that always holds."""

import pytest

from events.cards import Card
from events.commands.commission import CollectCommission, MarkUncollected, RecoverCommission
from events.commands.coup import OpenBetting
from events.commands.wagers import WagerRequest
from events.types.commission import CommissionCollected, CommissionReversed, CommissionUncollected
from table_core.decide.decision import DecisionContext
from table_core.rules.commission_owed import CommissionBook
from table_core.rules.rulebook import Rulebook
from tests.support.cage.books import book
from tests.support.table.auditor import Auditor
from tests.support.table.coups import World, cards, code
from tests.support.table.settled_coups import P, face, first_wager, other, played, wager

BETS = ((1, "banker", 1000), (2, "banker", 400))


def timed(timing: str) -> Rulebook:
    return book("au-commission", f"commission.timing={timing}")


def won_by_banker(timing: str, *library: Rulebook) -> World:
    """Banker has won: seat 1 owes 50, seat 2 owes 20."""
    context = DecisionContext(table="t1", rulebook=timed(timing), library=library)
    return played(context, player=cards("6S KH"), banker=cards("7D KC"), bets=BETS)


def amounts(world: World) -> tuple[int, int, int, int, int, int, int]:
    kept: CommissionBook = world.state.commission
    assert kept.reconciles
    auditor = Auditor(world.context.rulebook, *world.context.library)
    auditor.hear(world.log)
    auditor.check(world.state)
    return (
        kept.accrued,
        kept.reversed_,
        kept.collected,
        kept.recovered,
        kept.outstanding_total,
        kept.uncollected_total,
        sum(each.amount for each in kept.laid),
    )


@pytest.mark.parametrize("timing", ["deduct", "prepaid"])
def test_what_was_taken_at_once_is_given_back_and_taken_at_once(timing: str) -> None:
    world = won_by_banker(timing)
    assert amounts(world) == (70, 0, 70, 0, 0, 0, 0)
    world.must(face(P, 1, Card.S8))
    assert amounts(world) == (70, 70, 0, 0, 0, 0, 0)
    world.must(face(P, 1, Card.S6))
    assert amounts(world) == (140, 70, 70, 0, 0, 0, 0)


def test_a_coup_that_is_open_keeps_what_is_laid_beside_it() -> None:
    world = won_by_banker("prepaid")
    world.open()
    world.bet((1, "banker", 2000))
    world.close()
    assert amounts(world) == (70, 0, 70, 0, 0, 0, 100)
    world.must(face(P, 1, Card.S8))
    assert amounts(world) == (70, 70, 0, 0, 0, 0, 100)
    world.must(face(P, 1, Card.S6))
    assert amounts(world) == (140, 70, 70, 0, 0, 0, 100)


@pytest.mark.parametrize("timing", ["per_coup", "per_shoe"])
def test_what_is_still_owed_is_owed_no_longer(timing: str) -> None:
    world = won_by_banker(timing)
    assert amounts(world) == (70, 0, 0, 0, 70, 0, 0)
    world.must(face(P, 1, Card.S8))
    assert amounts(world) == (70, 70, 0, 0, 0, 0, 0)


def test_what_a_seat_had_paid_is_kept_for_what_it_owes_now() -> None:
    world = won_by_banker("per_shoe")
    world.must(CollectCommission(transaction="c"))
    made = world.must(wager(WagerRequest(seat=1, bet="banker", stake=3000), first_wager(world)))
    (kept,) = (event for event in made if isinstance(event, CommissionCollected))
    assert (kept.method, [(each.seat, each.amount) for each in kept.amounts]) == (
        "paid",
        [(1, 50), (2, 20)],
    )
    assert amounts(world) == (70 + 170, 70, 70, 0, 100, 0, 0)
    assert [(each.seat, each.amount) for each in world.state.commission.outstanding] == [(1, 100)]


def test_what_a_seat_had_paid_goes_back_when_it_owes_nothing() -> None:
    world = won_by_banker("per_shoe")
    world.must(CollectCommission(transaction="c"))
    world.must(face(P, 1, Card.S8))
    assert amounts(world) == (70, 70, 0, 0, 0, 0, 0)


def test_what_was_given_up_is_not_paid_back_and_stays_given_up() -> None:
    world = won_by_banker("per_shoe")
    world.must(MarkUncollected(transaction="m", seat=1, reason="left"))
    assert amounts(world) == (70, 0, 0, 0, 20, 50, 0)
    made = world.must(wager(None, world.state.past.back(1).wagers[1].id))  # seat 2 had none
    (given_up,) = (event for event in made if isinstance(event, CommissionUncollected))
    assert [(each.seat, each.amount) for each in given_up.amounts] == [(1, 50)]
    assert amounts(world) == (70 + 50, 70, 0, 0, 0, 50, 0)
    world.must(face(P, 1, Card.S8))
    assert amounts(world) == (120, 120, 0, 0, 0, 0, 0)


def test_what_was_recovered_goes_back_out_of_what_was_recovered() -> None:
    world = won_by_banker("per_shoe")
    world.must(MarkUncollected(transaction="m", seat=1, reason="left"))
    world.must(RecoverCommission(transaction="r", seat=1, amount=50))
    assert amounts(world) == (70, 0, 0, 50, 20, 0, 0)
    world.must(face(P, 1, Card.S8))
    assert amounts(world) == (70, 70, 0, 0, 0, 0, 0)


def test_a_correction_that_makes_a_seat_owe_is_collected_before_the_next_coup() -> None:
    world = won_by_banker("per_coup")
    world.must(CollectCommission(transaction="c"))
    world.must(wager(WagerRequest(seat=1, bet="banker", stake=3000), first_wager(world)))
    assert code(world, OpenBetting(transaction="o")) == "commission_outstanding"
    world.must(CollectCommission(transaction="c2"))
    world.open()


@pytest.mark.parametrize(
    ("was", "now", "after"),
    [
        ("deduct", "per_shoe", (140, 70, 0, 0, 70, 0, 0)),
        ("per_shoe", "deduct", (140, 70, 70, 0, 0, 0, 0)),
        ("prepaid", "per_shoe", (140, 70, 0, 0, 70, 0, 0)),
        ("deduct", "prepaid", (140, 70, 70, 0, 0, 0, 0)),
    ],
)
def test_another_rulebook_takes_it_in_its_own_way(
    was: str, now: str, after: tuple[int, int, int, int, int, int, int]
) -> None:
    world = won_by_banker(was, timed(now))
    made = world.must(other(timed(now)))
    (reversed_,) = (event for event in made if isinstance(event, CommissionReversed))
    assert reversed_.timing == was
    assert amounts(world) == after
