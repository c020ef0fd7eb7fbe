"""The dealer's page at a real table: broker, core, driver, web server, and a shoe that is told."""

import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Route, expect

from tests.support.machine.waiting import until_blocking
from tests.support.service.console_table import ConsoleTable, console_table
from tests.support.service.screens import LOST_MS, Screen, screen

NOTHING = "\N{EN DASH}"
SILENT_MOST_S = 60  # longer than anybody looks


@pytest.fixture
def table(tmp_path: Path) -> Iterator[ConsoleTable]:
    with console_table(tmp_path) as started:
        yield started


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleTable]:
    """A table at which no shoe is ever loaded, for what does not change it."""
    with console_table(tmp_path_factory.mktemp("bare")) as started:
        yield started


@pytest.fixture
def idle(browser: Browser, bare: ConsoleTable) -> Iterator[Screen]:
    """A dealer's page at that table."""
    with screen(browser, bare) as opened:
        opened.log_in("dora")
        yield opened
        opened.is_clean()


@pytest.fixture
def dealer(browser: Browser, table: ConsoleTable) -> Iterator[Screen]:
    with screen(browser, table) as opened:
        opened.log_in("dora")
        yield opened
        opened.is_clean()


def test_a_coup_by_mouse(dealer: Screen, table: ConsoleTable) -> None:
    page = dealer.page
    dealer.shoe_is_loaded()
    dealer.act("open_betting")
    dealer.phase("betting")
    page.locator("#seats [data-seat='3']").click()
    page.locator("#bets [data-bet=banker]").click()
    page.locator("#chips [data-chip='2500']").click()
    page.locator("#place").click()
    expect(page.locator("#standing .seat[data-seat='3'] .back")).to_contain_text("Banker 25.00")
    page.locator("#seats [data-seat='5']").click()
    page.locator("#bets [data-bet=tie]").click()
    page.locator("#chips [data-chip='500']").click()
    page.locator("#place:enabled").click()
    expect(page.locator("#standing .seat")).to_have_count(2)
    page.locator("#standing .seat[data-seat='5'] .back").click()
    expect(page.locator("#standing .seat")).to_have_count(1)
    dealer.act("close_betting")
    dealer.phase("closed")
    expect(page.locator("#next")).to_contain_text("Next: Player, card 1")
    table.say("D P1 2S, D B1 2D, D P2 3H, D B2 KC")
    expect(page.locator("#next")).to_contain_text("Player draws on 0 to 5")
    table.say("D P3 KD")
    # Player's third counts nothing, Banker has two.
    expect(page.locator("#next")).to_contain_text("Banker draws on 0 to 2")
    table.say("D B3 5C, G banker")
    dealer.phase("settled")
    row = page.locator("#standing tr[data-seat='3']")
    expect(row).to_have_attribute("data-result", "win")
    # The stake is the patron's own; what was won is paid less its commission.
    cells = {"take": NOTHING, "pay": "23.75", "back": "25.00", "commission": "1.25"}
    for column, text in cells.items():
        expect(row.locator(f"td.{column}")).to_have_text(text)
    assert table.events("coup_settled") == 1
    assert table.events("wagers_withdrawn") == 1


def test_a_coup_by_keyboard_only(dealer: Screen, table: ConsoleTable) -> None:
    page, press = dealer.page, dealer.page.keyboard.press
    table.say("S")
    expect(page.locator("[data-command=load_shoe]")).to_be_enabled()
    press("l")
    expect(page.locator("dialog")).to_be_visible()
    press("Enter")
    dealer.answered("load_shoe")
    table.say("D first 2C:1, D burn JD:1, D burn 2C:0")
    until_blocking(lambda: table.events("burn_recorded"), "the burn is recorded")
    expect(page.locator("[data-command=open_betting]")).to_be_enabled()
    press("o")
    dealer.phase("betting")
    for key in ("7", "p", "Shift+Digit4", "Shift+Digit3"):
        press(key)
    expect(page.locator("#laying")).to_have_text("Seat 7 · Player · 125.00")
    press("w")
    expect(page.locator("#standing .seat[data-seat='7']")).to_contain_text("125.00")
    press("c")
    dealer.phase("closed")
    table.say("D P1 9S, D B1 7D, D P2 KH, D B2 KC, G player")
    dealer.phase("settled")
    expect(page.locator("#standing tr[data-seat='7'] td.pay")).to_have_text("125.00")


def test_what_is_pressed_twice_is_sent_once(dealer: Screen, table: ConsoleTable) -> None:
    page = dealer.page
    dealer.shoe_is_loaded()
    page.locator("[data-command=open_betting]:enabled").dblclick()
    dealer.phase("betting")
    page.locator("#chips [data-chip='500']").click()
    page.locator("#place:enabled").dblclick()
    expect(page.locator("#standing .back")).to_have_count(1)
    page.locator("#chips [data-chip='500']").click()
    expect(page.locator("#place")).to_be_enabled()
    page.locator("#place").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.locator("#standing .back")).to_have_count(2)
    assert len(dealer.commands("open_betting")) == 1
    assert len(dealer.commands("place_wager")) == 2
    assert table.events("betting_opened") == 1
    assert table.events("wagers_placed") == 2


