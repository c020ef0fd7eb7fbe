"""Amounts in Chromium: every currency as ISO 4217 has it, whatever the browser's own data say."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from table_core.rules.rulebook_file import parse_rulebook
from tests.support.cage.books import source
from tests.support.currencies import CODES, DECIMALS, SAMPLES, written
from tests.support.service.console_table import ConsoleTable, console_table
from tests.support.service.screen_server import Served, served, shown
from tests.support.service.screens import Screen, screen

# Of each row what is shown, read back from there, and read back from what a field holds.
ROUND = """async rows => {
    const { money, parseMoney, typed } = await import("/static/js/money.js");
    return rows.map(([minor, decimals]) => {
        const text = money(minor, decimals);
        return [text, parseMoney(text, decimals), parseMoney(typed(minor, decimals), decimals)];
    });
}"""
PARSED = """async rows => {
    const { parseMoney } = await import("/static/js/money.js");
    return rows.map(([text, decimals]) => parseMoney(text, decimals));
}"""
CLDR = """codes => codes.map(currency => new Intl.NumberFormat(
    "en", { style: "currency", currency }).resolvedOptions().maximumFractionDigits)"""
CHIPS = "chips = [100_000, 250_000, 1_000_000]"
PESOS = parse_rulebook(
    "pesos.toml", source("au-commission", "currency=COP").replace("unit", f"{CHIPS}\nunit").encode()
)


@pytest.fixture(scope="module")
def screens() -> Iterator[Served]:
    with served() as started:
        yield started


@pytest.fixture
def page(browser: Browser, screens: Served) -> Iterator[Page]:
    opened = browser.new_page(locale="en-AU")
    opened.goto(screens.address)
    yield opened
    opened.close()


def test_an_amount_is_typed_and_shown_alike_in_every_currency(page: Page) -> None:
    rows = [(code, minor) for code in CODES for minor in SAMPLES]
    found = page.evaluate(ROUND, [[minor, DECIMALS[code]] for code, minor in rows])
    for (code, minor), (text, *read) in zip(rows, found, strict=True):
        assert (text, *read) == (written(minor, DECIMALS[code]), minor, minor), code


def test_what_is_no_amount_is_refused(page: Page) -> None:
    rows: list[list[Any]] = [
        ["2,500", 2], ["2500", 0], ["1,234,567.5", 2], ["0.0001", 4], [" 7 ", 2],
        ["2,5", 2], ["2,50", 2], ["25,00.00", 2], ["1.234", 2], ["5.", 2], ["1.5", 0], ["-5", 2],
        ["", 2], ["1e3", 2], ["90071992547409.92", 2],
    ]  # fmt: skip
    amounts = [250_000, 2_500, 123_456_750, 1, 700, *[None] * 10]
    assert page.evaluate(PARSED, rows) == amounts


def test_the_sign_takes_the_decimals_from_the_table(page: Page, screens: Served) -> None:
    said = dict(zip(CODES, page.evaluate(CLDR, list(CODES)), strict=True))
    others = [code for code in CODES if said[code] != DECIMALS[code]]
    assert {"COP", "HUF", "IQD"} & set(others), "the browser agrees with ISO: nothing shown"
    bet = {"id": "player", "pays": {"win": "1/1"}, "minimum": 1_234_567, "maximum": None, "step": 1}
    for position, code in enumerate([*others, "AUD", "JPY", "KWD", "CLF"], start=1):
        rulebook = {"id": "own", "currency": code, "decimals": DECIMALS[code], "bets": [bet]}
        screens.tell(shown("", position, rulebook=rulebook))
        expect(page.locator("[data-currency]").first).to_have_text(code)
        expect(page.locator("#minimum")).to_have_text(written(1_234_567, DECIMALS[code]))


def test_pesos_laid_in_chips_and_typed_are_pesos_in_the_log(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with (
        console_table(tmp_path_factory.mktemp("pesos"), own=PESOS) as table,
        screen(browser, table) as both,
    ):
        both.log_in("both", "/dealer")
        _lay(both, table)
        both.page.goto(f"{table.address}/pit")
        both.page.locator("#more [data-command=set_limits]:enabled").click()
        both.fill(**{"player-minimum": "2,500"})
        both.go("set_limits")
        [limits] = both.commands("set_limits")
        assert (limits["bets"][0]["bet"], limits["bets"][0]["minimum"]) == ("player", 250_000)
        both.is_clean()


def _lay(both: Screen, table: ConsoleTable) -> None:
    both.shoe_is_loaded()
    both.act("open_betting")
    both.phase("betting")
    page = both.page
    expect(page.locator("#chips [data-chip]")).to_contain_text(["1,000", "2,500", "10,000"])
    page.locator("#chips [data-chip='250000']").click()
    page.locator("#place").click()
    expect(page.locator("#standing .seat .back")).to_contain_text("2,500.00")
    assert [each.stake for each in table.placed()] == [250_000]
    both.act("close_betting")
    table.say("D P1 9S, D B1 2D, D P2 KH, D B2 3C, G player")
    both.phase("settled")
    expect(page.locator("#standing tr[data-result=win] td.pay")).to_have_text("2,500.00")
