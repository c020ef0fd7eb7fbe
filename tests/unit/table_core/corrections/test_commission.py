"""What corrections mean for the commission: every timing, and the identity that always holds."""

import pytest
from msgspec.structs import replace

from events.cards import Card
from events.commands import (
    CollectCommission,
    CorrectCard,
    MarkUncollected,
    RecoverCommission,
    Refusal,
    VoidCoup,
)
from events.errors import ConfigError
from events.types import CommissionCollected, CommissionRecovered
from table_core.decide.decision import DecisionContext
from table_core.decide.dispatch import adopt_rulebook
from table_core.process.startup_rulebook import startup_rulebook
from table_core.projections.table_document import project_table
from tests.support.cage.books import book
from tests.support.table.coups import COUP, World, cards
from tests.support.table.histories import each_history
from tests.support.table.settled_coups import P, played

# Banker has won: seat 1 owes 50, seat 2 owes 20. `book()` is what was accrued, reversed,
# collected, recovered, is outstanding, uncollected and laid in advance.
HISTORIES = """
what was taken at once is given back and taken at once
    * deduct
    * prepaid
    {rules}{0}
    {won}                    -> book()=70,0,70,0,0,0,0
    {player_wins}            -> book()=70,70,0,0,0,0,0
    {banker_wins}            -> book()=140,70,70,0,0,0,0
a coup that is open keeps what is laid beside it
    {rules}prepaid
    {won}
    open
    bet 1 banker 2000
    close                    -> book()=70,0,70,0,0,0,100
    {player_wins}            -> book()=70,70,0,0,0,0,100
    {banker_wins}            -> book()=140,70,70,0,0,0,100
what is still owed is owed no longer
    * per_coup
    * per_shoe
    {rules}{0}
    {won}                    -> book()=70,0,0,0,70,0,0
    {player_wins}            -> book()=70,70,0,0,0,0,0
what a seat had paid is kept for what it owes now
    {rules}per_shoe
    {won}
    collect_commission
    correct_wager wager=@1 to="1 banker 3000" -> book()=170,0,70,0,100,0,0
                             -> made wager_corrected coup_settled commission_accrued
                             -> commission_accrued: amounts.seat=1 amounts.amount=100
                             -> commission.outstanding.seat=1 commission.outstanding.amount=100
what a seat had paid goes back when it owes nothing
    {rules}per_shoe
    {won}
    collect_commission
    {player_wins}            -> book()=70,70,0,0,0,0,0
                             -> commission_refunded: method=paid amounts.seat=1,2 reason=r
                             -> commission_refunded: amounts.amount=50,20 currency=AUD
                             -> commission.refunds.amount=50,20
    open                     -> commission.refunds=none
what was given up is not paid back and stays given up
    {rules}per_shoe
    {won}
    mark_uncollected seat=1  -> book()=70,0,0,0,20,50,0
    # Seat 2 had no wager.
    correct_wager wager=@2 to=none -> book()=70,20,0,0,0,50,0
                             -> commission_reversed: amounts.seat=2 amounts.outstanding=20
    {player_wins}            -> book()=70,70,0,0,0,0,0
what was recovered goes back out of what was recovered
    {rules}per_shoe
    {won}
    mark_uncollected seat=1
    recover_commission seat=1 amount=50 -> book()=70,0,0,50,20,0,0
    {player_wins}            -> book()=70,70,0,0,0,0,0
what was recovered is no other seat's payment
    {rules}per_shoe
    {won}
    mark_uncollected seat=1
    recover_commission seat=1 amount=50
    collect_commission seat=2 -> book()=70,0,20,50,0,0,0
    correct_wager wager=@1 to=none -> book()=70,50,20,0,0,0,0
                             -> commission_refunded: amounts.seat=1 amounts.recovered=50
what one patron has given up cancels nothing of another
    {rules}per_shoe
    in none
    open
    place_wager wagers="1 banker 2000 patron=a"
    {dealt}
    mark_uncollected seat=1
    open
    place_wager wagers="1 banker 2000 patron=b"
    {dealt} -> book()=200,0,0,0,100,100,0
    void_coup coup=01/1      -> book()=200,100,0,0,100,0,0
                             -> commission.debts.coup=20261127-01/2 commission.debts.patron=b
    collect_commission seat=1 amount=100 -> book()=200,100,100,0,0,0,0
a part of what several patrons owe is nobody's until one is named
    {rules}per_shoe
    in none
    open
    place_wager wagers="1 banker 1000 patron=a,1 banker 400 patron=b,1 banker 200"
    {dealt}
    collect_commission seat=1 amount=30 -> refused debt_required
    collect_commission seat=1 amount=30 patron=a -> commission.debts.outstanding=10,20,20
    mark_uncollected seat=1 patron=b -> commission_uncollected: amounts.patron=b
    collect_commission seat=1 patron="" -> commission_collected: amounts.patron=none
                             -> commission_collected: amounts.amount=10
    recover_commission seat=1 amount=5 patron=a -> refused nothing_uncollected
    recover_commission seat=1 amount=20 -> commission_recovered: amounts.patron=b
what wagers without a patron owe is paid and given up alone
    {rules}per_shoe
    in none
    open
    place_wager wagers="1 banker 1000 patron=a,1 banker 400"
    {dealt}
    collect_commission seat=1 amount=1 patron="" -> commission.debts.outstanding=19,50
    mark_uncollected seat=1 patron="" -> commission.debts.outstanding=0,50
    collect_commission seat=1 patron="" -> refused nothing_outstanding
    collect_commission seat=1
    recover_commission seat=1 amount=1 patron="" -> commission.debts.uncollected=18
a wager that was another patron's is owed by that patron
    {rules}per_shoe
    in none
    open
    place_wager wagers="1 banker 1000 patron=a"
    {dealt}
    collect_commission
    correct_wager wager=@1 to="1 banker 1000 patron=b" -> book()=100,50,0,0,50,0,0
                             -> commission_refunded: amounts.patron=a amounts.amount=50
                             -> commission_accrued: amounts.patron=b amounts.amount=50
a correction that makes a seat owe is collected before the next coup
    {rules}per_coup
    {won}
    collect_commission
    correct_wager wager=@1 to="1 banker 3000"
    open_betting             -> refused commission_outstanding
    collect_commission
    open                     -> betting
another timing makes nobody pay what is paid, and takes nothing that is not
    * deduct   per_shoe 70,0,70,0,0,0,0
    * per_shoe deduct   70,0,0,0,70,0,0
    * prepaid  per_shoe 70,0,70,0,0,0,0
    * deduct   prepaid  70,0,70,0,0,0,0
    {rules}{0}
    library au-commission commission.timing={1}
    {won}
    correct_rulebook by=library -> made rulebook_corrected coup_settled; book()={2}
what a pair owes in the one phase it owes in the other
    * per_shoe tiger_pair.phase=1   tiger_pair.commission=true  200,0,200,0,0,0,0
    * per_shoe tiger_pair.phase=1   tiger_pair.commission=false 200,200,0,0,0,0,0
    rules au-commission commission.timing={0} bets.{1} bets.tiger_pair.commission=true
    library au-commission commission.timing=per_coup bets.{2} bets.tiger_pair.own_odds=true
    in none
    open
    bet 1 tiger_pair 1000
    close
    deal 2S 9D 2C KC
    result banker player_pair -> settled
    collect_commission
    correct_rulebook by=library -> book()={3}
"""
STEPS = {
    "rules": "rules au-commission commission.timing=",
    "won": "in none\nplayed 6S KH | 7D KC | 1 banker 1000, 2 banker 400",
    "dealt": "close\ndeal 6S 7D KH KC\nresult banker",
    "player_wins": "correct_card coup=01/1 P1 8S",
    "banker_wins": "correct_card coup=01/1 P1 6S",
}


