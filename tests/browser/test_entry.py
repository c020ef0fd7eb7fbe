"""Wagers at a dealer's pace: what is pressed is in the log in order, or stays and says why not.

And a command that gets no answer: the page gives up after five seconds, and what it says became of
the command is what became of it.
"""

import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from tests.support.service.console_table import ConsoleTable, Placed, console_table
from tests.support.service.entry import enter_full_table
from tests.support.service.screens import Screen, screen

CHIP_KEYS = {500: "Shift+Digit2", 2500: "Shift+Digit3"}  # of au-commission: 1, 5, 25, 100...
TABS = 6  # as many connections as a browser has to one server
SILENT_MOST_S = 60.0  # longer than anybody waits here
# A page has five seconds for a command; where a test holds one back on purpose it has a minute.
PATIENT = """(() => {
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  AbortSignal.timeout = (ms) => timeout(12 * ms);
})()"""

HIDDEN = """(hidden) => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
  document.dispatchEvent(new Event("visibilitychange"));
}"""

Wager = tuple[int, str, int]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[ConsoleTable]:
    """A table whose shoe is loaded."""
    with console_table(tmp_path_factory.mktemp("table")) as started:
        with screen(browser, started) as opened:
            opened.log_in("dora")
            opened.shoe_is_loaded()
        yield started


@contextmanager
def betting(browser: Browser, table: ConsoleTable, script: str = "") -> Iterator[Screen]:
    """A dealer's page, betting open; the coup is void when the test is over."""
    with screen(browser, table) as opened:
        opened.page.add_init_script(script)
        opened.log_in("both", "/dealer")
        opened.act("open_betting")
        opened.phase("betting")
        table.mark()
        try:
            yield opened
        finally:
            opened.ask("void_coup", reason="a test is over")
        opened.is_clean()


@pytest.fixture
def dealer(browser: Browser, table: ConsoleTable) -> Iterator[Screen]:
    with betting(browser, table) as opened:
        yield opened


def press(page: Page, wagers: list[Wager], pace_ms: int) -> None:
    """As a dealer does by keyboard: seat, spot, chip, place; so long between two wagers."""
    for seat, bet, stake in wagers:
        for key in (str(seat), bet[0], CHIP_KEYS[stake], "w"):
            page.keyboard.press(key)
        page.wait_for_timeout(pace_ms)


def of(actor: str, wagers: list[Wager]) -> list[Placed]:
    return [Placed(f"console:{actor}", *wager) for wager in wagers]


def settles_down(page: Page) -> None:
    """Nothing waits and nothing is on its way."""
    expect(page.locator("#pressed li:not([data-standing=not])")).to_have_count(0)


@pytest.mark.parametrize("pace_ms", [0, 300])
def test_what_is_pressed_is_in_the_log_in_order_on_its_own_seat(
    dealer: Screen, table: ConsoleTable, pace_ms: int
) -> None:
    wagers = [(seat, ("player", "banker", "tie")[seat % 3], 2500) for seat in range(1, 9)]
    press(dealer.page, wagers, pace_ms)
    settles_down(dealer.page)
    assert table.placed() == of("both", wagers)
    expect(dealer.page.locator("#standing .back")).to_have_count(len(wagers))
    sent = dealer.commands("place_wager")
    assert len({body["transaction"] for body in sent}) == len(wagers)
    assert len({body["coup"] for body in sent}) == 1


# By keys or by taps alone it is entered in `tests/soak/test_entry.py`.
def test_a_full_table_is_entered_at_a_dealers_pace(dealer: Screen, table: ConsoleTable) -> None:
    enter_full_table(dealer, table, "both", "mixed")


def test_a_refused_wager_stays_in_sight_and_its_chips_do_not_travel(
    dealer: Screen, table: ConsoleTable
) -> None:
    page = dealer.page
    press(page, [(1, "player", 2500), (1, "banker", 2500), (2, "player", 2500)], 150)
    settles_down(page)
    assert table.placed() == of("both", [(1, "player", 2500), (2, "player", 2500)])
    refused = page.locator("#pressed li")
    expect(refused).to_have_count(1)
    expect(refused).to_have_attribute("data-seat", "1")
    expect(refused).to_contain_text("Seat 1 · Banker · 25.00")
    expect(refused).to_have_attribute("data-code", "opposite_sides")
    expect(page.locator("#laying")).to_have_text("Seat 2 · Player · 0.00")


def test_a_press_that_a_shut_table_does_not_take_leaves_no_chips_in_the_hand(
    dealer: Screen, table: ConsoleTable
) -> None:
    page = dealer.page
    dealer.ask("close_betting")
    dealer.phase("closed")
    press(page, [(3, "player", 2500), (4, "player", 500)], 0)
    expect(page.locator("#pressed li[data-standing=not]")).to_have_count(2)
    expect(page.locator("#pressed li").first).to_have_attribute("data-code", "betting_closed")
    expect(page.locator("#laying")).to_have_text("Seat 4 · Player · 0.00")
    assert table.placed() == []
    assert dealer.commands("place_wager") == []
    page.keyboard.press("l")  # a key whose button is shut says so
    expect(page.locator("#said li").first).to_have_attribute("data-result", "dropped")


