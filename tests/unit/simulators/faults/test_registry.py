"""The faults by name, and the plan by which they come."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from events.errors import InputError
from simulators.device.profiles import PROFILES
from simulators.faults.registry import (
    ALL,
    FAULTS,
    OF_A_TABLE,
    OF_PEOPLE,
    SPAN,
    FaultPlan,
    parse_faults,
)
from simulators.faults.table_faults import COUP_FAULTS
from tests.support.shoe.faulty_coups import SEEDS

ENDERS = {
    *("cut_card", "cut_card_between", "cut_card_first"),
    *("replace_shoe", "replace_shoe_continue"),
}


ROOT = Path(__file__).parents[4]


def test_the_page_names_every_fault_and_the_changes_say_how_many_there_are() -> None:
    page = (ROOT / "docs/develop/simulators.md").read_text("utf-8")
    table = page.partition("## Faults")[2].partition("## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(named) == sorted(FAULTS)
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.findall(r"with (\d+) faults by name", changes) == [str(len(FAULTS))]


def always(_: str) -> bool:
    return True


def play(plan: FaultPlan, coups: int, fits: Callable[[str], bool] = always) -> dict[int, str]:
    came: dict[int, str] = {}
    for coup in range(1, coups + 1):
        fault = plan.due(coup, fits)
        if fault:
            plan.done(fault)
            came[coup] = fault
    return came


@pytest.mark.parametrize("seed", SEEDS)
def test_in_a_shoe_every_chosen_fault_comes_once_and_those_that_end_it_come_first(
    seed: int,
) -> None:
    came = play(FaultPlan(seed, ALL), SPAN)
    assert sorted(came.values()) == sorted(ALL)
    assert set(list(came.values())[: len(ENDERS)]) == ENDERS
    again = play(FaultPlan(seed, ALL), 2 * SPAN)
    assert came.items() <= again.items(), "a seed plans the same again"
    later = [fault for coup, fault in again.items() if coup > SPAN]
    assert sorted(later) == sorted(set(ALL) - ENDERS)


def test_another_seed_is_another_plan() -> None:
    assert play(FaultPlan(1, ALL), SPAN) != play(FaultPlan(2, ALL), SPAN)


def test_more_faults_than_coups_come_one_a_coup() -> None:
    assert list(play(FaultPlan(1, ALL, span=5), len(ALL))) == list(range(1, len(ALL) + 1))


def test_a_fault_that_a_coup_cannot_have_waits_and_lets_others_pass() -> None:
    came = play(FaultPlan(1, ALL), SPAN, fits=lambda fault: fault != "noise")
    assert sorted(came.values()) == sorted(set(ALL) - {"noise"})
    plan = FaultPlan(1, ["noise"], span=3)
    assert plan.due(10, lambda _: False) is None
    assert plan.due(11, always) == "noise"


def test_no_faults_are_no_plan() -> None:
    assert play(FaultPlan(1, ()), 100) == {}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("all", ALL),
        ("unplug", ("unplug",)),
        ("unplug, noise ,unplug", ("noise", "unplug")),
        ("all,no_result,silence", tuple(sorted(FAULTS))),
    ],
)
def test_faults_are_read_by_name(text: str, names: tuple[str, ...]) -> None:
    assert parse_faults(text) == tuple(sorted(names))


@pytest.mark.parametrize(
    ("text", "wrong"), [("x", "'x'"), ("all,y", "'y'"), ("", "''"), (",", "','")]
)
def test_an_unknown_fault_is_refused_with_the_known_ones(text: str, wrong: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_faults(text)
    said = str(caught.value)
    assert said.startswith(f"no fault {wrong};")
    assert all(name in said for name in FAULTS)
    assert "\n" not in said


def test_a_fault_that_cannot_come_here_is_refused_and_all_leaves_it_out() -> None:
    assert parse_faults("all", {"noise"}) == tuple(name for name in ALL if name != "noise")
    with pytest.raises(InputError, match="no such fault here 'noise'; there are all, bit_flip,"):
        parse_faults("unplug,noise", {"noise"})


def test_every_fault_of_a_shoe_is_woven_and_every_other_is_the_tables() -> None:
    assert set(COUP_FAULTS) | OF_PEOPLE == set(FAULTS)
    assert not set(COUP_FAULTS) & OF_PEOPLE
    assert set(FAULTS) > OF_A_TABLE
    for profile in PROFILES.values():
        assert profile.unfit < set(FAULTS)
