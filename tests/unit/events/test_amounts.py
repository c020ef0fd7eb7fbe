"""Amounts in minor units: odds as they are written, and where an amount between two units goes."""

import pytest

from events.errors import InputError
from events.money import Odds, Rounding, parse_odds, scale


@pytest.mark.parametrize(
    ("text", "odds"),
    [("8", Odds(8)), ("27/50", Odds(27, 50)), (" 1/20 ", Odds(1, 20)), ("0", Odds(0, 1))],
)
def test_odds_are_read_as_they_are_written(text: str, odds: Odds) -> None:
    assert parse_odds(text) == odds


@pytest.mark.parametrize(
    "text", ["", "/", "8/", "/2", "1/0", "-1", "1.5", "1/2/3", "one", "1/x", "٨", "1/٢", "²"]
)
def test_what_is_no_ratio_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a ratio"):
        parse_odds(text)


def test_odds_are_shown_as_two_numbers() -> None:
    assert [str(odds) for odds in (Odds(8), Odds(27, 50))] == ["8/1", "27/50"]


# amount, odds, unit -> up, down, nearest
SCALED = [
    (100, Odds(8), 1, 800, 800, 800),
    (5, Odds(1, 2), 1, 3, 2, 3),  # a half goes up
    (1, Odds(1, 3), 1, 1, 0, 0),
    (2, Odds(1, 3), 1, 1, 0, 1),
    (30, Odds(1, 20), 5, 5, 0, 0),  # 1.5
    (50, Odds(1, 20), 5, 5, 0, 5),  # 2.5: half of the unit
    (130, Odds(1, 20), 5, 10, 5, 5),  # 6.5
    (150, Odds(1, 20), 5, 10, 5, 10),  # 7.5
    (0, Odds(8), 5, 0, 0, 0),
]


@pytest.mark.parametrize(("amount", "odds", "unit", "up", "down", "nearest"), SCALED)
def test_an_amount_between_two_units_goes_where_the_rounding_says(
    amount: int, odds: Odds, unit: int, up: int, down: int, nearest: int
) -> None:
    found = [scale(amount, odds, unit=unit, rounding=each) for each in Rounding]
    assert found == [up, down, nearest]


def test_the_smallest_unit_is_one_minor_unit_where_nothing_is_said() -> None:
    assert scale(6, Odds(1, 2), rounding=Rounding.DOWN) == 3
