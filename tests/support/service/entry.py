"""Wagers of a full table, entered at a dealer's pace by key or by tap, with refusals among them."""

from typing import Final, Literal

from playwright.sync_api import expect

from tests.support.service.console_table import ConsoleTable, Placed
from tests.support.service.screens import Screen

Way = Literal["keys", "taps", "mixed"]
_KEY_MS: Final = 150
_TAP_MS: Final = 200
_SEATS: Final = range(1, 10)
# Banker beside Player is refused; the second Player comes on top of the first.
_BETS: Final = (("player", True), ("tie", True), ("banker", False), ("player", True))
_STAKE: Final = 2500


def enter_full_table(dealer: Screen, table: ConsoleTable, actor: str, way: Way) -> None:
    """Enter four wagers at each of nine seats, and hold the log against what was pressed.

    Args:
        dealer: a dealer's page; betting is open, and the log marked.
        table: behind it.
        actor: who presses.
        way: by keys, by taps on a chip and on a spot, or by either at every other seat.
    """
    page = dealer.page
    for seat in _SEATS:
        for bet, _ in _BETS:
            if way == "keys" or (way == "mixed" and seat % 2):
                for key in (str(seat), bet[0], "Shift+Digit3", "w"):
                    page.keyboard.press(key)
                    page.wait_for_timeout(_KEY_MS)
                continue
            for spot in (f"#chips [data-chip='{_STAKE}']", f"#bets [data-spot='{seat} {bet}']"):
                page.locator(spot).click()
                page.wait_for_timeout(_TAP_MS)
    expect(page.locator("#pressed li:not([data-standing=not])")).to_have_count(0)
    accepted = [
        Placed(f"console:{actor}", seat, bet, _STAKE)
        for seat in _SEATS
        for bet, stands in _BETS
        if stands
    ]
    assert table.placed() == accepted
    refused = page.locator("#pressed li[data-code=opposite_sides]")
    expect(refused).to_have_count(len(_SEATS))
    expect(page.locator("#pressed li")).to_have_count(len(_SEATS))
    expect(page.locator("#bets [data-spot='9 player'] .disc")).to_have_text("50")
