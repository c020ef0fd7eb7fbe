"""What the documents show of the console is what the console says, to the letter."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.sources import ROOT, texts
from tests.support.console_pages import Session, sessions

# The pages whose commands need a hub, a database and a witness: tests/soak/test_life.py plays them.
_PLAYED = "docs/property/"


def _sessions() -> list[Session]:
    return [
        each
        for path, document in texts().items()
        if path.endswith(".md") and not path.startswith(_PLAYED)
        for each in sessions(document)
    ]


@pytest.mark.parametrize(("command", "shown"), _sessions())
def test_the_console_says_what_the_document_shows(command: str, shown: str, tmp_path: Path) -> None:
    shim = tmp_path / "baccarat"
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m baccarat "$@"\n', encoding="utf-8")
    shim.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", command],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=tmp_path,
        env=os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)},
    )
    assert (done.returncode, done.stdout) == (0, shown), done.stderr


_PYTHON = re.compile(
    r"^```python\n(.*?)```\n\nIt prints:\n\n```\n(.*?)```", re.MULTILINE | re.DOTALL
)


def test_the_librarys_examples_print_what_the_page_shows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    examples = _PYTHON.findall(texts()["docs/integrate/library.md"])
    assert len(examples) >= 3
    for code, shown in examples:
        exec(code, {})  # noqa: S102 - the page's own code
        assert capsys.readouterr().out == shown


def test_the_readme_shows_the_console() -> None:
    assert _sessions()
