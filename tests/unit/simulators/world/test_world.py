"""Whole tables from seeds: nothing breaks, a seed is one world, and what is broken shows."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from baccarat.cli.main import main
from baccarat.history.log_judging import verify_and_judge
from events.errors import InputError
from events.types import (
    CardEntered,
    CardUnreadable,
    CopyConflict,
    CoupMisaligned,
    ExcessCardDrawn,
    ReportLost,
    ResultConfirmed,
    ShoeReported,
    UnknownReport,
    decode_entry,
)
from simulators.device.profiles import GAMES
from simulators.faults.registry import FAULTS
from simulators.world.auditor.audited_coup import Violation
from simulators.world.fault_plan import LATE_FAULTS, WORLD_FAULTS, parse_world_faults
from simulators.world.final_checks import check_floats
from simulators.world.parts.lying_broker import GUARDED, LIES
from simulators.world.world import World, WorldReport
from table_core.rules import settlement
from tests.tools.broken_builds import applied, copy_of
from tests.tools.defects import CATCHERS, DEFECTS, Defect

ALL = parse_world_faults("all")
COUPS = 8
PROFILES = {profile for profile, _ in GAMES}
# What would be stored if a card or report were lost, doubled or taken for another.
WRONG = (CardEntered, CoupMisaligned, ExcessCardDrawn)
FOUND_WRONG = (CardUnreadable, CopyConflict, ReportLost, UnknownReport)


def play(seed: int, folder: Path, faults: tuple[str, ...] = ALL, coups: int = COUPS) -> WorldReport:
    made = World(seed, faults, folder)
    try:
        return made.run(coups)
    finally:
        made.close()


@pytest.mark.sweep
@pytest.mark.parametrize("first", range(0, 16, 8))
def test_nothing_breaks_whatever_goes_wrong(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 8):
        made = World(seed, ALL, tmp_path)
        report = made.run(COUPS)
        made.save_log(log := tmp_path / f"{seed}.log")
        made.close()
        assert report.violations == (), f"baccarat sim world --seeds {seed} --coups {COUPS}"
        assert report.coups == COUPS
        verdict, _ = verify_and_judge(log, None, jobs=1, held=(), keys=())
        assert verdict.ok, (seed, verdict)


@pytest.mark.sweep
@pytest.mark.parametrize("kind", ["bus_", "kill_", "power_", "log_", "journal_"])
def test_a_layer_alone_goes_wrong_often_and_nothing_breaks(kind: str, tmp_path: Path) -> None:
    faults = tuple(name for name in WORLD_FAULTS if name.startswith(kind))
    reports = [play(seed, tmp_path, faults, 8) for seed in range(2)]
    assert [report.violations for report in reports] == [(), ()]
    assert {name for report in reports for name in report.faults} & set(faults)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("names", "seeds"),
    [
        *((name, range(3)) for name in LATE_FAULTS),
        ("late", range(30)),
    ],
)
def test_what_is_only_late_is_neither_lost_nor_doubled_nor_misaligned(
    names: str, seeds: range, tmp_path: Path
) -> None:
    came, profiles = Counter[str](), set[str]()
    for seed in seeds:
        made = World(seed, parse_world_faults(names), tmp_path)
        report = made.run(3)
        stored = [decode_entry(each.stored).data for each in made._log_disk.stored(0)]
        made.close()
        repeat = f"baccarat sim world --seeds {seed} --coups 3 --faults {names}"
        assert report.violations == (), repeat
        assert [event for event in stored if isinstance(event, WRONG)] == [], repeat
        told = [event.source.report for event in stored if isinstance(event, ShoeReported)]
        # A shoe that is switched on crackles, and a line's profile cannot tell it from a line.
        found = [each for each in told if getattr(each, "got", "") != "not_text"]
        assert [each for each in found if isinstance(each, FOUND_WRONG)] == [], repeat
        came.update(report.faults)
        profiles.add(made._profile[1].id)
    assert came[names] or (came.keys() == LATE_FAULTS.keys() and profiles == PROFILES)


@pytest.mark.sweep
@pytest.mark.parametrize("first", [0])
def test_what_is_late_hides_nothing_that_goes_wrong(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 4):
        report = play(seed, tmp_path, parse_world_faults("all,late"))
        assert report.violations == (), f"--seeds {seed} --coups {COUPS} --faults all,late"


def test_nothing_settles_on_what_a_lying_broker_says_and_the_alarm_names_it(
    tmp_path: Path,
) -> None:
    told, named = Counter[str](), set[str]()
    for seed in (2, 3, 5, 8, 13):
        world = World(seed, (), tmp_path, lies=0.03)
        report = world.run(10)
        world.close()
        assert report.violations == ()
        assert report.coups == 10
        assert report.forged > 5
        told.update(report.lies)
        named.update(report.named)
    assert named == GUARDED
    assert {f"{kind} {lie}" for kind in GUARDED for lie in LIES} <= told.keys()


def test_nothing_goes_wrong_where_nothing_may(tmp_path: Path) -> None:
    report = play(1, tmp_path, ())
    assert (report.violations, report.faults, report.coups) == ((), {}, COUPS)


def test_a_shoe_that_reports_no_result_plays_without_anybodys_help(tmp_path: Path) -> None:
    profiles = set[str]()
    for seed in (2, 26):
        made = World(seed, (), tmp_path)
        assert made.run(3).violations == ()
        stored = [decode_entry(each.stored).data for each in made._log_disk.stored(0)]
        made.close()
        by = [event.by for event in stored if isinstance(event, ResultConfirmed)]
        assert by == ["last_card"] * 3
        profiles.add(made._profile[1].id)
    assert profiles == {"text-line", "text-line-scan"}


@pytest.mark.sweep
def test_chips_are_carried_to_the_tray_and_what_was_not_carried_is_noticed(tmp_path: Path) -> None:
    done: Counter[str] = Counter()
    for seed in range(4):
        made = World(seed, (), tmp_path)
        assert made.run(25).violations == ()
        keeper, ledger = made._staff.floats, made._ledger
        done += keeper.done
        keeper.given += 1
        with pytest.raises(Violation, match="were carried"):
            check_floats(ledger, keeper)
        made.close()
    assert {"OpenFloat", "Fill", "Credit", "CloseFloat", "CountDrop"} <= set(done)


@pytest.mark.process
def test_a_seed_is_the_same_world_in_every_process(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "baccarat", "sim", "world"]
    said = [
        subprocess.run(
            [*command, "--seeds", "5..6", "--coups", "5", "--faults", "all", "--json"],
            env={
                **os.environ,
                "PYTHONHASHSEED": salt,
                "PYTHONPATH": str(Path(__file__).parents[4]),
            },
            capture_output=True,
            check=True,
            timeout=100,
        ).stdout
        for salt in ("0", "20261127")
    ]
    assert said[0] == said[1]
    here = [msgspec.json.encode(play(seed, tmp_path, ALL, 5)) for seed in (5, 6)]
    assert said[0].splitlines() == here


def test_another_seed_is_another_world(tmp_path: Path) -> None:
    assert play(1, tmp_path, (), 2).digest != play(2, tmp_path, (), 2).digest


def test_what_is_broken_is_told_with_its_step_and_breaks_there_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # A unit too much for every winner of even money: the smallest thing that must never be.
    pay = settlement._payment
    monkeypatch.setattr(
        settlement,
        "_payment",
        lambda book, wager, result, *_: pay(book, wager, result, wager.stake + 1),
    )
    first, again = (play(3, tmp_path, (), 20) for _ in range(2))
    assert first == again
    (said,) = first.violations
    assert said.startswith(f"step {first.steps}: ")
    assert main(["sim", "world", "--seeds", "3", "--coups", "20"]) == 1
    told = capsys.readouterr()
    assert f"BROKE at step {first.steps}: " in told.out
    assert "baccarat sim world --seeds 3 --coups 20 --faults none" in told.out
    assert "1 broke" in told.err


def test_a_line_of_json_a_seed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", "world", "--seeds", "1..3", "--coups", "2", "--json"]) == 0
    reports = [
        msgspec.json.decode(line, type=WorldReport) for line in capsys.readouterr().out.splitlines()
    ]
    assert [(report.seed, report.coups, report.violations) for report in reports] == [
        (1, 2, ()),
        (2, 2, ()),
        (3, 2, ()),
    ]


@pytest.mark.parametrize("seeds", ["", "x", "5..3", "1...3", "-1", "1..", "1" * 16])
def test_seeds_that_are_none_are_refused_in_one_line(
    seeds: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sim", "world", "--seeds", seeds]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_what_can_go_wrong_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", "world", "--faults", "list"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names == sorted({*FAULTS, *WORLD_FAULTS, *LATE_FAULTS})


def test_faults_are_read_by_name() -> None:
    assert parse_world_faults("none") == ()
    assert parse_world_faults("bus_drop, unplug,bus_drop") == ("bus_drop", "unplug")
    assert set(ALL) == {*FAULTS, *WORLD_FAULTS}
    for wrong in ("", "bus_drip", "all,bus_drip"):
        with pytest.raises(InputError, match="there are all, late, none"):
            parse_world_faults(wrong)


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_a_broken_build_can_still_be_made(defect: Defect) -> None:
    text = (Path(__file__).parents[4] / defect.path).read_text()
    assert text.count(defect.right) == 1
    assert defect.right != defect.wrong
    assert defect.catcher in CATCHERS


def test_a_defect_that_no_longer_applies_is_noticed(tmp_path: Path) -> None:
    folder = copy_of(tmp_path / "copy")
    gone = DEFECTS[0]._replace(right="this text is not there")
    assert not applied(gone, folder)
    assert applied(DEFECTS[0], folder)
    assert not applied(DEFECTS[0], folder)
