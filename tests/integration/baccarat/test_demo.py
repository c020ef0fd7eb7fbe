"""The demo as a newcomer runs it: a real process, its figures, its end, and nothing left behind."""

import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from baccarat.cli.main import main
from events.log.verify import verify
from events.types import CommissionCollected, ShoeLoaded
from shoe_driver.profiles.catalogue import profile_text
from tests.kill.game import read_coups
from tests.support.cage.books import source
from tests.support.log.logs import events_in
from tests.support.machine.commands import Done, at_work, complaint, here, read_line, said
from tests.support.machine.waiting import until_blocking

FIELDS = [
    *("coups", "cards", "settlements", "acknowledged", "staked", "paid", "commission", "house"),
    *("lost", "duplicates", "misaligned", "log", "latency_ms"),
]
ENDS_WITHIN_S = 60


def demo(*options: str, data: Path) -> Done:
    """Play in this process, whose services are processes as ever."""
    return here("demo", *options, "--data", data)


@contextmanager
def endless(data: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A demo that plays on, after its first coup."""
    with at_work("demo", "--speed", "0", "--data", data, stderr=subprocess.STDOUT) as process:
        while "staked" not in (line := read_line(process)):
            assert line, "it ended before its first coup"
        yield process


def rest_of(process: "subprocess.Popen[bytes]", code: int) -> str:
    """What it says until it ends by that code, which is no traceback."""
    assert process.stdout is not None
    rest = process.stdout.read().decode()
    assert process.wait(ENDS_WITHIN_S) == code
    assert "Traceback" not in rest
    return rest


def of_this_demo(data: Path) -> list[int]:
    """The processes that name the demo's data folder, or have a file of it open."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_text("utf-8", "replace")
                held = [str(each.readlink()) for each in (entry / "fd").iterdir()]
            except OSError:
                continue
            if any(str(data) in each for each in (words, *held)):
                found.append(int(entry.name))
    return found


def leaves_no_process(data: Path) -> None:
    until_blocking(lambda: not of_this_demo(data), "a process of the demo is left")


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Done]]:
    """A game of one seed in both disclosure modes: its folder, and what the demo said."""
    options = ("--rounds", "12", "--seed", "7", "--speed", "0", "--json", "--disclosure")
    folders = {each: tmp_path_factory.mktemp(each) for each in ("immediate", "deferred")}
    return {each: (data, demo(*options, each, data=data)) for each, data in folders.items()}


@pytest.mark.parametrize("disclosure", ["immediate", "deferred"])
def test_the_figures_agree_with_each_other_and_with_the_log(
    disclosure: str, games: dict[str, tuple[Path, Done]]
) -> None:
    data, ended = games[disclosure]
    assert ended.code == 0, ended.err
    told = json.loads(ended.out)
    assert list(told) == FIELDS
    assert told["coups"] == told["settlements"] == told["acknowledged"] == 12
    assert (told["lost"], told["duplicates"], told["misaligned"]) == (0, 0, 0)
    assert told["staked"] - told["paid"] == told["house"]
    assert told["log"] == str(data / "table.sqlite")
    assert 0 < told["latency_ms"]["p50"] <= told["latency_ms"]["p99"]
    assert verify(Path(told["log"])).ok
    coups = read_coups(events_in(Path(told["log"])))
    assert len(coups) == 12
    assert told["cards"] == sum(len(coup.cards) for coup in coups.values())
    lines = [line for coup in coups.values() for line in coup.lines]
    assert told["staked"] == sum(line.stake for line in lines)
    assert told["paid"] == sum(line.paid for line in lines)
    assert told["commission"] == sum(line.commission for line in lines)
    leaves_no_process(data)


def test_a_seed_gives_the_same_cards_outcomes_and_money_in_both_disclosure_modes(
    games: dict[str, tuple[Path, Done]], tmp_path: Path
) -> None:
    one, deferred = (_coups_of(data) for data, _ in games.values())
    assert one == deferred
    for seed, name in (("7", "again"), ("12", "other")):
        options = ("--rounds", "4", "--seed", seed, "--speed", "0")
        assert demo(*options, data=tmp_path / name).code == 0
        assert (_coups_of(tmp_path / name) == one[:4]) is (seed == "7")


def _coups_of(data: Path) -> list[object]:
    """Cards by place and money by seat, coup by coup."""
    return [
        (
            sorted((place, card.value) for place, card in coup.cards.items()),
            sorted((line.seat, line.bet, line.stake, line.paid) for line in coup.lines),
        )
        for coup in read_coups(events_in(data / "table.sqlite")).values()
    ]


def test_people_are_told_what_it_did_and_how_to_check_it(tmp_path: Path) -> None:
    ended = demo("--rounds", "3", "--seed", "7", "--speed", "0", data=tmp_path)
    said(ended)
    assert (
        len(re.findall(r"^\d{8}-01/\d .*Player.*Banker.*staked.*paid", ended.out, re.MULTILINE))
        == 3
    )
    assert "the cage acknowledged 3" in ended.out
    assert f"baccarat log verify {tmp_path / 'table.sqlite'}" in ended.out
    proof = ["cage", "reconcile", str(tmp_path / "table.sqlite")]
    proof += ["--ledger", str(tmp_path / "ledger.sqlite")]
    assert f"baccarat {' '.join(proof)}" in ended.out
    assert main(proof) == 0


