"""Shoes that no shipped profile describes: every fault, over a hundred coups each."""

from pathlib import Path

import pytest

from simulators.faults.registry import FAULTS
from tests.support.shoe.fault_games import play_faults
from tests.support.shoe.foreign import FOREIGN, profile_text
from tests.support.shoe.made_up import FACES, capture, drawn, shoe, wanted
from tests.unit.shoe_driver.test_learning import faces_learned, faces_learned_twice, found

pytestmark = pytest.mark.soak

_WAITING = {"no_result", "silence"}
_SEEN_BY_PEOPLE = {"misread_face", "ninth_copy"}
_ROUNDS = 3


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.timeout(1_800)
def test_a_hundred_coups_with_every_fault(name: str, tmp_path: Path) -> None:
    profile = tmp_path / f"{name}.toml"
    profile.write_text(profile_text(name), encoding="utf-8")
    left_out = FOREIGN[name].unfit | _WAITING | {"short_disclosure"}
    faults = [fault for fault in FAULTS if fault not in left_out] * _ROUNDS
    played = play_faults(tmp_path / "data", str(profile), "immediate", faults, device=FOREIGN[name])
    assert len(played.all) >= 100
    for fault, outcomes in played.by_fault.items():
        if fault not in _SEEN_BY_PEOPLE:
            assert all(each.is_true() for each in outcomes), fault
    assert all(each.is_true() for each in played.clean)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.timeout(1_800)
def test_forty_other_devices_are_learned(seed: int) -> None:
    right, wrong = 0, []
    for number in range(40):
        device = drawn(f"soak {seed} {number}")
        told, sure = found(capture(device, shoe(number), number))
        good = told == wanted(device)
        right += good
        wrong += [number] if sure and not good else []
    assert wrong == []
    assert right >= 36


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.timeout(1_800)
def test_forty_guided_deals_name_no_face_wrongly(seed: int) -> None:
    told = [faces_learned(f"soak {seed} {number}") for number in range(40)]
    assert [wrong for _, wrong in told if wrong] == []
    assert sum(every for every, _ in told) >= 36


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.timeout(1_800)
def test_forty_second_deals_name_all_faces(seed: int) -> None:
    told = [faces_learned_twice(f"soak {seed} {number}") for number in range(40)]
    assert [wrong for _, wrong in told if wrong] == []
    assert sum(right == len(FACES) for right, _ in told) >= 36
