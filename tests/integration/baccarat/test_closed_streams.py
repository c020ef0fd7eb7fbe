"""Standard streams that are closed, or whose reader goes: a line or nothing, never a traceback."""

import subprocess
import sys
from pathlib import Path

import pytest

LOG = Path(__file__).parents[2] / "corpus" / "0.1.0" / "table.sqlite"
BACCARAT = f"{sys.executable} -m baccarat"


def shell(command: str) -> tuple[int, str]:
    done = subprocess.run(
        ["/bin/bash", "-c", command], capture_output=True, check=False, timeout=120, text=True
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("command", "what"), [(f"log show {LOG}", "shown"), (f"log verify --json {LOG}", "said")]
)
def test_results_that_can_go_nowhere_are_an_error_in_one_line(command: str, what: str) -> None:
    code, said = shell(f"{BACCARAT} {command} >&-")
    assert code == 2
    assert said == f"baccarat: standard output is closed; what is {what} needs somewhere to go\n"


def test_no_file_takes_the_place_of_a_closed_stream() -> None:
    code, _ = shell(f"{BACCARAT} log verify {LOG} <&- >/dev/null 2>&-")
    assert code == 0


def test_a_reader_that_goes_is_no_news() -> None:
    code, said = shell(f"{BACCARAT} log show {LOG} | head -1 >/dev/null; exit ${{PIPESTATUS[0]}}")
    assert (code, said) == (1, "")


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ("--coup NOSUCH", 1, "no event names a coup NOSUCH"),
        ("--from 2 --coup 20261127-01/1 --to 3", 1, "no event between these positions names a"),
        ("--from 5 --to 3", 2, "--from 5 --to 3: no position lies between them"),
        ("--from 999999", 1, "none from 999,999 on"),
    ],
)
def test_what_is_not_there_is_said(options: str, code: int, said: str) -> None:
    ended, told = shell(f"{BACCARAT} log show {options} {LOG}")
    assert ended == code
    assert said in told
    assert told.count("\n") == 1