# An early cut card ends the shoe: the next is loaded once the marked commission is paid.
@pytest.mark.parametrize(
    ("timing", "rounds", "faults"),
    [("per_coup", 6, ()), ("per_shoe", 10, ("--faults", "cut_card"))],
)
def test_a_sites_own_files_are_played_by_as_they_are_found_from_here(
    timing: str, rounds: int, faults: tuple[str, ...], tmp_path: Path
) -> None:
    rulebook, profile = tmp_path / 'har"bour.toml', tmp_path / "shoe.toml"
    changes = ("id=harbour", "bets.player.minimum=500", f"commission.timing={timing}")
    rulebook.write_text(source("au-commission", *changes), "utf-8")
    profile.write_bytes(profile_text("enq-bcc"))
    named = ("--rulebook", os.path.relpath(rulebook), "--profile", os.path.relpath(profile))
    ended = demo(
        "--rounds",
        str(rounds),
        "--seed",
        "7",
        *faults,
        *named,
        "--speed",
        "0",
        "--json",
        data=tmp_path / "kept",
    )
    assert ended.code == 0, ended.err
    told = json.loads(ended.out)
    assert (told["coups"], told["lost"], told["duplicates"]) == (rounds, 0, 0)
    events = events_in(Path(told["log"]))
    # The dealer collects marked commission before the next coup, or the next shoe.
    assert sum(isinstance(each, ShoeLoaded) for each in events) == 1 + bool(faults)
    assert any(isinstance(each, CommissionCollected) for each in events)
    coups = read_coups(events).values()
    lines = [line for coup in coups for line in coup.lines if line.bet == "player"]
    assert lines
    assert min(line.stake for line in lines) >= 500


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_demo_without_rounds_plays_until_it_is_told_to_end_and_leaves_no_process(
    number: signal.Signals, tmp_path: Path
) -> None:
    with endless(tmp_path) as process:
        process.send_signal(number)
        assert "the cage acknowledged" in rest_of(process, 0)
    leaves_no_process(tmp_path)
    assert verify(tmp_path / "table.sqlite").ok


def test_a_demo_that_is_killed_leaves_no_process_and_its_folder_can_be_played_on(
    tmp_path: Path,
) -> None:
    with endless(tmp_path) as process:
        process.kill()
    leaves_no_process(tmp_path)
    ended = demo("--rounds", "3", "--seed", "1", "--speed", "0", "--json", data=tmp_path)
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["coups"] == 3
    assert verify(tmp_path / "table.sqlite").ok


def test_a_port_in_use_is_one_line_and_leaves_no_process(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = demo("--rounds", "1", "--port", str(port), data=tmp_path)
    assert re.search(f"{port}.* in use", complaint(ended))
    leaves_no_process(tmp_path)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--rounds", "0"], "--rounds"),
        (["--rounds", "many"], "--rounds"),
        (["--rulebook", "no-such"], "au-commission"),
        (["--profile", "no-such"], "enq-bcc"),
        (["--disclosure", "sometimes"], "immediate"),
        (["--faults", "no-such"], "unplug"),
        (["--faults", "all,no-such"], "no-such"),
        (["--faults", ","], "missing_report"),
        (["--speed", "-1"], "--speed"),
        (["--speed", "nan"], "--speed"),
        (["--speed", "inf"], "--speed"),
        (["--data", "demo#1"], "--data"),
        (["--port", "99999"], "--port"),
        (["--data", "/dev/null/x"], "--data"),
        (["--no-such-option"], "--no-such-option"),
    ],
)
def test_bad_input_is_one_line_that_names_it(options: list[str], names: str) -> None:
    assert names in complaint(here("demo", "--json", "--rounds", "1", *options))


def test_a_folder_in_which_a_demo_plays_is_no_other_demos(tmp_path: Path) -> None:
    with endless(tmp_path) as process:
        other = demo("--rounds", "1", "--json", data=tmp_path)
        assert process.poll() is None
    assert other.code == 2
    assert "another demo plays there" in other.err
    leaves_no_process(tmp_path)


def test_a_demo_whose_broker_is_killed_says_so_and_ends(tmp_path: Path) -> None:
    with endless(tmp_path) as process:
        (broker,) = (pid for pid in of_this_demo(tmp_path) if _is_broker(pid))
        os.kill(broker, signal.SIGKILL)
        assert "the broker has ended" in rest_of(process, 2)
    leaves_no_process(tmp_path)


def _is_broker(pid: int) -> bool:
    return b"nats-server" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]


def test_a_reader_that_goes_away_ends_the_demo_without_a_word(tmp_path: Path) -> None:
    with at_work("demo", "--speed", "0", "--data", tmp_path) as process:
        assert process.stdout
        assert process.stderr
        assert read_line(process)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(ENDS_WITHIN_S) == 1
    leaves_no_process(tmp_path)


def test_a_full_disk_behind_stdout_is_one_line(tmp_path: Path) -> None:
    options = ("--rounds", "1", "--data", tmp_path)
    with Path("/dev/full").open("w") as full, at_work("demo", *options, stdout=full) as process:
        _, told = process.communicate(timeout=ENDS_WITHIN_S)
    assert "No space left" in complaint(Done(process.returncode, "", told.decode()))
    leaves_no_process(tmp_path)
