"""A file that somebody names is written whole, and over nothing that is not another of its kind."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from baccarat.cli.main import main
from baccarat.cli.output_files import write_whole
from events.errors import InputError
from tests.support.table.coups import SHOE
from tests.support.table.evidence import played

COUP = f"{SHOE}/2"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return played(tmp_path_factory.mktemp("log") / "table.sqlite", coups=3)


@pytest.mark.parametrize("command", [("evidence", "-o"), ("replay", "--html")])
def test_a_log_or_a_key_is_not_written_over_by_a_slip(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, str]
) -> None:
    name, option = command
    key = tmp_path / "table.key"
    key.write_text("PRIVATE+KEY")
    for wrong in (log, key):
        before = wrong.read_bytes()
        assert main([name, str(log), "--coup", COUP, option, str(wrong)]) == 2
        told = capsys.readouterr()
        assert told.err == (
            f"baccarat: {option} {wrong}: holds something else, and that is not overwritten\n"
        )
        assert wrong.read_bytes() == before
    made = tmp_path / "made"
    for _ in range(2):
        assert main([name, str(log), "--coup", COUP, option, str(made)]) == 0
    assert made.stat().st_size > 1000
    assert {each.name for each in tmp_path.iterdir()} == {"table.key", "made"}


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(pipe, b"{ all }", "-o")
        assert os.read(reader, 100) == b"{ all }"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"")
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", b"{ 12345 1 }", "-o")
    write_whole(tmp_path / "link", b"{ 12345 2 }", "-o")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"{ 12345 2 }"


def test_what_cannot_be_written_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to("circle")
    for bad in (tmp_path, tmp_path / "none" / "file", tmp_path / "circle"):
        with pytest.raises(InputError, match=f"^-o {bad}: "):
            write_whole(bad, b"{}", "-o")
    assert [each.name for each in tmp_path.iterdir()] == ["circle"]


@pytest.mark.process
@pytest.mark.parametrize("command", ["settle --batch", "log show LOG"])
def test_a_standard_output_that_is_closed_gets_one_line(log: Path, command: str) -> None:
    words = [str(log) if word == "LOG" else word for word in command.split()]
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "baccarat", *words],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done
    assert "closed" in done.stderr