def test_what_waits_when_betting_closes_is_dropped_and_said_so(
    browser: Browser, table: ConsoleTable
) -> None:
    with betting(browser, table, PATIENT) as dealer:
        page = dealer.page
        held: list[Route] = []
        page.route("**/command/place_wager", lambda route: held.append(route))  # noqa: PLW0108 - it marks what it is given
        press(page, [(1, "player", 2500), (2, "player", 2500), (3, "player", 2500)], 150)
        expect(page.locator("#pressed li[data-standing=waits]")).to_have_count(2)
        with screen(browser, table) as other:
            other.log_in("sam", "/dealer")
            other.act("close_betting")
        dealer.phase("closed")
        dropped = page.locator("#pressed li[data-standing=not]")
        expect(dropped).to_have_count(2)
        for n, seat in enumerate((2, 3)):
            expect(dropped.nth(n)).to_contain_text(f"Seat {seat} · Player · 25.00")
            expect(dropped.nth(n)).to_have_attribute("data-code", "betting_closed")
        expect(page.locator("#said li[data-result=dropped]")).to_have_count(2)
        # What was on its way is bound to its coup, and to the moment at which it was given.
        dealer.ask("void_coup", reason="to begin another")
        dealer.ask("open_betting")
        held[0].continue_()
        expect(page.locator("#said li[data-command=place_wager]").first).to_have_attribute(
            "data-code", re.compile("^(another_coup|expired)$")
        )
        assert table.placed() == []


def test_two_dealers_at_once_have_each_what_they_pressed(
    browser: Browser, dealer: Screen, table: ConsoleTable
) -> None:
    mine = [(seat, "player", 2500) for seat in (1, 2, 3, 4)]
    others = [(seat, "tie", 500) for seat in (1, 2, 8, 9)]
    with screen(browser, table) as second:
        second.log_in("dora")
        for one, other in zip(mine, others, strict=True):
            press(dealer.page, [one], 50)
            press(second.page, [other], 50)
        settles_down(dealer.page)
        settles_down(second.page)
        second.is_clean()
    placed = table.placed()
    assert [each for each in placed if each.actor == "console:both"] == of("both", mine)
    assert [each for each in placed if each.actor == "console:dora"] == of("dora", others)


def tabs(context: BrowserContext, first: Screen, stack: ExitStack) -> list[Page]:
    """As many pages of one browser as take all its connections, each with its stream."""
    pages = []
    for _ in range(TABS - 1):
        page = context.new_page()
        page.add_init_script("delete globalThis.SharedWorker")  # each has a stream of its own
        stack.callback(page.close)
        page.goto(f"{first.table.address}/dealer")
        expect(page.locator("body[data-live=yes]")).to_be_visible()
        pages.append(page)
    return pages


def test_pages_that_nobody_sees_leave_the_connections_to_the_one_that_is_seen(
    dealer: Screen, table: ConsoleTable
) -> None:
    page = dealer.page
    with ExitStack() as stack:
        for other in tabs(page.context, dealer, stack):
            other.evaluate(HIDDEN, True)
        press(page, [(1, "player", 2500)], 0)
        expect(page.locator("#standing .back")).to_have_count(1)
        page.evaluate(HIDDEN, True)
        expect(page.locator("body[data-live=no]")).to_be_attached()
        page.evaluate(HIDDEN, False)
        expect(page.locator("body[data-live=yes]")).to_be_visible()
    assert [body["wagers"][0]["seat"] for body in dealer.commands("place_wager")] == [1]
    assert table.placed() == of("both", [(1, "player", 2500)])
    assert page.locator("#said li[data-result=unknown]").count() == 0


def test_a_command_that_waits_in_the_browser_is_given_up_and_its_fate_is_told(
    dealer: Screen, table: ConsoleTable
) -> None:
    page = dealer.page
    with ExitStack() as stack:
        others = tabs(page.context, dealer, stack)
        press(page, [(1, "player", 2500), (2, "player", 2500)], 0)
        told = page.locator("#said li[data-command=place_wager]")
        expect(told.and_(page.locator("[data-result=unknown]"))).to_have_count(1)
        expect(told.and_(page.locator("[data-code=not_sent]"))).to_have_count(1)
        expect(told.and_(page.locator("[data-code=not_done]"))).to_have_count(1)
        rows = page.locator("#pressed li[data-standing=not]")
        expect(rows).to_have_count(2)
        expect(rows.first).to_contain_text("it was not done, and will not be")
        for other in others[:2]:
            other.close()  # connections are free: what was given up does not come out now
        expect(page.locator("body[data-live=yes]")).to_be_visible()
        rows.first.get_by_role("button", name="Take in hand").click()
        page.keyboard.press("w")
        expect(page.locator("#standing .back")).to_have_count(1)
    assert table.placed() == of("both", [(1, "player", 2500)])


def test_what_is_told_of_a_command_at_a_silent_server_is_what_the_log_has(
    dealer: Screen, table: ConsoleTable
) -> None:
    page = dealer.page
    seen = threading.Event()
    table.loop.call_soon_threadsafe(seen.wait, SILENT_MOST_S)  # the connections stay open
    try:
        press(page, [(1, "player", 2500)], 0)
        asked = page.locator("#said li[data-command=place_wager][data-result=unknown]")
        expect(asked).to_be_visible()
        expect(page.locator("[data-command=close_betting]")).to_be_disabled()
    finally:
        seen.set()
    over = page.locator("#said li[data-command=place_wager]:not([data-result=unknown])")
    expect(over).to_have_count(1)
    settles_down(page)
    done = over.get_attribute("data-result") == "accepted"
    assert table.placed() == (of("both", [(1, "player", 2500)]) if done else [])
    expect(page.locator("[data-command=close_betting]")).to_be_enabled()
