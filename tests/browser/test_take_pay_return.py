"""What a dealer gives back of a void coup; `projections/test_pay_list.py` has the amounts."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.service.console_table import ConsoleTable, console_table
from tests.support.service.screens import Screen, screen


@pytest.fixture(scope="module")
def dealer(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Screen]:
    with console_table(tmp_path_factory.mktemp("table")) as table, screen(browser, table) as opened:
        opened.log_in("both", "/dealer")
        yield opened
        opened.is_clean()


def test_a_void_coup_says_which_stakes_go_back(dealer: Screen) -> None:
    page: Page = dealer.page
    table: ConsoleTable = dealer.table
    dealer.shoe_is_loaded()
    dealer.act("open_betting")
    dealer.phase("betting")
    wagers: list[dict[str, Any]] = [
        {"seat": 2, "bet": "player", "stake": 2500},
        {"seat": 7, "bet": "banker", "stake": 500},
    ]
    dealer.ask("place_wager", wagers=wagers)
    dealer.act("close_betting")
    dealer.phase("closed")
    table.say("D P1 6S")
    dealer.phase("dealing")
    dealer.ask("void_coup", reason="a misdeal")
    dealer.phase("voided")
    for wager in wagers:
        row = page.locator(f"#standing tr[data-seat='{wager['seat']}']")
        expect(row).to_have_attribute("data-result", "void")
        expect(row.locator("td.back")).to_have_text(f"{wager['stake'] / 100:.2f}")
    expect(page.locator("#standing tfoot td.back")).to_have_text("30.00")
    expect(page.locator("#standing tfoot td.take")).to_have_text("\N{EN DASH}")


def test_a_corrections_chips_are_asked_for_once(dealer: Screen) -> None:
    dealer.act("open_betting")
    dealer.phase("betting")
    dealer.ask("place_wager", wagers=[{"seat": 2, "bet": "player", "stake": 2500}])
    dealer.act("close_betting")
    dealer.table.say("D P1 9S, D B1 2D, D P2 KH, D B2 3C, G player")
    dealer.phase("settled")
    rows, note = dealer.page.locator("#standing tbody tr"), dealer.page.locator("#standing p")
    expect(rows.locator("td.pay")).to_have_text(["25.00"])
    expect(note).to_have_count(0)
    shoe, number = (dealer.page.locator(each).inner_text() for each in ("#shoe", "#coup"))
    coup = f"{shoe.split()[-1]}/{number.split()[-1]}"
    wager = {"seat": 5, "bet": "player", "stake": 10_000}
    dealer.ask("correct_wager", coup=coup, to=wager, reason="left out")
    asked = dealer.page.locator("#to-move li[data-seat='5']")
    expect(asked).to_have_attribute("data-gets", "10000")
    expect(note).to_contain_text("Move every chip once")
    expect(rows.locator("td.pay")).to_have_text(["25.00"])
    dealer.page.locator("#to-move button").click()
    expect(dealer.page.locator("#to-move")).to_be_empty()
    expect(rows.locator("td.pay")).to_have_text(["25.00"])
