"""The coup in progress turns out to be played by another rulebook than was configured."""

import pytest
from msgspec.structs import replace

from events.cards import Card
from events.commands.base import Refusal
from events.commands.cards import ResolveIrregularity
from events.commands.corrections import CorrectRulebook
from events.commands.coup import CloseBetting, ConfirmResult, OpenBetting, VoidCoup
from events.commands.previews import Preview
from events.commands.shoe import LoadShoe
from events.commands.wagers import WagerRequest
from events.errors import ConfigError
from events.log.store import EventLog
from events.types.commission import (
    CommissionAccrued,
    CommissionPrepaid,
    CommissionReturned,
    SeatAmount,
)
from events.types.corrections import RulebookCorrected
from events.types.irregularities import IrregularityRecorded
from events.types.shoe_reports import CardRevealed, DeviceResult, LinkOpen, LinkUp
from events.types.table import CoupSettled, CoupVoided, SeatDifference
from table_core.decide.decision import DecisionContext
from table_core.rulebooks.shipped import load_rulebook
from table_core.rules.rulebook import Rulebook
from table_core.service.previews import answer_preview
from table_core.service.table_writer import Table
from table_core.state.coup import Phase
from tests.support.cage.books import book
from tests.support.clock import FakeClock
from tests.support.table.auditor import Auditor
from tests.support.table.coups import (
    CONTEXT,
    COUP,
    SHOE,
    World,
    code,
    confirm,
    drawn,
    shoe_event,
    stands,
    world_in,
)
from tests.support.table.settled_coups import B, P, other, settlements, wager
from tests.unit.table_core.test_commands_and_reports import ROLES_OF, TOPICS, log

__all__ = ["log"]

EVEN = load_rulebook("au-even-money")
PAIRS_FIRST = book("au-commission", "bets.player_pair.phase=1")
PREPAID = book("au-commission", "commission.timing=prepaid")
BETS = ((1, "player_pair", 100), (2, "banker", 1000))


def audited(world: World) -> None:
    auditor = Auditor(world.context.rulebook, *world.context.library)
    auditor.hear(world.log)
    auditor.check(world.state)


def laid(world: World) -> list[tuple[int, int]]:
    return [(each.seat, each.amount) for each in world.state.commission.laid]


def betting(rulebook: Rulebook, *library: Rulebook) -> World:
    """A table with wagers on a pair and on Banker, betting closed."""
    world = World(DecisionContext(table="t1", rulebook=rulebook, library=library))
    world.ready()
    world.open()
    world.bet(*BETS)
    world.close()
    return world


# ---- every state of the coup ----


@pytest.mark.parametrize(
    "phase", [Phase.CLOSED, Phase.DEALING, Phase.COMPLETE, Phase.DISPUTED, Phase.HELD]
)
def test_it_is_judged_by_the_right_one_from_then_on(phase: Phase) -> None:
    world = world_in(phase, context=replace(CONTEXT, library=(EVEN,)))
    made = world.must(other(EVEN))
    assert isinstance(made[0], RulebookCorrected)
    assert (made[0].was, made[0].rulebook) == ("au-commission", "au-even-money")
    assert stands(world) is phase
    assert code(world, other(EVEN)) == "changes_nothing"
    rest = {Phase.CLOSED: 0, Phase.DEALING: 1}.get(phase, 4)
    cards = (drawn(P, 1, "9S"), drawn(B, 1, "2D"), drawn(P, 2, "KH"), drawn(B, 2, "3C"))
    world.say(*cards[rest:])
    if phase is Phase.HELD:
        way = ResolveIrregularity(transaction="e", kind="excess_card", reason="r", seen=False)
        world.must(way)
    if phase is Phase.DISPUTED:
        world.must(confirm(world))
    else:
        world.say(DeviceResult(winner="player"))
    assert stands(world) is Phase.SETTLED
    (settlement,) = settlements(world)
    assert (settlement.rulebook, settlement.rulebook_hash) == (EVEN.id, EVEN.hash)
    assert world.state.rulebook == "au-commission"  # the table's is in force again
    audited(world)
    world.must(OpenBetting(transaction="next"))
    assert world.state.coup
    assert world.state.coup.rulebook == "au-commission"


@pytest.mark.parametrize(
    ("phase", "why"),
    [
        (Phase.NONE, "unknown_coup"),
        (Phase.BETTING, "betting_open"),
        (Phase.MISALIGNED, "coup_misaligned"),
        (Phase.VOIDED, "coup_void"),
    ],
)
def test_where_it_makes_no_sense_it_is_refused(phase: Phase, why: str) -> None:
    world = world_in(phase, context=replace(CONTEXT, library=(EVEN,)))
    assert code(world, other(EVEN)) == why


