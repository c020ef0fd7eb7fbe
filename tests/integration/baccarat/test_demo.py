"""The demo as a newcomer runs it: a real process, its figures, its end, and nothing left behind."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from baccarat.cli.main import main
from events.log.verify import verify
from shoe_driver.profiles.catalogue import profile_text
from tests.kill.game import read_log
from tests.support.cage.books import source
from tests.support.machine.waiting import until_blocking

FIELDS = [
    *("coups", "cards", "settlements", "acknowledged", "staked", "paid", "commission", "house"),
    *("lost", "duplicates", "misaligned", "log", "latency_ms"),
]
ENDS_WITHIN_S = 60


def demo(*options: str, data: Path | None = None) -> "subprocess.CompletedProcess[str]":
    where = ["--data", str(data)] if data else []
    return subprocess.run(
        [sys.executable, "-m", "baccarat", "demo", *options, *where],
        capture_output=True,
        text=True,
        timeout=ENDS_WITHIN_S * 2,
        check=False,
    )


@contextmanager
def endless(data: Path) -> Iterator["subprocess.Popen[str]"]:
    """A demo that plays on; whatever the test does, it is ended."""
    process = subprocess.Popen(
        [sys.executable, "-m", "baccarat", "demo", "--speed", "0", "--data", str(data)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


def of_this_demo(data: Path) -> list[int]:
    """The processes whose command line names the demo's data folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if str(data).encode() in words:
                found.append(int(entry.name))
    return found


def leaves_no_process(data: Path) -> None:
    until_blocking(lambda: not of_this_demo(data), "a process of the demo is left")


@pytest.mark.parametrize("disclosure", ["immediate", "deferred"])
def test_the_figures_agree_with_each_other_and_with_the_log(
    disclosure: str, tmp_path: Path
) -> None:
    options = ("--rounds", "30", "--seed", "7", "--speed", "0", "--json")
    ended = demo(*options, "--disclosure", disclosure, data=tmp_path)
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert list(told) == FIELDS
    assert told["coups"] == told["settlements"] == told["acknowledged"] == 30
    assert (told["lost"], told["duplicates"], told["misaligned"]) == (0, 0, 0)
    assert told["staked"] - told["paid"] == told["house"]
    assert told["log"] == str(tmp_path / "table.sqlite")
    assert 0 < told["latency_ms"]["p50"] <= told["latency_ms"]["p99"]
    assert verify(Path(told["log"])).ok
    coups = read_log(Path(told["log"]), "demo/t1")
    assert len(coups) == 30
    assert told["cards"] == sum(len(coup.cards) for coup in coups.values())
    lines = [line for coup in coups.values() for line in coup.lines]
    assert told["staked"] == sum(line.stake for line in lines)
    assert told["paid"] == sum(line.paid for line in lines)
    assert told["commission"] == sum(line.commission for line in lines)
    leaves_no_process(tmp_path)


def test_a_seed_gives_the_same_cards_outcomes_and_money_in_both_disclosure_modes(
    tmp_path: Path,
) -> None:
    one, again, deferred = (
        _coups_of(tmp_path / name, "11", disclosure)
        for name, disclosure in (("a", "immediate"), ("b", "immediate"), ("c", "deferred"))
    )
    assert one == again == deferred
    assert one != _coups_of(tmp_path / "other", "12", "immediate")


def _coups_of(data: Path, seed: str, disclosure: str) -> list[object]:
    """Cards by place and money by seat, coup by coup."""
    options = ("--rounds", "12", "--seed", seed, "--speed", "0", "--disclosure", disclosure)
    assert demo(*options, data=data).returncode == 0
    return [
        (
            sorted((place, card.value) for place, card in coup.cards.items()),
            sorted((line.seat, line.bet, line.stake, line.paid) for line in coup.lines),
        )
        for coup in read_log(data / "table.sqlite", "demo/t1").values()
    ]


def test_people_are_told_what_it_did_and_how_to_check_it(tmp_path: Path) -> None:
    ended = demo("--rounds", "3", "--seed", "7", "--speed", "0", data=tmp_path)
    assert ended.returncode == 0
    assert ended.stderr == ""
    assert (
        len(re.findall(r"^\d{8}-01/\d .*Player.*Banker.*staked.*paid", ended.stdout, re.MULTILINE))
        == 3
    )
    assert "the cage acknowledged 3" in ended.stdout
    assert f"baccarat log verify {tmp_path / 'table.sqlite'}" in ended.stdout
    proof = ["cage", "reconcile", str(tmp_path / "table.sqlite")]
    proof += ["--ledger", str(tmp_path / "ledger.sqlite")]
    assert f"baccarat {' '.join(proof)}" in ended.stdout
    assert main(proof) == 0


