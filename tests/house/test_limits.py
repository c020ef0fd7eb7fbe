"""The page of limits: each row has the value that the code has, and no bound is without a row."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

import msgspec
import pytest

from tests.house.sources import Source, sources, texts

PAGE: Final = "docs/reference/limits.md"
# A constant that is a bound has one of these words in its name.
WORDS: Final = re.compile(
    r"(?<![A-Z])(AHEAD|ATTEMPTS|BURST|KEPT|LARGEST|LEAST|LIMIT|LONGEST|MAX|MOST|THINNEST)(?![A-Z])"
)
UNITS: Final = {
    "": 1,
    "bytes": 1,
    "characters": 1,
    "KiB": 1024,
    "MiB": 1024**2,
    "ms": 0.001,
    "s": 1,
    "min": 60,
    "h": 3600,
}
SUFFIXES: Final = {"_MS": 0.001, "_US": 0.000_001}
_ROW: Final = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| `([\w.]+)` \|$", re.MULTILINE)
ROWS: Final = [row for row in _ROW.findall(texts()[PAGE]) if re.search(r"\.[A-Z_]+$", row[3])]
KEYS: Final = [row for row in _ROW.findall(texts()[PAGE]) if row not in ROWS]


def said(text: str) -> float:
    """Read a value of the page, in bytes, seconds or a count."""
    number, _, unit = text.partition(" ")
    return float(number.replace(",", "")) * UNITS[unit]


def kept(name: str) -> float:
    """Return a constant's value, in bytes, seconds or a count."""
    module, _, constant = name.rpartition(".")
    value: float = getattr(import_module(module), constant)
    return value * next((SUFFIXES[end] for end in SUFFIXES if constant.endswith(end)), 1)


@pytest.mark.parametrize(("value", "name"), [(row[1], row[3]) for row in ROWS])
def test_a_row_has_the_value_of_its_constant(value: str, name: str) -> None:
    assert said(value) == pytest.approx(kept(name), rel=1e-12)


@pytest.mark.parametrize(("low", "high", "name"), [row[1:] for row in KEYS])
def test_a_key_of_the_configuration_has_its_range(low: str, high: str, name: str) -> None:
    module, form, key = name.rsplit(".", 2)
    found: Any = msgspec.inspect.type_info(getattr(import_module(module), form))
    kind = next(field.type for field in found.fields if field.name == key)
    number = next(each for each in getattr(kind, "types", (kind,)) if hasattr(each, "ge"))
    assert (said(low), said(high)) == (number.ge, number.le)


def bounds(source: Source) -> Iterator[str]:
    """Yield the bounds of a module: constants that are numbers, by name."""
    module = import_module(source.module)
    for node in source.tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
            if WORDS.search(name) and isinstance(getattr(module, name), int | float):
                yield f"{source.module}.{name}"


def test_no_bound_is_missing_and_none_is_told_twice() -> None:
    named = [row[3] for row in ROWS]
    assert len(set(named)) == len(named) > 100
    modules = [each for each in sources() if each.is_product and each.room != "simulators"]
    # Migrations run inside alembic only.
    found = {name for each in modules if ".migrations" not in each.module for name in bounds(each)}
    assert sorted(found - set(named)) == [], f"give each a row in {PAGE}"
