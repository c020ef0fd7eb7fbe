"""The screens of people by axe-core and the rules of WCAG 2.2 A and AA: nothing is waived."""

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it brings no types
from playwright.sync_api import Browser, Page, expect

from tests.support.service.console_table import ConsoleTable
from tests.support.service.screens import Screen, screen

RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}

LEAST = 20


@pytest.fixture(scope="module")
def opened(browser: Browser, table: ConsoleTable) -> Iterator[Screen]:
    """A tablet; its pages' policy lets no script in, so the checker is let past it."""
    size = {"width": 1024, "height": 768}
    with screen(browser, table, viewport=size, bypass_csp=True) as shown:
        shown.log_in("both", "/dealer")
        shown.shoe_is_loaded()
        shown.act("open_betting")
        shown.phase("betting")
        shown.page.locator("#chips [data-chip='500']").click()
        shown.page.locator("#place").click()
        shown.answered("place_wager")
        shown.act("close_betting")
        shown.phase("closed")
        table.say("D P1 6S, D B1 7D, D P2 KH, D B2 KC, G tie")
        shown.phase("disputed")
        yield shown


def check(page: Page) -> None:
    found = Axe().run(page, options=RULES)
    assert len(found.response["passes"]) > LEAST, "next to nothing was looked at"
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("path", ["/dealer", "/pit"])
def test_a_page_breaks_no_rule(opened: Screen, path: str) -> None:
    opened.page.goto(f"{opened.table.address}{path}")
    opened.phase("disputed")
    check(opened.page)


def test_the_patrons_page_breaks_no_rule(opened: Screen) -> None:
    opened.page.goto(f"{opened.table.address}/rules")
    expect(opened.page.locator("[data-bet=tie]")).to_be_visible()
    check(opened.page)


@pytest.mark.parametrize("command", ["correct_card", "mark_unreadable", "confirm_result"])
def test_a_dialog_breaks_no_rule(opened: Screen, command: str) -> None:
    opened.page.goto(f"{opened.table.address}/pit")
    opened.phase("disputed")
    opened.act(command)
    check(opened.page)


def test_a_correction_with_its_preview_breaks_no_rule(opened: Screen) -> None:
    page = opened.page
    page.goto(f"{opened.table.address}/pit")
    opened.phase("disputed")
    page.locator("#find-go").click()
    page.locator("#on-record [data-command=correct_hands]").click()
    opened.fill(reason="seen on camera")
    page.locator("dialog .row.player .card").first.click()
    opened.face("9S")
    page.locator("dialog .look").click()
    page.locator("dialog .preview h3").wait_for()
    check(page)


def test_the_limits_of_a_table_between_coups_break_no_rule(opened: Screen) -> None:
    page = opened.page
    page.goto(f"{opened.table.address}/pit")
    opened.have("confirm_result", reason="seen on camera")
    opened.phase("settled")
    page.locator("#more [data-command=set_limits]:enabled").click()
    check(page)


@pytest.mark.parametrize("language", ["en", "zh-Hant"])
def test_the_scoreboard_breaks_no_rule(opened: Screen, language: str) -> None:
    opened.page.goto(f"{opened.table.address}/?lang={language}")
    opened.page.locator("#board[data-live=true]").wait_for()
    check(opened.page)
