"""Shoes that no shipped profile describes, at a whole table, under the fault suite.

In the ordinary suite each plays the faults that a link must notice; `tests/soak` plays all of them
over a hundred coups.
"""

from pathlib import Path

import pytest

from tests.support.shoe.fault_games import play_faults
from tests.support.shoe.foreign import FOREIGN, profile_text

# Each is followed by a coup in which nothing goes wrong.
NOTICED = ("bit_flip", "missing_report")


@pytest.mark.parametrize("name", FOREIGN)
def test_a_wrong_check_and_a_skipped_number_are_noticed(name: str, tmp_path: Path) -> None:
    profile = tmp_path / f"{name}.toml"
    profile.write_text(profile_text(name), encoding="utf-8")
    played = play_faults(
        tmp_path / "data", str(profile), "immediate", NOTICED, device=FOREIGN[name]
    )
    for fault in NOTICED:
        (outcome,) = played.by_fault[fault]
        assert outcome.is_true(), fault
        assert "report_lost" in outcome.logged.breaks, fault
        assert outcome.logged.voided, fault
    assert all(each.is_true() for each in played.clean)
    assert any(each.last for each in played.clean)
