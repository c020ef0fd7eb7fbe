"""`baccarat sim` as commands: what other programs read is held against what really happened."""

import json
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.casino.figures import casino_figures
from benchmarks.casino.tables import Crowd
from simulators.device.profiles import PROFILES
from simulators.faults.registry import FAULTS, OF_A_TABLE
from tests.support.machine.commands import at_work, complaint, here, run, said
from tests.support.machine.waiting import until_blocking

WORDS = ("--seed", "3", "--speed", "0", "--json")
TOLD = {"card_drawn", "card_revealed", "card_carried_over"}


def faces(said: Sequence[dict[str, Any]]) -> list[str]:
    """The cards of the coups, in the order they fell."""
    return [document["face"] for document in said if document["what"] == "card"]


def dealt_and_heard(
    tmp_path: Path, profile: str, *words: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What the shoe says that it dealt, and what `shoe monitor` heard."""
    link = tmp_path / "shoe"
    with at_work("sim", "shoe", "--link", link, "--profile", profile, *WORDS, *words) as shoe:
        until_blocking(link.is_symlink, "the port is offered")
        with at_work("shoe", "monitor", "--profile", profile, "--json", f"pty:{link}") as reader:
            truth, errors = shoe.communicate(timeout=60)
            heard, _ = reader.communicate(timeout=60)
    assert (shoe.returncode, errors) == (0, b"")
    assert not link.is_symlink()
    first, second = ([json.loads(line) for line in each.splitlines()] for each in (truth, heard))
    return first, second


@pytest.mark.parametrize("profile", PROFILES)
def test_another_program_hears_every_card_that_fell(tmp_path: Path, profile: str) -> None:
    truth, heard = dealt_and_heard(tmp_path, profile, "--coups", "6")
    told = [event["face"] for event in heard if event["kind"] in TOLD]
    assert told == faces(truth)
    coups = [document for document in truth if document["what"] == "coup"]
    assert len(coups) == 6
    assert sum(len(coup["player"]) + len(coup["banker"]) for coup in coups) == len(told)
    assert truth[-1] == {"what": "end", "coups": 6, "lost_bytes": 0}
    (begun,) = [document for document in truth if document["what"] == "shoe"]
    burned = [event["face"] for event in heard if event["kind"] in {"first_card", "burn_card"}]
    assert burned == ([] if profile == "text-line-scan" else [begun["first"], *begun["burned"]])


def test_in_a_squeeze_the_faces_come_before_the_result(tmp_path: Path) -> None:
    truth, heard = dealt_and_heard(tmp_path, "enq-bcc", "--coups", "4", "--disclosure", "deferred")
    told = [event["face"] for event in heard if event["kind"] == "card_revealed"]
    assert told == faces(truth)


def test_the_faults_that_come_are_told_with_their_coups(tmp_path: Path) -> None:
    truth, heard = dealt_and_heard(
        tmp_path, "enq-bcc", "--coups", "5", "--faults", "missing_report,wrong_result"
    )
    came = [document["fault"] for document in truth if "fault" in document]
    assert sorted(came) == ["missing_report", "wrong_result"]
    assert "report_lost" in {event["kind"] for event in heard}


def test_a_seed_deals_the_same_again(tmp_path: Path) -> None:
    words = ("--coups", "3", "--faults", "noise,copy_lost")
    truths = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        truths.append(dealt_and_heard(folder, "text-line", "--coups", "3")[0][1:])
        truths.append(dealt_and_heard(folder, "enq-bcc", *words)[0][1:])
    assert truths[0] == truths[2]
    assert truths[1] == truths[3]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_in_order_when_it_is_told_to(tmp_path: Path, number: signal.Signals) -> None:
    link = tmp_path / "shoe"
    with at_work("sim", "shoe", "--link", link, "--seed", "1", "--json") as shoe:
        until_blocking(link.is_symlink, "the port is offered")
        shoe.send_signal(number)
        told, errors = shoe.communicate(timeout=30)
    assert (shoe.returncode, errors) == (0, b"")
    assert [json.loads(line)["what"] for line in told.splitlines()] == ["waiting", "end"]
    assert not link.is_symlink()


@pytest.mark.parametrize("profile", PROFILES)
def test_the_list_of_faults_has_a_line_for_each(profile: str) -> None:
    listed = said(here("sim", "shoe", "--faults", "list", "--profile", profile)).splitlines()
    names = {line.split()[0] for line in listed}
    assert names == set(FAULTS) - PROFILES[profile].unfit
    marked = {line.split()[0] for line in listed if line.endswith(" (of a whole table only)")}
    assert marked == names & OF_A_TABLE
    assert all(len(line.split()) > 3 for line in listed)


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        ([], "--link PATH is missing; name the path where the reader finds the port"),
        (["--link", "x", "--profile", "y"], "no profile 'y' for a simulated shoe; it speaks enq"),
        (
            ["--link", "x", "--profile", "text-line", "--disclosure", "deferred"],
            "disclosure deferred: a reader of lines tells each face at once; use immediate",
        ),
        (["--link", "/etc/hostname"], "/etc/hostname: exists and is no link; name a path that"),
        (["--link", "x", "--faults", "y"], "no fault 'y'; there are all, bit_flip,"),
        (["--link", "x", "--faults", "driver_killed"], "no such fault here 'driver_killed'; there"),
        (["--link", "x", "--coups", "0"], "Invalid value for '--coups'"),
        (["--link", "x", "--speed", "nan"], "Invalid value for '--speed': it is no number"),
    ],
)
def test_bad_input_is_one_line(words: list[str], wrong: str, tmp_path: Path) -> None:
    words = [str(tmp_path / "shoe") if word == "x" else word for word in words]
    assert complaint(here("sim", "shoe", *words)).startswith(f"baccarat: {wrong}")
    assert list(tmp_path.iterdir()) == []


def test_every_chosen_fault_comes(tmp_path: Path) -> None:
    words = ("--coups", "30", "--faults", "bit_flip,split,run_together,stall_burst,noise")
    truth, _ = dealt_and_heard(tmp_path, "ref-crc", *words)
    came = {document["fault"] for document in truth if "fault" in document}
    assert came == {"bit_flip", "split", "run_together", "stall_burst", "noise"}


def test_tables_are_played_at_and_every_settlement_is_seen(tmp_path: Path) -> None:
    words = ("--tables", "2", "--seconds", "5", "--speed", "40", "--data", tmp_path, "--json")
    done = run("sim", "casino", *words)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert (found["tables"], found["unseen"]) == (2, 0)
    assert found["coups"] > 0
    assert 0 < found["p50_ms"] <= found["p99_ms"] <= found["most_ms"]
    assert set(found["processor"]) == {"broker", "people", "shoe", "table"}
    assert found["table_mb"] > 0
    assert not list(tmp_path.iterdir()), "it leaves something behind"


def crowd(
    tables: int, *, p99: float = 20.0, cost: float = 1.0, mb: float = 0.5, disk: float = 1.0
) -> Crowd:
    """One that takes so many milliseconds a second and table, and so many MB a table."""
    return Crowd(
        tables=tables,
        coups_an_hour=70.0,
        seconds=60.0,
        coups=100,
        unseen=0,
        p50_ms=4.0,
        p99_ms=p99,
        most_ms=p99,
        disk_p99_ms=1.0,
        disk_most_ms=disk,
        load=1.0,
        processor={"broker": 0.0, "table": tables * cost / 1_000, "people": 1.0},
        memory_mb={"broker": 10.0, "table": 60.0 + mb * tables},
        table_mb=1.0,
    )


def test_a_crowd_is_put_beside_one_table_and_the_largest_is_told_of_without_a_bound() -> None:
    found = casino_figures({1: crowd(1, p99=8.0), 200: crowd(200), 1_000: crowd(1_000, p99=900.0)})
    one, many, most, linear, memory = found
    assert (one.name, many.name, most.name) == ("casino_1", "casino_200", "casino_1000")
    assert (many.p99, many.floor_p99, many.met) == (20.0, 8.0, True)
    assert (most.p99, most.met) == (900.0, True)
    assert (linear.met, linear.p50) == (True, 1.0)
    assert (memory.met, memory.p50) == (True, 0.5)


@pytest.mark.parametrize(
    ("few", "many", "missed"),
    [
        (crowd(50), crowd(200, p99=100.0), "casino_200"),
        (crowd(50), crowd(200, cost=1.3), "casino_linear"),
        (crowd(50), crowd(200, mb=1.0), "casino_memory"),
    ],
    ids=["late", "dearer among many", "too much memory"],
)
def test_what_a_crowd_may_not_be(few: Crowd, many: Crowd, missed: str) -> None:
    found = casino_figures({1: crowd(1), 50: few, 200: many})
    assert [each.name for each in found if not each.met] == [missed]


def test_a_crowd_that_could_not_be_played_at_is_void_and_says_why() -> None:
    found = casino_figures({1: crowd(1), 50: "the machine has no time for them"})
    (void,) = (each for each in found if each.name == "casino_50")
    assert void.void == "the machine has no time for them"


def test_a_disk_that_something_else_keeps_busy_makes_a_latency_void() -> None:
    one, many, *_ = casino_figures({1: crowd(1), 200: crowd(200, p99=500.0, disk=25.1)})
    assert (one.void, one.met) == (None, True)
    assert many.void == (
        "a forced write to this disk took up to 25.1 ms, with 25 at most: something else keeps "
        "it busy"
    )
    assert not many.met


@pytest.mark.parametrize("option", ["--speed", "--coups-an-hour"])
def test_a_pace_is_a_number(option: str) -> None:
    done = here("sim", "casino", "--tables", "2", option, "nan")
    assert f"'{option}': it is no number" in complaint(done)