def test_no_reason_no_such_rulebook_anwrong_currency_and_the_same_are_refused() -> None:
    nz = load_rulebook("nz-scale-one")
    world = world_in(Phase.COMPLETE, context=replace(CONTEXT, library=(nz,)))
    assert code(world, replace(other(CONTEXT.rulebook), reason=" ")) == "reason_required"
    assert code(world, other(EVEN)) == "unknown_rulebook"
    assert code(world, other(nz)) == "wrong_currency"
    assert code(world, other(CONTEXT.rulebook)) == "changes_nothing"


def test_a_misaligned_coup_is_realigned_first() -> None:
    world = world_in(Phase.MISALIGNED, context=replace(CONTEXT, library=(EVEN,)))
    assert code(world, other(EVEN)) == "coup_misaligned"


# ---- what was paid, and what lies in advance ----


def test_a_first_phase_that_the_right_rulebook_has_is_paid_at_once() -> None:
    world = betting(CONTEXT.rulebook, PAIRS_FIRST)
    world.deal("9S", "2D", "9H", "5C")
    assert settlements(world) == []
    made = world.must(other(PAIRS_FIRST))
    (settled,) = [each.settlement for each in made if isinstance(each, CoupSettled)]
    assert (settled.phase, settled.revision, settled.paid) == (1, 1, 1200)
    audited(world)
    world.say(DeviceResult(winner="player", player_pair=True))
    assert [each.phase for each in settlements(world)] == [1, 2]
    audited(world)


def test_a_first_phase_that_it_has_not_is_taken_back_and_paid_with_the_rest() -> None:
    world = betting(PAIRS_FIRST, CONTEXT.rulebook)
    world.deal("9S", "2D", "9H", "5C")
    world.must(other(CONTEXT.rulebook))
    paid, back = settlements(world)
    assert (paid.phase, paid.revision, paid.paid) == (1, 1, 1200)
    assert (back.phase, back.revision, back.lines) == (1, 2, ())
    assert back.reverses == paid.settlement_id
    assert back.difference == (SeatDifference(seat=1, staked=-100, paid=-1200),)
    audited(world)
    world.must(ConfirmResult(transaction="c", reason="r"))
    assert stands(world) is Phase.SETTLED
    assert [line.bet for line in settlements(world)[-1].lines] == ["player_pair", "banker"]
    assert world.state.totals.paid == 1200
    audited(world)


def test_a_first_phase_that_both_have_is_paid_again_by_the_right_scale() -> None:
    one, two = load_rulebook("nz-scale-one"), load_rulebook("nz-scale-two")
    world = World(DecisionContext(table="t1", rulebook=one, library=(two,)))
    world.ready()
    world.open()
    world.bet((1, "player", 1000), (1, "perfect_pairs", 500))
    world.close()
    world.deal("9S", "7D", "9H", "KC")
    world.must(other(two))
    first, again = settlements(world)
    assert [first.paid, again.paid] == [500 * 6, 500 * 7]  # mixed: 5 to 1, and 6 to 1
    assert again.difference == (SeatDifference(seat=1, paid=500),)
    audited(world)


def test_what_is_laid_in_advance_comes_and_goes_with_the_rulebook() -> None:
    world = betting(PREPAID, CONTEXT.rulebook)
    assert laid(world) == [(2, 50)]
    made = world.must(other(CONTEXT.rulebook))
    assert isinstance(made[-1], CommissionReturned)
    assert laid(world) == []
    made = world.must(other(PREPAID))
    assert isinstance(made[-1], CommissionPrepaid)
    assert laid(world) == [(2, 50)]
    audited(world)
    world.must(other(CONTEXT.rulebook))
    world.deal("7S", "8D", "KH", "KC")
    made = world.say(DeviceResult(winner="banker"))
    accrued = next(each for each in made if isinstance(each, CommissionAccrued))
    assert (accrued.timing, accrued.amounts) == ("deduct", (SeatAmount(seat=2, amount=50),))
    audited(world)


def test_faces_that_are_withheld_pay_no_first_phase_yet() -> None:
    world = betting(CONTEXT.rulebook, PAIRS_FIRST)
    world.say(drawn(P, 1), drawn(B, 1), drawn(P, 2), drawn(B, 2))
    world.must(other(PAIRS_FIRST))
    assert settlements(world) == []
    told = [(P, 1, Card.S9), (P, 2, Card.H9), (B, 1, Card.D2), (B, 2, Card.C5)]
    world.say(*(CardRevealed(hand=hand, number=n, face=face) for hand, n, face in told))
    (settled,) = settlements(world)
    assert (settled.phase, settled.rulebook_hash) == (1, PAIRS_FIRST.hash)
    audited(world)


