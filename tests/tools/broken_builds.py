"""`make broken`: builds with a defect each, and whether the world or the suite catches it.

Each defect is put into a copy of its own. Exit code 1: one was not caught, one no longer applies,
or what should catch it fails on the build as it is.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

from tests.tools.defects import CATCHERS, DEFECTS, Defect

_HERE: Final = Path(__file__).parents[2]
_FAILED: Final = 1  # of a world that broke and of a test that failed; anything else is no catch
_LIMIT_S: Final = 900


class Verdict(NamedTuple):
    """What became of a build: whether it is as it should be, and one line about it."""

    ok: bool
    line: str


def main(names: Sequence[str]) -> int:
    """Try the defects whose names hold one of these words; all where none is given."""
    chosen = [d for d in DEFECTS if not names or any(name in d.name for name in names)]
    with tempfile.TemporaryDirectory(prefix="baccarat-broken-") as folder:
        whole = copy_of(Path(folder) / "whole")
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            catchers = sorted({defect.catcher for defect in chosen})
            verdicts = list(pool.map(lambda name: _control(name, whole), catchers))
            copies = [Path(folder) / f"defect-{number}" for number, _ in enumerate(chosen)]
            verdicts += pool.map(try_defect, chosen, copies)
    for verdict in verdicts:
        sys.stdout.write(f"{verdict.line}\n")
    return 0 if all(verdict.ok for verdict in verdicts) else 1


def copy_of(folder: Path) -> Path:
    """The rooms and the tests as they are now, in a folder that is made."""
    wheel = tomllib.loads((_HERE / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    for room in (*wheel["targets"]["wheel"]["packages"], "tests"):
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
        shutil.copytree(_HERE / room, folder / room, ignore=ignored)
    shutil.copyfile(_HERE / "pyproject.toml", folder / "pyproject.toml")
    return folder


def applied(defect: Defect, folder: Path) -> bool:
    """Put a defect into a copy; False where the text that it changes is not there once."""
    file = folder / defect.path
    text = file.read_text()
    if text.count(defect.right) != 1:
        return False
    file.write_text(text.replace(defect.right, defect.wrong))
    return True


def try_defect(defect: Defect, folder: Path) -> Verdict:
    """Build it, and see whether it is caught."""
    copy_of(folder)
    if not applied(defect, folder):
        return Verdict(ok=False, line=f"STALE     {defect.name}: {defect.path} has changed")
    code, said = _run(defect.catcher, folder)
    if code == _FAILED:
        return Verdict(ok=True, line=f"caught    {defect.name}: {defect.catcher}: {said}")
    return Verdict(ok=False, line=f"SURVIVED  {defect.name}: {defect.catcher} exits {code}: {said}")


def _control(catcher: str, whole: Path) -> Verdict:
    code, said = _run(catcher, whole)
    word = "passes" if code == 0 else "FAILS"
    return Verdict(ok=code == 0, line=f"{word:9} the build as it is: {catcher}: {said}")


def _run(catcher: str, folder: Path) -> tuple[int, str]:
    """The exit code, and the line that says most; a world that broke needs no further seed."""
    run = subprocess.Popen(
        ["timeout", str(_LIMIT_S), sys.executable, *CATCHERS[catcher]],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    last = telling = ""
    with run:
        assert run.stdout is not None
        for line in map(str.strip, run.stdout):
            last = line or last
            if not telling and line.startswith(("BROKE", "FAILED", "E  ")):
                telling = line
            if line.startswith("BROKE"):
                run.terminate()  # which `timeout` hands on
                return _FAILED, line[:160]
    return run.returncode, (telling or last)[:160]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
