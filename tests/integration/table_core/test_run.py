"""`baccarat run`: bad input is one line and exit 2, and what was there stays as it was.

Of several tables there is one process a service, and a sick table harms no other.
"""

import json
import os
import pty
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import serial

from events.log.store import EventLog
from tests.support.brokers.brokers import Broker
from tests.support.machine.commands import at_work, complaint, here, run
from tests.support.machine.waiting import until_blocking

TOML = """\
site = "test"
table = "{table}"
rulebook = "au-commission"
[shoe]
url = "pty:{link}"
[bus]
port = {port}
"""


def write(
    folder: Path, *, port: int = 1, link: str = "", extra: str = "", table: str = "t1"
) -> Path:
    path = folder / "table.toml"
    path.write_text(TOML.format(table=table, link=link or folder / "shoe", port=port) + extra)
    return path


@pytest.fixture
def shoes() -> Iterator[list[str]]:
    """Two pseudo-terminals whose other ends we hold."""
    pairs = [pty.openpty(), pty.openpty()]
    yield [os.ttyname(slave) for _, slave in pairs]
    for descriptor in (each for pair in pairs for each in pair):
        os.close(descriptor)


@pytest.fixture
def shoe(shoes: list[str]) -> str:
    return shoes[0]


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
    for name, value in (("link", "/dev/null"), ("port", "1"), ("table", "t1")):
        text = text.replace(f"{{{name}}}", value)
    path.write_text(text)
    ended = here("run", path)
    lines = ended.err.splitlines()
    assert ended.code == 2
    assert all(line.startswith(f"baccarat: {path}: ") for line in lines)
    for name in names:
        assert any(name in line for line in lines)


def test_a_configuration_that_is_not_there(tmp_path: Path) -> None:
    assert "No such file" in complaint(run("run", tmp_path / "table.toml"))


def test_a_shoe_port_that_does_not_exist(tmp_path: Path) -> None:
    line = complaint(run("run", write(tmp_path, link="/dev/serial/by-id/no-such-shoe")))
    assert "/dev/serial/by-id/no-such-shoe" in line
    assert "does not exist" in line


def test_a_shoe_port_in_use(tmp_path: Path, shoe: str) -> None:
    with serial.Serial(shoe, exclusive=True):
        line = complaint(run("run", write(tmp_path, link=shoe)))
    assert shoe in line
    assert "in use" in line


@pytest.mark.parametrize("service", ["table", "shoe"])
def test_a_data_folder_that_cannot_be_written(service: str, tmp_path: Path, shoe: str) -> None:
    extra = '[data]\nlog = "/dev/null/x/table.sqlite"\njournal = "/dev/null/x/journal"\n'
    line = complaint(run("run", write(tmp_path, link=shoe, extra=extra), "--only", service))
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
    assert str(path) in complaint(run("run", config, "--only", "table"))
    assert path.read_bytes() == before
    config.unlink()
    assert sorted(each.name for each in tmp_path.iterdir()) == files


def heard(path: Path) -> bool:
    """Whether the table's log has anything of its shoe."""
    log = path.with_name("table.sqlite")
    if not log.exists():
        return False
    with closing(sqlite3.connect(f"file:{log}?mode=ro", uri=True)) as db:
        try:
            (count,) = db.execute("SELECT count(*) FROM event").fetchone()
        except sqlite3.OperationalError:
            return False  # not made yet
    return int(count) > 1


def last_words(controller: "subprocess.Popen[bytes]") -> str:
    """What it wrote, once it was told to end and has ended in order."""
    controller.send_signal(signal.SIGTERM)
    _, said = controller.communicate(timeout=30)
    assert controller.returncode == 0
    return said.decode()


def test_both_services_come_up_and_end_together(broker: Broker, tmp_path: Path, shoe: str) -> None:
    path = write(tmp_path, port=broker.port, link=shoe)
    with at_work("run", path) as controller:
        until_blocking(lambda: heard(path), "the shoe is heard")
        assert "Traceback" not in last_words(controller)


def _child_of(controller: "subprocess.Popen[bytes]", service: str) -> int | None:
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
    with at_work("run", path) as controller:
        until_blocking(lambda: heard(path), "the shoe is heard")
        first, stays = _child_of(controller, service), _child_of(controller, other)
        assert first
        os.kill(first, signal.SIGKILL)
        until_blocking(
            lambda: _child_of(controller, service) not in {None, first}, "it is not started again"
        )
        assert _child_of(controller, other) == stays
        said = last_words(controller)
    assert f"the {service} service has ended by SIGKILL; it is started again" in said


def test_a_service_that_refuses_its_input_ends_the_controller_and_says_so_last(
    broker: Broker, tmp_path: Path, shoe: str
) -> None:
    (tmp_path / "table.sqlite").write_text("these are my notes\n")
    path = write(tmp_path, port=broker.port, link=shoe)
    ended = run("run", path)
    assert ended.code == 1
    assert ended.err.splitlines()[-1].startswith("baccarat: the table service has ended")
    assert "refuses its input" in ended.err


def tables(folder: Path, port: int, shoes: list[str]) -> list[Path]:
    paths = []
    for name, link in zip(("t1", "t2"), shoes, strict=True):
        (folder / name).mkdir()
        paths.append(write(folder / name, port=port, link=link, table=name))
    return paths


def services(running: "subprocess.Popen[bytes]") -> int:
    """How many processes the controller has started and still has."""
    return len(Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split())


def test_one_process_a_service_hosts_both_tables(
    broker: Broker, tmp_path: Path, shoes: list[str]
) -> None:
    paths = tables(tmp_path, broker.port, shoes)
    with at_work("run", *paths) as running:
        until_blocking(lambda: all(map(heard, paths)), "both shoes are heard")
        assert services(running) == 2
        assert "Traceback" not in last_words(running)


def test_a_table_whose_log_is_none_is_told_and_the_other_plays(
    broker: Broker, tmp_path: Path, shoes: list[str]
) -> None:
    paths = tables(tmp_path, broker.port, shoes)
    log = paths[0].with_name("table.sqlite")
    log.write_text("these are my notes\n")
    with at_work("run", *paths) as running:
        until_blocking(lambda: heard(paths[1]), "the sound table's shoe is heard")
        # Put right while all the others play, it comes to play by itself.
        log.unlink()
        until_blocking(lambda: heard(paths[0]), "the other's too, once it is put right")
        said = last_words(running)
    lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    ended = [line for line in lines if line["event"] == "table.ended"]
    assert {(line["table"], line["service"]) for line in ended} == {("test/t1", "table")}
    assert str(log) in ended[0]["reason"]


def test_tables_that_share_a_shoe_are_refused_before_anything_starts(
    tmp_path: Path, shoes: list[str]
) -> None:
    paths = tables(tmp_path, 1, [shoes[0], shoes[0]])
    line = complaint(run("run", *paths))
    assert f"shoe.url is pty:{shoes[0]}, as in {paths[0]}" in line
    assert not paths[0].with_name("table.sqlite").exists()