# ---- wagers that it does not take ----


def test_a_wager_that_it_does_not_have_is_void_and_a_limit_that_it_breaks_is_recorded() -> None:
    small = book("extras", "bets.banker.maximum=500")
    world = World(DecisionContext(table="t1", rulebook=CONTEXT.rulebook, library=(small,)))
    bet = next(name for name in CONTEXT.rulebook.bets if name not in small.bets)
    world.ready()
    world.open()
    world.bet((2, "banker", 1000), (1, bet, 100))
    world.close()
    made = world.must(other(small))
    (breach,) = [each for each in made if isinstance(each, IrregularityRecorded)]
    assert breach.kind == "limit_breach"
    assert "above its maximum of 500" in breach.reason
    assert f"{bet} is not offered under extras; it is void" in breach.reason
    world.deal("7S", "8D", "KH", "KC")
    world.say(DeviceResult(winner="banker"))
    lines = {line.bet: (line.result, line.paid) for line in settlements(world)[-1].lines}
    assert lines == {"banker": ("win", 1950), bet: ("void", 100)}
    audited(world)


def test_a_void_gives_back_what_the_right_rulebook_has_not_settled() -> None:
    world = betting(PAIRS_FIRST, CONTEXT.rulebook)
    world.deal("9S", "2D", "9H", "5C")
    world.must(other(CONTEXT.rulebook))
    made = world.must(VoidCoup(transaction="v", reason="misdeal"))
    (void,) = [each for each in made if isinstance(each, CoupVoided)]
    assert [each.stake for each in void.refunds] == [100, 1000]
    audited(world)


def test_a_wager_is_corrected_by_the_rulebook_of_the_coup() -> None:
    world = betting(CONTEXT.rulebook, PREPAID)
    world.must(other(PREPAID))
    world.must(wager(WagerRequest(seat=3, bet="banker", stake=2000)))
    assert laid(world) == [(2, 50), (3, 100)]
    audited(world)


# ---- the table on its log ----


def _table(log: EventLog, *library: Rulebook, rulebook: str = "au-commission") -> Table:
    return Table(log, TOPICS, load_rulebook(rulebook), FakeClock(), roles=ROLES_OF, library=library)


def _in_progress(table: Table) -> CorrectRulebook:
    """Betting is closed; the command that names the right rulebook."""
    table.hear(shoe_event(1, LinkOpen(transport="pty:x")))
    table.hear(shoe_event(2, LinkUp()))
    for command in (
        LoadShoe(transaction="l", shoe=SHOE),
        OpenBetting(transaction="o"),
        CloseBetting(transaction="c"),
    ):
        assert table.ask("dealer", command, caught_up=True).result == "accepted"
    return other(EVEN)


def test_it_is_previewed_and_outlives_a_restart(log: EventLog) -> None:
    table = _table(log, EVEN)
    command = _in_progress(table)
    body = {
        "transaction": "x",
        "coup": COUP,
        "rulebook": EVEN.id,
        "rulebook_hash": EVEN.hash,
        "reason": "the sign",
    }
    shown = answer_preview(
        table, "supervisor", Preview(transaction="p", command="correct_rulebook", body=body)
    ).shown
    assert [each["type"] for each in shown["events"]] == ["rulebook_corrected"]
    assert table.state.coup
    assert table.state.coup.rulebook == "au-commission"
    assert table.ask("supervisor", command, caught_up=True).result == "accepted"
    again = _table(log, EVEN)
    assert again.state == table.state
    with pytest.raises(ConfigError, match="corrected to rulebook au-even-money"):
        _table(log)
    with pytest.raises(ConfigError, match="in progress under rulebook au-commission"):
        _table(log, load_rulebook("au-commission"), rulebook="au-even-money")


def test_a_dealer_may_not(log: EventLog) -> None:
    table = _table(log, EVEN)
    answer = table.ask("dealer", _in_progress(table), caught_up=True)
    assert (answer.result, answer.code) == ("refused", "not_allowed")


def test_the_answer_names_what_is_wrong() -> None:
    world = world_in(Phase.BETTING, context=replace(CONTEXT, library=(EVEN,)))
    refusal = world.ask(other(EVEN))
    assert isinstance(refusal, Refusal)
    assert "close betting first" in refusal.text
