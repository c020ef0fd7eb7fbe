"""The audit never says that it audited what nobody was asked about."""

from pathlib import Path
from typing import Any

import pytest

from tests.tools.audit import CLEAN, FOUND, NOT_AUDITED, judged, main

# Of the shapes that pip-audit 2 writes.
GOOD: dict[str, Any] = {"name": "click", "version": "8.3.0", "vulns": []}
BAD: dict[str, Any] = {
    "name": "jinja2",
    "version": "2.10",
    "vulns": [{"id": "PYSEC-2019-217", "fix_versions": ["2.10.1"], "aliases": []}],
}
UNFIXED: dict[str, Any] = {"name": "x", "version": "1", "vulns": [{"id": "A", "fix_versions": []}]}
SKIPPED: dict[str, Any] = {"name": "rich", "skip_reason": "Dependency not found: rich (14.0)"}


@pytest.mark.parametrize(
    ("packages", "code", "says"),
    [
        ([GOOD], CLEAN, "1 packages, none"),
        ([GOOD, BAD], FOUND, "jinja2 2.10: PYSEC-2019-217, mended in 2.10.1"),
        ([UNFIXED], FOUND, "no version yet"),
        ([GOOD, SKIPPED], NOT_AUDITED, "NOT DONE, the advisory database cannot be asked: 1 of 2"),
        ([SKIPPED, BAD], FOUND, "PYSEC-2019-217"),
        ([], NOT_AUDITED, "no connection"),
    ],
)
def test_what_is_said(packages: list[dict[str, Any]], code: int, says: str) -> None:
    outcome = judged({"dependencies": packages, "fixes": []}, "no connection")
    assert outcome.code == code
    assert says in outcome.lines[0]


@pytest.mark.process
@pytest.mark.parametrize(
    "script", [None, "echo 'Max retries exceeded' >&2; exit 1"], ids=["not there", "no network"]
)
def test_a_program_that_cannot_ask_has_not_audited(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], script: str | None
) -> None:
    program = tmp_path / "pip-audit"
    if script:
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    assert main([str(program), "requirements/runtime.txt"]) == NOT_AUDITED
    said = capsys.readouterr().err
    assert "NOT DONE" in said
    assert ("Max retries" if script else "No such file") in said
