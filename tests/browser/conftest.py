"""A browser and a table, which the tests of a module share."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.support.service.console_table import ConsoleTable, console_table
from tests.support.service.screens import chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleTable]:
    with console_table(tmp_path_factory.mktemp("table")) as started:
        yield started
