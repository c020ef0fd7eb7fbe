"""`baccarat run` of several tables: one process a service, and a sick table harms no other."""

import json
import os
import pty
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.support.brokers.brokers import Broker
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


@pytest.fixture
def shoes() -> Iterator[list[str]]:
    """Two pseudo-terminals whose other ends we hold."""
    pairs = [pty.openpty(), pty.openpty()]
    yield [os.ttyname(slave) for _, slave in pairs]
    for descriptor in (each for pair in pairs for each in pair):
        os.close(descriptor)


def tables(folder: Path, port: int, shoes: list[str]) -> list[Path]:
    paths = [folder / "t1" / "table.toml", folder / "t2" / "table.toml"]
    for path, link in zip(paths, shoes, strict=True):
        path.parent.mkdir()
        path.write_text(TOML.format(table=path.parent.name, link=link, port=port))
    return paths


@contextmanager
def controller(*words: str | Path) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "baccarat", "run", *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        try:
            yield running
        finally:
            running.send_signal(signal.SIGTERM)


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


def services(running: "subprocess.Popen[str]") -> int:
    """How many processes the controller has started and still has."""
    return len(Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split())


def test_one_process_a_service_hosts_both_tables(
    broker: Broker, tmp_path: Path, shoes: list[str]
) -> None:
    paths = tables(tmp_path, broker.port, shoes)
    with controller(*paths) as running:
        until_blocking(lambda: all(map(heard, paths)), "both shoes are heard")
        assert services(running) == 2
        running.send_signal(signal.SIGTERM)
        assert running.stderr
        said = running.stderr.read()
        assert running.wait(30) == 0
    assert "Traceback" not in said


def test_a_table_whose_log_is_none_is_told_and_the_other_plays(
    broker: Broker, tmp_path: Path, shoes: list[str]
) -> None:
    paths = tables(tmp_path, broker.port, shoes)
    log = paths[0].with_name("table.sqlite")
    log.write_text("these are my notes\n")
    with controller(*paths) as running:
        until_blocking(lambda: heard(paths[1]), "the sound table's shoe is heard")
        # Put right while all the others play, it comes to play by itself.
        log.unlink()
        until_blocking(lambda: heard(paths[0]), "the other's too, once it is put right")
        running.send_signal(signal.SIGTERM)
        assert running.stderr
        said = running.stderr.read()
        assert running.wait(30) == 0
    lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    ended = [line for line in lines if line["event"] == "table.ended"]
    assert {(line["table"], line["service"]) for line in ended} == {("test/t1", "table")}
    assert str(log) in ended[0]["reason"]


def test_tables_that_share_a_shoe_are_refused_before_anything_starts(
    tmp_path: Path, shoes: list[str]
) -> None:
    paths = tables(tmp_path, 1, [shoes[0], shoes[0]])
    ended = subprocess.run(
        [sys.executable, "-m", "baccarat", "run", *paths],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert f"shoe.url is pty:{shoes[0]}, as in {paths[0]}" in line
    assert not paths[0].with_name("table.sqlite").exists()
