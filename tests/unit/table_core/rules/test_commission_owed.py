"""Commission in its four timings: who owes what and when, and books that always reconcile."""

from hypothesis import given
from hypothesis import strategies as st

from events.commands import CollectCommission, Command, MarkUncollected, RecoverCommission
from events.types import CoupSettled, Settlement
from table_core.decide.decision import DecisionContext
from tests.support.cage.books import book
from tests.support.table.coups import World, cards
from tests.support.table.histories import each_history
from tests.support.table.settled_coups import played

BETS = ((1, "banker", 1000), (2, "banker", 330), (3, "player", 500))
# Banker wins with 7 against 2 on five cards; Player wins with a natural nine on four. 5 % of 1,000
# is 50; of 330 it is 16.5, and commission rounds down.
HISTORIES = """
deducted commission is owed and taken in one
    {rules}deduct
    {bets}
    {banker}                 -> commission.outstanding=none count(commission_accrued)=1
                             -> commission_accrued: timing=deduct {owed}
                             -> commission_collected: method=deducted coup=20261127-01/1 {owed}
prepaid commission is laid before the hand and taken when Banker wins
    {rules}prepaid
    {bets}                   -> commission_prepaid: {owed}
    {banker}                 -> commission.laid=none; commission_accrued: timing=prepaid
                             -> commission_collected: method=prepaid {owed}
                             -> count(commission_prepaid)=1 count(commission_returned)=0
prepaid commission goes back when Banker does not win and on a void
    {rules}prepaid
    {bets}                   -> commission_prepaid: {owed}
    {player}                 -> commission_returned: coup=20261127-01/1 {owed}
                             -> count(commission_accrued)=0 count(commission_collected)=0
    open
    bet 1 banker 1000
    close
    void_coup                -> made coup_voided commission_returned; commission.laid=none
                             -> commission_returned: amounts.seat=1 amounts.amount=50
                             -> commission.accrued=0
marked commission stands until it is collected
    * per_coup
    * per_shoe
    {rules}{0}
    {bets}
    {banker}                 -> commission_accrued: timing={0} {owed}
                             -> count(commission_collected)=0
                             -> commission.outstanding.seat=1,2
                             -> commission.outstanding.amount=50,16
    collect_commission seat=1 amount=20 -> commission.outstanding.seat=1,2
                             -> commission.outstanding.amount=30,16
    collect_commission       -> commission.outstanding=none commission.collected=66
per coup commission is collected before the next coup
    {rules}per_coup
    {bets}
    {banker}
    open_betting             -> refused commission_outstanding
    mark_uncollected seat=2
    collect_commission
    open                     -> betting
per shoe commission is collected before the next shoe
    {rules}per_shoe
    {bets}
    {banker}
    open
    {wagers}
    close
    {banker}
    end_shoe
    load_shoe shoe=02        -> refused commission_outstanding
    collect_commission
    load_shoe shoe=02
what was given up can be recovered in parts and never twice
    {rules}per_shoe
    {bets}
    {banker}
    mark_uncollected seat=1
    collect_commission seat=1           -> refused nothing_outstanding
    recover_commission seat=1 amount=20
    recover_commission seat=1 amount=31 -> refused invalid_amount
    recover_commission seat=1 amount=30
    recover_commission seat=1 amount=1  -> refused nothing_uncollected
    mark_uncollected seat=2             -> commission.recovered=50
refusals have their codes
    * "collect_commission"                 nothing_outstanding
    * "collect_commission amount=5"        invalid_amount
    * "collect_commission seat=1 amount=5" nothing_outstanding
    * "mark_uncollected seat=1 reason=' '" reason_required
    * "mark_uncollected seat=1"            nothing_outstanding
    * "recover_commission seat=1 amount=0" nothing_uncollected
    {rules}per_shoe
    in none
    {0}                      -> refused {1}
no more is collected than is owed
    * 0
    * -1
    * 51
    {rules}per_coup
    {bets}
    {banker}
    collect_commission seat=1 amount={0} -> refused invalid_amount
"""
WAGERS = "bet 1 banker 1000, 2 banker 330, 3 player 500"
NAMED = {
    "rules": "rules au-commission commission.timing=",
    "wagers": WAGERS,
    "bets": f"in none\nopen\n{WAGERS}\nclose",
    "banker": "deal 2S 3D KH 4C QD\nresult banker",
    "player": "deal 9S 2D KH 3C\nresult player",
    "owed": "amounts.seat=1,2 amounts.amount=50,16",
}


test_commission_in_its_timings = each_history(HISTORIES, **NAMED)


# Both coups hold the king of hearts, and one the four of clubs, of which one was burned before: a
# shoe has eight of each.
MOST_COUPS = 7
BANKER_WINS, PLAYER_WINS = ("2S KH QD", "3D 4C"), ("9S KH", "2D 3C")


def settled(table: World) -> list[Settlement]:
    return [event.settlement for event in table.log if isinstance(event, CoupSettled)]


STEPS = st.lists(
    st.sampled_from(["banker", "player", "collect", "collect_one", "mark", "recover"]), max_size=30
)


@given(st.sampled_from(["deduct", "prepaid", "per_coup", "per_shoe"]), STEPS)
def test_a_tables_commission_always_reconciles(timing: str, steps: list[str]) -> None:
    rulebook = book("au-commission", f"commission.timing={timing}")
    table = World(DecisionContext(table="t1", rulebook=rulebook))
    table.ready()
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
            hands = BANKER_WINS if step == "banker" else PLAYER_WINS
            played(player=cards(hands[0]), banker=cards(hands[1]), bets=BETS, world=table)
        kept = table.state.commission
        assert kept.reconciles
        accrued = sum(settlement.commission for settlement in settled(table))
        assert kept.accrued == accrued == table.state.totals.commission
        if timing in {"deduct", "prepaid"}:
            assert kept.outstanding == ()