def test_a_sites_own_files_are_played_by_as_they_are_found_from_here(tmp_path: Path) -> None:
    rulebook, profile = tmp_path / 'har"bour.toml', tmp_path / "shoe.toml"
    rulebook.write_text(source("au-commission", "id=harbour", "bets.player.minimum=500"), "utf-8")
    profile.write_bytes(profile_text("enq-bcc"))
    named = ("--rulebook", os.path.relpath(rulebook), "--profile", os.path.relpath(profile))
    ended = demo("--rounds", "3", "--speed", "0", "--json", *named, data=tmp_path / "kept")
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert (told["coups"], told["lost"], told["duplicates"]) == (3, 0, 0)
    coups = read_log(Path(told["log"]), "demo/t1").values()
    lines = [line for coup in coups for line in coup.lines if line.bet == "player"]
    assert lines
    assert min(line.stake for line in lines) >= 500


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_demo_without_rounds_plays_until_it_is_told_to_end_and_leaves_no_process(
    number: signal.Signals, tmp_path: Path
) -> None:
    with endless(tmp_path) as process:
        assert process.stdout
        while "settled" not in (line := process.stdout.readline()) and "staked" not in line:
            assert line, "it ended before its first coup"
        process.send_signal(number)
        rest = process.stdout.read()
        assert process.wait(ENDS_WITHIN_S) == 0
    assert "the cage acknowledged" in rest
    assert "Traceback" not in rest
    leaves_no_process(tmp_path)
    assert verify(tmp_path / "table.sqlite").ok


def test_a_demo_that_is_killed_leaves_no_process_and_its_folder_can_be_played_on(
    tmp_path: Path,
) -> None:
    with endless(tmp_path) as process:
        assert process.stdout
        while "staked" not in (line := process.stdout.readline()):
            assert line, "it ended before its first coup"
        process.kill()
    leaves_no_process(tmp_path)
    ended = demo("--rounds", "3", "--seed", "1", "--speed", "0", "--json", data=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["coups"] == 3
    assert verify(tmp_path / "table.sqlite").ok


def test_a_port_in_use_is_one_line_and_leaves_no_process(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = demo("--rounds", "1", "--port", str(port), data=tmp_path)
    assert ended.returncode == 2
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert str(port) in line
    assert "in use" in line
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
    ended = demo("--json", "--rounds", "1", *options)
    assert ended.returncode == 2
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert line.startswith("baccarat: ")
    assert names in line


def test_a_folder_in_which_a_demo_plays_is_no_other_demos(tmp_path: Path) -> None:
    with endless(tmp_path) as process:
        assert process.stdout
        while "staked" not in (line := process.stdout.readline()):
            assert line, "it ended before its first coup"
        other = demo("--rounds", "1", "--json", data=tmp_path)
        assert process.poll() is None
    assert other.returncode == 2
    assert "another demo plays there" in other.stderr
    leaves_no_process(tmp_path)


def test_a_demo_whose_broker_is_killed_says_so_and_ends(tmp_path: Path) -> None:
    with endless(tmp_path) as process:
        assert process.stdout
        while "staked" not in (line := process.stdout.readline()):
            assert line, "it ended before its first coup"
        (broker,) = (pid for pid in of_this_demo(tmp_path) if _is_broker(pid))
        os.kill(broker, signal.SIGKILL)
        rest = process.stdout.read()
        assert process.wait(ENDS_WITHIN_S) == 2
    assert "the broker has ended" in rest
    assert "Traceback" not in rest
    leaves_no_process(tmp_path)


def _is_broker(pid: int) -> bool:
    return b"nats-server" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]


def test_a_reader_that_goes_away_ends_the_demo_without_a_word(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "baccarat", "demo", "--speed", "0", "--data", str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(ENDS_WITHIN_S) == 1
    leaves_no_process(tmp_path)


def test_a_full_disk_behind_stdout_is_one_line(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "baccarat", "demo", "--rounds", "1", "--data", str(tmp_path)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=ENDS_WITHIN_S,
            check=False,
        )
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert "No space left" in line
    leaves_no_process(tmp_path)