test_commission_follows_corrections = each_history(HISTORIES, **STEPS)


def test_what_is_given_up_in_two_currencies_is_not_added_up() -> None:
    aud, nzd = (
        book(
            "au-commission", "commission.timing=per_shoe", f"currency={each}", f"id={each.lower()}"
        )
        for each in ("AUD", "NZD")
    )
    table = World(DecisionContext(table="t1", rulebook=aud))
    table.ready()
    played(player=cards("6S KH"), banker=cards("7D KC"), bets=((1, "banker", 1000),), world=table)
    with pytest.raises(ConfigError, match="collect the commission"):
        startup_rulebook(table.state, nzd, (aud,))
    table.must(MarkUncollected(transaction="a", seat=1, reason="r"))
    # It can be recovered in its currency at any time, and keeps the table from no other one.
    table.context = replace(table.context, rulebook=startup_rulebook(table.state, nzd, (aud,)))
    table.take(adopt_rulebook(table.state, nzd))
    played(player=cards("6S KH"), banker=cards("7D KC"), bets=((1, "banker", 400),), world=table)
    table.must(MarkUncollected(transaction="b", seat=1, reason="r"))
    for amount in (20, 70, 80):
        refusal = table.ask(RecoverCommission(transaction="c", seat=1, amount=amount))
        assert isinstance(refusal, Refusal)
        assert (refusal.code, "debts in AUD, NZD" in refusal.text) == ("debt_required", True)
    for coup, amount, currency in ((COUP, 50, "AUD"), (f"{COUP[:-1]}2", 20, "NZD")):
        (paid,) = table.must(
            RecoverCommission(transaction=currency, seat=1, amount=amount, coup=coup)
        )
        assert isinstance(paid, CommissionRecovered)
        assert (paid.currency, paid.amounts[0].amount) == (currency, amount)


def test_a_coup_in_another_currency_is_not_corrected_and_its_debts_keep_theirs() -> None:
    dollars = book("au-commission", "commission.timing=per_shoe")
    table = World(DecisionContext(table="t1", rulebook=dollars))
    table.ready()
    played(player=cards("6S KH"), banker=cards("7D KC"), bets=((1, "banker", 1000),), world=table)
    kiwis = book("au-commission", "id=kiwi", "currency=NZD")
    table.context = DecisionContext(table="t1", rulebook=kiwis, library=(dollars,))
    before = table.state
    for command in (
        VoidCoup(transaction="v", coup=COUP, reason="r"),
        CorrectCard(transaction="c", coup=COUP, hand=P, number=1, face=Card.S8, reason="r"),
    ):
        refusal = table.ask(command)
        assert isinstance(refusal, Refusal)
        assert (refusal.code, table.state) == ("wrong_currency", before)
        assert "paid in AUD" in refusal.text
    shown = project_table(before, table="t1", rulebook=kiwis, catching_up=False).commission
    assert shown.outstanding == ()
    assert [(each.currency, each.outstanding) for each in shown.debts] == [("AUD", 50)]
    paid = table.must(CollectCommission(transaction="p", seat=1))
    assert [each.currency for each in paid if isinstance(each, CommissionCollected)] == ["AUD"]
    assert table.state.commission.debts == ()
