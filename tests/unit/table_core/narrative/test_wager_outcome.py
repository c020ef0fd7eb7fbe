"""The sum of a wager in words: by figures computed elsewhere, and whatever changed them is said."""

import msgspec
import pytest

from events.money import Currency
from events.types import SettlementLine
from table_core.narrative.formatting import amount
from table_core.narrative.wager_outcome import narrate_wager
from table_core.rulebooks.shipped import load_rulebook
from table_core.rules.rulebook import Rulebook
from tests.support.cage.books import book
from tests.support.machine.files import vector

SETTLED = [
    (case, wager)
    for case in map(msgspec.json.decode, vector("settlement.jsonl").splitlines())
    for wager in case["expect"].get("settlements", ())
    if wager["result"] != "refused"
]


@pytest.mark.parametrize("rules", sorted({case["rules"] for case, _ in SETTLED}))
def test_the_sums_of_wagers_end_with_what_was_computed_elsewhere(rules: str) -> None:
    for case, wager in SETTLED:
        if case["rules"] == rules:
            _assert_told(load_rulebook(rules), wager)


def _assert_told(rulebook: Rulebook, wager: dict[str, object]) -> None:
    pays = rulebook.bets[str(wager["bet"])].schedule.get(str(wager["category"]))
    fields = {
        name: wager[name]
        for name in ("bet", "result", "category", "stake", "winnings", "commission", "paid")
    }
    odds = str(pays) if pays and wager["result"] == "win" else None
    line = msgspec.convert({"wager": "w", "seat": 1, "odds": odds} | fields, SettlementLine)
    told = narrate_wager(line, rulebook, rulebook.money, rulebook.id)
    assert told.sums[-1].endswith(f"paid {amount(line.paid, rulebook.money)}"), wager
    said = " ".join(told.sums)
    if line.commission:
        assert f"- commission {amount(line.commission, rulebook.money)}" in said, wager
    # What the odds give is the winnings, or the sum says what changed them.
    if line.odds and amount(line.winnings, rulebook.money) not in told.sums[0]:
        assert "rounded" in told.sums[0] or "cut" in told.sums[0], wager


def line(**fields: object) -> SettlementLine:
    plain = {"wager": "w", "seat": 1, "bet": "banker", "result": "win", "category": "win"}
    return msgspec.convert(plain | fields, SettlementLine)


def test_rounding_is_told_with_its_unit() -> None:
    # 27/50 of 33 is 17.82, up to a multiple of 5 is 20.
    rules = book("extras", "unit=5")
    told = narrate_wager(
        line(bet="big", odds="27/50", stake=33, winnings=20, commission=0, paid=53),
        rules,
        rules.money,
        "extras",
    )
    assert told.sums[0] == "0.33 at 27 to 50 = 0.1782, rounded up to a multiple of 0.05: 0.20"


def test_commission_in_blocks_is_told_with_the_block() -> None:
    # 25c per $5 or part of it: 7.10 counts as 10.00, 5 per cent are 0.50.
    rules = book("au-commission", "commission.block=500")
    told = narrate_wager(
        line(odds="1/1", stake=710, winnings=710, commission=50, paid=1370), rules, rules.money, "x"
    )
    assert told.sums[1] == "commission 1/20 of 10.00 = 0.50 (counted in whole 5.00)"


def test_an_aggregate_maximum_is_told_where_it_cut() -> None:
    rules = load_rulebook("mini-lucky8")
    told = narrate_wager(
        line(bet="lucky8_player", odds="200/1", category="double_suited_8", stake=30000,
             winnings=3000000, commission=0, paid=3030000),
        rules, rules.money, "mini-lucky8",
    )  # fmt: skip
    assert told.sums[0].endswith("= 60,000.00, cut by an aggregate maximum to 30,000.00")


def test_a_token_is_not_given_back() -> None:
    told = narrate_wager(
        line(odds="1/1", stake=100, winnings=100, commission=5, paid=95, kind="promo"),
        load_rulebook("au-commission"),
        Currency("AUD", 2),
        "x",
    )
    assert told.sums[-1] == "stake back 0.00 + won 1.00 - commission 0.05 = paid 0.95"
    assert "a token is never given back, win or lose" in told.sums
