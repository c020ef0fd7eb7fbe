"""What `make quick` runs: nearly all tests of every room, and none that takes long."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.house.sources import MAY_IMPORT, ROOT

_UNIT = ROOT / "tests/unit"
_ROOMS = sorted(set(MAY_IMPORT) - {"benchmarks"})
_LEFT_OUT = {"pytest.mark.process", "pytest.mark.sweep"}


def _tests(room: str) -> Counter[bool]:
    """How many tests of a room are run, and how many are left out."""
    found: Counter[bool] = Counter()
    for path in (_UNIT / room).rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                marks = {ast.unparse(each) for each in node.decorator_list}
                found[bool(marks & _LEFT_OUT)] += node.name.startswith("test_")
    return found


def _recipe() -> str:
    text = Path(ROOT, "Makefile").read_text("utf-8")
    [recipe] = re.findall(r"^quick:.*\n((?:\t.*\n)+)", text, re.MULTILINE)
    [pure] = re.findall(r"^PURE := (.*)$", text, re.MULTILINE)
    return str(recipe).replace("$(PURE)", pure)


def test_it_checks_lint_format_and_types_and_runs_the_unit_tests() -> None:
    recipe = _recipe()
    for part in ("ruff check", "ruff format", "mypy", "wait $$types"):
        assert part in recipe
    assert re.search(r'pytest .*-m "not soak and not process and not sweep" tests/unit', recipe)


@pytest.mark.parametrize("room", _ROOMS)
def test_nearly_every_test_of_a_room_is_among_them(room: str) -> None:
    found = _tests(room)
    assert found[False] >= 10, "this room has few tests for `make quick`"
    assert found[True] <= found[False] / 10
