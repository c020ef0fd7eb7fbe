"""Fifty coups of a full table, entered at a dealer's pace."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.support.service.console_table import ConsoleTable, console_table
from tests.support.service.entry import Way, enter_full_table
from tests.support.service.screens import Screen, chromium, screen

COUPS = 50
WAYS: tuple[Way, ...] = ("keys", "taps", "mixed")


@pytest.fixture
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleTable]:
    with console_table(tmp_path_factory.mktemp("table")) as started:
        yield started


@pytest.fixture
def dealer(browser: Browser, table: ConsoleTable) -> Iterator[Screen]:
    with screen(browser, table) as opened:
        opened.log_in("both", "/dealer")
        opened.shoe_is_loaded()
        yield opened


@pytest.mark.soak
def test_what_is_pressed_is_in_the_log_for_fifty_coups(dealer: Screen, table: ConsoleTable) -> None:
    for number in range(COUPS):
        dealer.act("open_betting")
        dealer.phase("betting")
        table.mark()
        enter_full_table(dealer, table, "both", WAYS[number % len(WAYS)])
        dealer.ask("void_coup", reason="the next one")
        dealer.phase("voided")
    dealer.is_clean()
