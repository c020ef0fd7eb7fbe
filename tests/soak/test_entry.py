"""Fifty coups of a full table, entered at a dealer's pace."""

from pathlib import Path

import pytest

from tests.support.service.console_table import console_table
from tests.support.service.entry import Way, enter_full_table
from tests.support.service.screens import chromium, screen

COUPS = 50
WAYS: tuple[Way, ...] = ("keys", "taps", "mixed")


@pytest.mark.soak
def test_what_is_pressed_is_in_the_log_for_fifty_coups(tmp_path: Path) -> None:
    with chromium() as browser, console_table(tmp_path) as table, screen(browser, table) as dealer:
        dealer.log_in("both", "/dealer")
        dealer.shoe_is_loaded()
        for number in range(COUPS):
            dealer.act("open_betting")
            dealer.phase("betting")
            table.mark()
            enter_full_table(dealer, table, "both", WAYS[number % len(WAYS)])
            dealer.ask("void_coup", reason="the next one")
            dealer.phase("voided")
        dealer.is_clean()