def test_an_answer_that_is_lost_is_asked_for_again_and_nothing_is_done_twice(
    dealer: Screen, table: ConsoleTable
) -> None:
    page = dealer.page
    dealer.shoe_is_loaded()
    dealer.act("open_betting")
    dealer.phase("betting")
    lost: list[str] = []

    def lose_the_first(route: Route) -> None:
        answer = route.fetch()
        if lost:
            route.fulfill(response=answer)
        else:
            lost.append(route.request.url)
            route.abort()

    page.route("**/command/place_wager", lose_the_first)
    page.locator("#chips [data-chip='500']").click()
    page.locator("#place").click()
    dealer.answered("place_wager", "exists")
    expect(page.locator("#standing .back")).to_have_count(1)
    first, second = dealer.commands("place_wager")
    assert first == second
    assert table.events("wagers_placed") == 1
    dealer.said = [said for said in dealer.said if "ERR_FAILED" not in said]


def test_what_is_not_possible_is_disabled_and_says_why(idle: Screen) -> None:
    opening = idle.page.locator("[data-command=open_betting]")
    expect(opening).to_be_disabled()
    expect(opening.locator(".why")).to_have_text("Load a shoe first")
    confirm = idle.page.locator("[data-command=confirm_result]")
    expect(confirm.locator(".why")).to_have_text("This needs the role: supervisor")


def test_a_refusal_says_its_code_in_plain_words(dealer: Screen) -> None:
    page = dealer.page
    dealer.shoe_is_loaded()
    dealer.act("open_betting")
    dealer.phase("betting")
    for bet, result in (("player", "accepted"), ("banker", "refused")):
        page.locator(f"#bets [data-bet={bet}]").click()
        page.locator("#chips [data-chip='500']").click()
        page.locator("#place:enabled").click()
        dealer.answered("place_wager", result)
    said = page.locator("#said li").first
    expect(said).to_contain_text("Place wager · Seat 1 · Banker · 5.00")
    expect(said).to_contain_text("Player and Banker by the same patron")
    # Its chips stay in sight at their own spot, to be taken in hand again.
    refused = page.locator("#pressed li[data-bet=banker][data-standing=not]")
    expect(refused).to_have_attribute("data-code", "opposite_sides")
    expect(page.locator("#laying")).to_contain_text("0.00")
    refused.get_by_role("button", name="Take in hand").click()
    expect(page.locator("#laying")).to_have_text("Seat 1 · Banker · 5.00")
    expect(page.locator("#pressed li")).to_have_count(0)


def test_a_lost_table_stops_everything(idle: Screen, bare: ConsoleTable) -> None:
    page = idle.page
    expect(page.locator("[data-command=load_shoe]")).to_be_enabled()
    bare.broker.kill()
    expect(page.locator("[data-command=load_shoe]")).to_be_disabled(timeout=LOST_MS)
    expect(page.locator("#lost")).to_be_visible()
    assert page.locator("button.act:enabled").count() == 0
    bare.broker.restart()
    expect(page.locator("[data-command=load_shoe]")).to_be_enabled()
    expect(page.locator("#lost")).to_be_hidden()


def test_a_server_that_says_nothing_more_stops_everything(idle: Screen, bare: ConsoleTable) -> None:
    page = idle.page
    expect(page.locator("[data-command=load_shoe]")).to_be_enabled()
    seen = threading.Event()
    bare.loop.call_soon_threadsafe(seen.wait, SILENT_MOST_S)  # the connections stay open
    try:
        expect(page.locator("[data-command=load_shoe]")).to_be_disabled(timeout=LOST_MS)
        expect(page.locator("#lost")).to_be_visible()
    finally:
        seen.set()
    expect(page.locator("[data-command=load_shoe]")).to_be_enabled()


def test_nobody_gets_in_who_is_not_let_in(
    browser: Browser, bare: ConsoleTable, idle: Screen
) -> None:
    for page in ("dealer", "pit"):
        answer = httpx.get(f"{bare.address}/{page}")
        away = (303, f"/login?next=%2F{page}")
        assert (answer.status_code, answer.headers["location"]) == away
    refused = httpx.post(f"{bare.address}/command/open_betting", json={"transaction": "x" * 8})
    assert refused.status_code == 401
    wrong_role = idle.page.request.get(f"{bare.address}/pit")
    assert wrong_role.status == 403
    with screen(browser, bare) as pit:
        pit.log_in("sam")
        assert pit.page.url == f"{bare.address}/dealer"


def test_the_pages_of_a_login_share_one_stream(idle: Screen, bare: ConsoleTable) -> None:
    def streams() -> int:
        return int(httpx.get(f"{bare.address}/health").json()["screens"])

    until_blocking(lambda: streams() == 1, "the streams of earlier pages have ended")
    others = [idle.page.context.new_page() for _ in range(6)]
    for other in others:
        other.goto(f"{bare.address}/dealer")
        expect(other.locator("body[data-live=yes]")).to_be_visible()
    assert streams() == 1
    others[-1].close()
    others[0].get_by_role("button", name="Letter keys: on").click()
    expect(others[0].get_by_role("button", name="Letter keys: off")).to_be_visible()
    others[0].keyboard.press("l")
    expect(others[0].locator("dialog")).to_have_count(0)
    for other in others[:-1]:
        other.close()
    idle.page.evaluate("localStorage.clear()")


@pytest.mark.parametrize(("language", "text"), [("zh-Hans", "开始投注"), ("zh-Hant", "開始投注")])
def test_the_page_speaks_chinese(idle: Screen, language: str, text: str) -> None:
    idle.page.goto(f"{idle.table.address}/dealer?lang={language}")
    expect(idle.page.locator("[data-command=open_betting]")).to_contain_text(text)
    shown = idle.page.locator("#station").inner_text()
    assert not [word for word in shown.split() if word.startswith(("command.", "phase.", "bet."))]
