"""`baccarat run`: bad input is one line and exit 2, and what was there stays as it was."""

import os
import pty
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import serial

from events.log.store import EventLog
from tests.support.brokers.brokers import Broker
from tests.support.machine.waiting import until_blocking

TOML = """\
site = "test"
table = "t1"
rulebook = "au-commission"
[shoe]
url = "pty:{link}"
[bus]
port = {port}
"""


def write(folder: Path, *, port: int = 1, link: str = "", extra: str = "") -> Path:
    path = folder / "table.toml"
    path.write_text(TOML.format(link=link or folder / "shoe", port=port) + extra)
    return path


def run(*words: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "baccarat", "run", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def one_line(ended: "subprocess.CompletedProcess[str]") -> str:
    assert ended.returncode == 2, ended.stderr
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert line.startswith("baccarat: ")
    return line


@pytest.fixture
def shoe() -> Iterator[str]:
    """A pseudo-terminal whose other end we hold."""
    master, slave = pty.openpty()
    try:
        yield os.ttyname(slave)
    finally:
        os.close(master)
        os.close(slave)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("site = 1\n", ["site"]),
        ("site = 'a'\ntable = 'b'\nrulebook = 'c'\n", ["shoe"]),
        (TOML.replace("rulebook", "rulebok"), ["rulebok"]),
        (TOML.replace('"test"', '"Test Site"'), ["site", "lower-case"]),
        (TOML + "[users]\ndealer = ['croupier']\n", ["croupier", "dealer"]),
        (TOML + "[users]\ncore = ['dealer']\n", ["core"]),
        ("base = 'x'\n" + TOML, ["base"]),
        (TOML.replace("{port}", "0"), ["port"]),
        (TOML.replace("{port}", "99999"), ["port"]),
        (TOML + "host = ''\n", ["bus.host"]),
        (TOML + "password_file = 'no-such'\n", ["bus.password_file", "no-such"]),
        (TOML + "[users]\n'a b' = ['dealer']\n", ["a b"]),
        (TOML.replace("au-commission", "no-such"), ["no-such", "au-commission"]),
        (
            "pay_scale = 'two'\n" + TOML.replace("au-commission", "nz-scale-one"),
            ["pay_scale", "scale one", "two"],
        ),
        ("site = \n", ["TOML"]),
    ],
)
def test_a_bad_configuration_names_file_and_key(
    text: str, names: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "table.toml"
    path.write_text(text.replace("{link}", "/dev/null").replace("{port}", "1"))
    ended = run(path)
    lines = ended.stderr.splitlines()
    assert ended.returncode == 2
    assert all(line.startswith(f"baccarat: {path}: ") for line in lines)
    for name in names:
        assert any(name in line for line in lines)


def test_a_configuration_that_is_not_there(tmp_path: Path) -> None:
    assert "No such file" in one_line(run(tmp_path / "table.toml"))


def test_a_shoe_port_that_does_not_exist(tmp_path: Path) -> None:
    line = one_line(run(write(tmp_path, link="/dev/serial/by-id/no-such-shoe")))
    assert "/dev/serial/by-id/no-such-shoe" in line
    assert "does not exist" in line


def test_a_shoe_port_in_use(tmp_path: Path, shoe: str) -> None:
    with serial.Serial(shoe, exclusive=True):
        line = one_line(run(write(tmp_path, link=shoe)))
    assert shoe in line
    assert "in use" in line


@pytest.mark.parametrize("service", ["table", "shoe"])
def test_a_data_folder_that_cannot_be_written(service: str, tmp_path: Path, shoe: str) -> None:
    extra = '[data]\nlog = "/dev/null/x/table.sqlite"\njournal = "/dev/null/x/journal"\n'
    line = one_line(run(write(tmp_path, link=shoe, extra=extra), "--only", service))
    assert "/dev/null/x" in line


def _newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")


def _truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-700])


def _foreign(path: Path) -> None:
    path.write_text("these are my notes\n")


@pytest.mark.parametrize("harm", [_newer, _truncated, _foreign])
def test_a_log_that_is_not_ours_to_write_stays_as_it_was(
    harm: object, tmp_path: Path, shoe: str
) -> None:
    path = tmp_path / "table.sqlite"
    EventLog.open(path, "test/t1").close()
    assert callable(harm)
    harm(path)
    before = path.read_bytes()
    files = sorted(each.name for each in tmp_path.iterdir())
    config = write(tmp_path, link=shoe)
    assert str(path) in one_line(run(config, "--only", "table"))
    assert path.read_bytes() == before
    config.unlink()
    assert sorted(each.name for each in tmp_path.iterdir()) == files


def test_both_services_come_up_and_end_together(broker: Broker, tmp_path: Path, shoe: str) -> None:
    path = write(tmp_path, port=broker.port, link=shoe)
    with subprocess.Popen(
        [sys.executable, "-m", "baccarat", "run", str(path)], stderr=subprocess.PIPE, text=True
    ) as controller:
        log = tmp_path / "table.sqlite"
        until_blocking(lambda: log.exists() and _events(log) > 1, "the shoe was not heard")
        controller.send_signal(signal.SIGTERM)
        assert controller.stderr
        said = controller.stderr.read()
        assert controller.wait(30) == 0
    assert "Traceback" not in said


def _child_of(controller: "subprocess.Popen[str]", service: str) -> int | None:
    """The process of a service of this controller."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if int(parent) == controller.pid and service.encode() in words:
            return int(entry.name)
    return None


@pytest.mark.parametrize("service", ["shoe", "table"])
def test_a_service_that_is_killed_is_started_again_and_the_other_goes_on(
    service: str, broker: Broker, tmp_path: Path, shoe: str
) -> None:
    path = write(tmp_path, port=broker.port, link=shoe)
    other = {"shoe": "table", "table": "shoe"}[service]
    with subprocess.Popen(
        [sys.executable, "-m", "baccarat", "run", str(path)], stderr=subprocess.PIPE, text=True
    ) as controller:
        log = tmp_path / "table.sqlite"
        until_blocking(lambda: log.exists() and _events(log) > 1, "the shoe was not heard")
        first, stays = _child_of(controller, service), _child_of(controller, other)
        assert first
        os.kill(first, signal.SIGKILL)
        until_blocking(
            lambda: _child_of(controller, service) not in {None, first}, "it is not started again"
        )
        assert _child_of(controller, other) == stays
        controller.send_signal(signal.SIGTERM)
        assert controller.stderr
        said = controller.stderr.read()
        assert controller.wait(30) == 0
    assert f"the {service} service has ended by SIGKILL; it is started again" in said


def test_a_service_that_refuses_its_input_ends_the_controller_and_says_so_last(
    broker: Broker, tmp_path: Path, shoe: str
) -> None:
    (tmp_path / "table.sqlite").write_text("these are my notes\n")
    path = write(tmp_path, port=broker.port, link=shoe)
    ended = run(path)
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith("baccarat: the table service has ended")
    assert "refuses its input" in ended.stderr


def _events(path: Path) -> int:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        try:
            (count,) = db.execute("SELECT count(*) FROM event").fetchone()
        except sqlite3.OperationalError:
            return 0  # not made yet
    return int(count)
