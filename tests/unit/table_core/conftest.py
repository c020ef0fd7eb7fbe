"""The log of a table, empty and open."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from events.log.store import EventLog


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    with EventLog.open(tmp_path / "table.sqlite", "site/t1") as opened:
        yield opened
