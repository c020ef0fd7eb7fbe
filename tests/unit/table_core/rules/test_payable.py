"""Whether the table's chips can make up what a rulebook pays."""

from itertools import product

import pytest

from events.types import Wager
from table_core.rules.draw import judge_hands
from table_core.rules.payable import chip_values, first_unpayable
from table_core.rules.rulebook import Rulebook
from table_core.rules.rulebook_file import parse_rulebook
from table_core.rules.settlement import settle
from tests.support.cage.books import book, source
from tests.support.table.coups import cards


@pytest.mark.parametrize(
    ("changes", "values"),
    [
        ((), (100, 500, 2500, 10_000, 50_000, 100_000, 500_000, 1_000_000)),
        (("currency=JPY", "decimals=0"), (1, 5, 25, 100, 500, 1_000, 5_000, 10_000)),
        (("unit=500",), (500, 2500, 10_000, 50_000, 100_000, 500_000, 1_000_000)),
        (("unit=2500",), (2500, 10_000, 50_000, 100_000, 500_000, 1_000_000)),
        (("unit=7",), (7, 35, 70)),
    ],
)
def test_the_usual_chips_are_whole_units_that_can_be_paid(
    changes: tuple[str, ...], values: tuple[int, ...]
) -> None:
    assert chip_values(book("ez", *changes)) == values


def with_chips(name: str, chips: list[int], *changes: str) -> Rulebook:
    text = source(name, *changes).replace("\nunit", f"\nchips = {chips}\nunit", 1)
    return parse_rulebook("own.toml", text.encode())


# rulebook, its changes, its chips -> bet, category, stake and payment; nothing where all is payable
@pytest.mark.parametrize(
    ("name", "changes", "chips", "found"),
    [
        ("au-even-money", (), None, ("banker", "win_on_6", 100, 50)),
        ("au-even-money", (), [50, 100], ("banker", "win_on_6", 50, 25)),
        ("au-even-money", ("unit=50",), [50, 100], None),
        ("au-even-money", ("unit=100",), None, None),
        ("au-commission", (), None, ("banker", "win", 100, 95)),
        ("au-commission", ("unit=5",), [5, 25, 100], None),
        # 5 % of 25, 50 and 75 are rounded down to nothing; of 100 they are 5.
        ("au-commission", ("unit=5",), [25, 100], ("banker", "win", 100, 95)),
        ("ez", (), None, ("player", "", 1, 1)),
        ("ez", ("unit=100",), None, None),
        ("extras", ("commission.block=2000",), None, ("big", "win", 100, 54)),
    ],
)
def test_the_first_payment_that_is_not_payable(
    name: str,
    changes: tuple[str, ...],
    chips: list[int] | None,
    found: tuple[str, str, int, int] | None,
) -> None:
    rules = book(name, *changes) if chips is None else with_chips(name, chips, *changes)
    given = first_unpayable(rules)
    assert (given and (given.bet, given.category, given.stake, given.paid)) == found


def test_ten_and_fifteen_cents_on_a_banker_six_pay_five_and_eight() -> None:
    six = judge_hands(cards("2D 3C KH"), cards("2S 4H"))
    paid = [
        line.winnings
        for rules in (book("au-even-money"), book("au-even-money", "unit=100"))
        for line in settle(
            rules, six, [Wager(id="w", seat=1, bet="banker", stake=s) for s in (1015, 1100)]
        )
    ]
    assert paid == [508, 550, 600, 600]


def test_what_is_called_payable_is_payable_whatever_is_laid_in_chips() -> None:
    six = judge_hands(cards("2D 3C KH"), cards("2S 4H"))
    seven = judge_hands(cards("2D 3C KH"), cards("3S 4H"))
    payable = 0
    for unit, chip, times in product((1, 5, 20, 25, 50, 100), (5, 20, 25, 50, 100), (1, 2, 5)):
        if chip % unit:
            continue
        for name in ("au-even-money", "au-commission"):
            rules = with_chips(name, [chip], f"unit={unit}", f"bets.banker.step={chip * times}")
            given = first_unpayable(rules)
            if given is not None and given.bet == "banker" and given.category:
                continue
            payable += 1
            wagers = [
                Wager(id=str(n), seat=1, bet="banker", stake=n * chip * times) for n in range(1, 60)
            ]
            for outcome in (six, seven):
                for line in settle(rules, outcome, wagers):
                    assert line.paid % chip == 0, (name, unit, chip, line)
    assert payable > 20
