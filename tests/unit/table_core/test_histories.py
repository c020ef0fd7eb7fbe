"""The reader of histories: what does not come to pass, or is no step, fails."""

import pytest

from tests.support.table.histories import play_history

WRONG = """
in complete -> dealing
in complete; alarms()=excess_card
P1 9S -> held
in dealing -> shoe.cards=7
in dealing -> shoe.cards~7
in dealing -> shoe.cards!~3
in dealing -> made nothing
open_betting -> made betting_opened
open_betting -> refused no_such_code
open_betting -> refused no_shoe text=nothing
free_hand
burn cards=1 -> no_such_outcome
in dealing -> refused no_shoe
in betting -> wagers_placed: coup=none
in betting -> card_dealt:
no_such_step
shoe no_such_report
"""


@pytest.mark.parametrize("line", WRONG.strip().splitlines())
def test_what_does_not_come_to_pass_fails(line: str) -> None:
    with pytest.raises((AssertionError, ValueError)):
        play_history([line])
