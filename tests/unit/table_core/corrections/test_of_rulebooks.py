"""The coup in progress turns out to be played by another rulebook than was configured."""

import pytest

from events.commands import CloseBetting, CorrectRulebook, LoadShoe, OpenBetting, Preview
from events.errors import ConfigError
from events.log.store import EventLog
from events.types import LinkOpen, LinkUp
from table_core.rulebooks.shipped import load_rulebook
from table_core.rules.rulebook import Rulebook
from table_core.service.table import Table
from tests.support.cage.books import book
from tests.support.clock import FakeClock
from tests.support.table.coups import (
    CONTEXT,
    COUP,
    SHOE,
    shoe_event,
)
from tests.support.table.histories import each_history
from tests.support.table.settled_coups import other
from tests.unit.table_core.test_commands_and_reports import ROLES_OF, TOPICS, log

__all__ = ["log"]

EVEN = load_rulebook("au-even-money")
HISTORIES = """
it is judged by the right one from then on
    * closed   "deal 9S 2D KH 3C"  "result player"
    * dealing  "B1 2D P2 KH B2 3C" "result player"
    * complete deal                "result player"
    * disputed deal                confirm_result
    * held     "resolve_irregularity kind=excess_card seen=false" "result player"
    library au-even-money
    in {0}
    {other}                  -> {0}; rulebook_corrected: was=au-commission rulebook=au-even-money
    {other}                  -> refused changes_nothing
    {1}
    {2}                      -> settled; count(coup_settled)=1
                             -> settlement(1).rulebook=au-even-money
                             -> settlement(1).rulebook_hash={even}
                             -> rulebook=au-commission    # the table's is in force again
    open                     -> coup.rulebook=au-commission
where it makes no sense it is refused
    * none       unknown_coup
    * betting    "betting_open 'text~close betting first'"
    * misaligned coup_misaligned
    * voided     coup_void
    library au-even-money
    in {0}
    {other}                  -> refused {1}
no reason, no such rulebook, another currency and the same are refused
    library nz-scale-one
    in complete
    correct_rulebook by=own reason=" "    -> refused reason_required
    correct_rulebook by=au-even-money     -> refused unknown_rulebook
    {other}                               -> refused wrong_currency
    correct_rulebook by=own               -> refused changes_nothing

a first phase that the right rulebook has is paid at once
    rules au-commission
    library {pairs_first}
    {wagers}
    deal 9S 2D 9H 5C         -> count(coup_settled)=0
    {other}                  -> coup_settled: settlement.phase=1 settlement.revision=1
                             -> coup_settled: settlement.paid=1200
    result player player_pair -> count(coup_settled)=2; settlement(2).phase=2
a first phase that it has not is taken back and paid with the rest
    rules {pairs_first}
    library au-commission
    {wagers}
    deal 9S 2D 9H 5C
    {other}                  -> settlement(1).phase=1 settlement(1).revision=1
                             -> settlement(1).paid=1200 settlement(2).phase=1
                             -> settlement(2).revision=2 settlement(2).lines=none
                             -> settlement(2).reverses=t1/20261127-01/1/1/1
                             -> settlement(2).difference.seat=1
                             -> settlement(2).difference.staked=-100
                             -> settlement(2).difference.paid=-1200
    confirm_result           -> settled; settlement(-1).lines.bet=player_pair,banker
                             -> totals.paid=1200
a first phase that both have is paid again by the right scale
    rules nz-scale-one
    library nz-scale-two
    in none property_scale=two
    open
    bet 1 player 1000, 1 perfect_pairs 500
    close
    deal 9S 7D 9H KC
    # Mixed: 5 to 1, and 6 to 1.
    {other}                  -> settlement(1).paid=3000 settlement(2).paid=3500
                             -> settlement(2).difference.seat=1
                             -> settlement(2).difference.paid=500
another pay scale than the property's is refused
    * complete  "nz-scale-two"                     wrong_pay_scale
    * settled   "nz-scale-two"                     wrong_pay_scale
    * complete  "nz-scale-one edge.floor=1/10"  rulebook_faulty
    * settled   "nz-scale-one edge.floor=1/10"  "rulebook_faulty text~bets.player.pays"
    * complete  "nz-scale-one decks=6"             wrong_decks
    * settled   "nz-scale-one decks=6"             wrong_decks
    * complete  "nz-scale-one currency=AUD"        wrong_currency
    * settled   "nz-scale-one decimals=3"          wrong_currency
    rules nz-scale-one
    library {1}
    in {0}
    {other}                  -> refused {2}
a coup of a scale that the property has given up is still corrected to a rulebook of that scale
    * ""                -
    * property_scale=two -
    rules nz-scale-one
    library nz-scale-one title=other
    in complete {0}
    {other}
what is laid in advance comes and goes with the rulebook
    rules {prepaid}
    library au-commission
    {wagers}                 -> commission.laid.seat=2 commission.laid.amount=50
    {other}                  -> last()=commission_returned commission.laid=none
    correct_rulebook by=own  -> last()=commission_prepaid commission.laid.seat=2
                             -> commission.laid.amount=50
    {other}
    deal 7S 8D KH KC
    result banker            -> commission_accrued: timing=deduct amounts.seat=2
                             -> commission_accrued: amounts.amount=50
faces that are withheld pay no first phase yet
    rules au-commission
    library {pairs_first}
    {wagers}
    squeeze
    {other}                  -> count(coup_settled)=0
    reveal P1 9S P2 9H B1 2D B2 5C -> count(coup_settled)=1; settlement(1).phase=1
                             -> settlement(1).rulebook_hash={pairs_hash}

a wager that it does not have is void and a limit that it breaks is recorded
    library extras bets.banker.maximum=500
    in none
    open
    bet 2 banker 1000, 1 {bet} 100
    close
    {other}                  -> irregularity_recorded: kind=limit_breach
                             -> irregularity_recorded: "reason~above its maximum of 500"
                             -> irregularity_recorded: "reason~{bet} is not offered under extras"
                             -> irregularity_recorded: "reason~; it is void"
    deal 7S 8D KH KC
    result banker            -> settlement(-1).lines.bet=banker,{bet}
                             -> settlement(-1).lines.result=win,void
                             -> settlement(-1).lines.paid=1950,100
a void gives back what the right rulebook has not settled
    rules {pairs_first}
    library au-commission
    {wagers}
    deal 9S 2D 9H 5C
    {other}
    void_coup                -> coup_voided: refunds.stake=100,1000
a wager is corrected by the rulebook of the coup
    rules au-commission
    library {prepaid}
    {wagers}
    {other}
    correct_wager to="3 banker 2000" -> commission.laid.seat=2,3 commission.laid.amount=50,100
"""
PAIRS_FIRST = ("au-commission", "bets.player_pair.phase=1")
EXTRAS = load_rulebook("extras")
STEPS = {
    "other": "correct_rulebook by=library",
    "wagers": "in none\nopen\nbet 1 player_pair 100, 2 banker 1000\nclose",
    "pairs_first": " ".join(PAIRS_FIRST),
    "prepaid": "au-commission commission.timing=prepaid",
    "even": EVEN.hash,
    "pairs_hash": book(*PAIRS_FIRST).hash,
    "bet": next(name for name in CONTEXT.rulebook.bets if name not in EXTRAS.bets),
}


test_a_coup_turns_out_to_be_played_by_another_rulebook = each_history(HISTORIES, **STEPS)


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
    shown = table.show(
        "supervisor", Preview(transaction="p", command="correct_rulebook", body=body)
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
