"""A coup, its correction and its void in every language; and what an attacker typed, as text."""

import re
from collections.abc import Iterator
from itertools import cycle

import pytest
from playwright.sync_api import Browser, Page, expect

from displays.http.words import LANGUAGES, load_words
from tests.support.service.console_table import ConsoleTable
from tests.support.service.screens import Screen, screen

# A key that a page found no words for stands there as it is.
KEY = re.compile(
    r"\b(?:alarm|bet|card|code|command|commission|field|health|hint|irregularity|next|outcome|phase"
    r"|pit|preview|record|result|role|rule|side|status|why|winner)\.[a-z_]+\b"
)
SUITS = dict(zip(LANGUAGES, cycle("SHD"), strict=False))
EVIL = '<img src=x onerror="window.hit=1">\'"&amp;</td><script>window.hit=1</script>'
SHORT = "<b onclick=window.hit=1>x</b>{seat}"


@pytest.fixture(scope="module")
def person(browser: Browser, table: ConsoleTable) -> Iterator[Screen]:
    """Dealer and supervisor at a table whose shoe is loaded."""
    with screen(browser, table) as opened:
        opened.log_in("both", "/dealer")
        opened.shoe_is_loaded()
        yield opened
        opened.is_clean()


def goes_to(person: Screen, path: str) -> None:
    person.page.goto(f"{person.table.address}{path}")
    expect(person.page.locator("body[data-live=yes]")).to_be_visible()


def says_everything_in(page: Page, language: str) -> None:
    """No text of the page is a key, and its controls are in its language."""
    expect(page.locator("html")).to_have_attribute("lang", language)
    shown = page.locator("body").inner_text()
    assert KEY.findall(shown) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_coup_is_played_corrected_and_void_in_every_language(
    person: Screen, table: ConsoleTable, language: str
) -> None:
    page, word, suit = person.page, load_words(language), SUITS[language]
    goes_to(person, f"/dealer?lang={language}")
    person.act("open_betting")
    person.phase("betting")
    expect(page.locator("#phase")).to_contain_text(word["phase.betting"])
    page.locator("#bets [data-bet=banker]").click()
    page.locator("#chips [data-chip='2500']").click()
    page.locator("#place:enabled").click()
    person.answered("place_wager")
    expect(page.locator("#said li").first).to_contain_text(word["result.accepted"])
    says_everything_in(page, language)
    person.act("close_betting")
    person.phase("closed")
    table.say(f"D P1 2{suit}, D B1 4{suit}, D P2 3{suit}, D B2 K{suit}")
    expect(page.locator("#next")).to_contain_text(word["rule.player_0_5_draws"])
    table.say(f"D P3 9{suit}, G tie")
    person.phase("settled")
    expect(page.locator("#next")).to_contain_text(word["winner.tie"])
    expect(page.locator("#standing td").nth(2)).to_have_text(word["outcome.push"])
    says_everything_in(page, language)
    number = page.locator("#coup").inner_text().split()[-1]
    goes_to(person, f"/pit?lang={language}")
    page.locator("#find-number").fill(number)
    page.locator("#find-go").click()
    page.locator("#on-record [data-command=correct_hands]").click()
    page.locator("dialog .row.player .card").first.click()
    person.face(f"A{suit}")
    person.fill(reason=word["reason.usual"].split("|")[0])
    page.locator("dialog .look").click()
    expect(page.locator("dialog .preview")).to_contain_text(word["winner.banker"])
    expect(page.locator("dialog .preview")).to_contain_text(word["preview.house"])
    says_everything_in(page, language)
    person.go("correct_hands")
    # The buttons are new ones once the coup is shown as corrected.
    expect(page.locator("#on-record .hand.player")).to_contain_text(" A")
    page.locator("#on-record [data-command=void_coup]").click()
    person.fill(reason=word["reason.usual"].split("|")[-1])
    page.locator("dialog .look").click()
    expect(page.locator("dialog .preview")).to_contain_text(word["preview.title"])
    person.go("void_coup")
    expect(page.locator("#on-record h3")).to_contain_text(word["phase.voided"])
    says_everything_in(page, language)


def test_what_an_attacker_typed_is_text_on_every_page(
    browser: Browser, person: Screen, table: ConsoleTable
) -> None:
    page = person.page
    goes_to(person, "/dealer?lang=en")
    person.ask("assign_dealer", dealer=SHORT, supervisor=SHORT)
    person.ask("open_betting")
    wager = {"seat": 1, "bet": "player", "stake": 2500, "patron": EVIL[:64]}
    person.ask("place_wager", wagers=[wager])
    person.ask("close_betting")
    with screen(browser, table) as board:
        board.page.goto(f"{table.address}/")
        expect(board.page.locator("#board[data-phase=closed]")).to_be_visible()
        table.say("D P1 6C, D B1 9C")
        expect(page.locator("#hands .card")).to_have_count(2)
        reason = {"hand": "banker", "number": 1, "reason": EVIL}
        person.ask("mark_unreadable", **reason)
        person.ask("enter_card", face="7C", **reason)
        goes_to(person, "/pit")
        person.act("void_coup")
        person.fill(reason=EVIL)
        page.locator("dialog .look").click()
        expect(page.locator("dialog .preview")).to_contain_text("25.00")
        person.go("void_coup")
        person.phase("voided")
        expect(page.locator("#on-record")).to_contain_text(EVIL)
        person.ask("resolve_irregularity", kind="other", reason=EVIL)
        for path in ("/dealer", "/pit"):
            goes_to(person, path)
            expect(page.locator("#next")).to_contain_text(EVIL)
            untouched(page)
        # What a person typed is not for the room.
        expect(board.page.locator("#board[data-phase=voided]")).to_be_visible()
        assert "onerror" not in board.page.content()
        untouched(board.page)
        board.is_clean()


def test_a_name_or_a_command_that_is_markup_is_text(person: Screen, table: ConsoleTable) -> None:
    page = person.page
    page.goto(f"{table.address}/login?lang=%3Cscript%3E")
    page.goto(f"{table.address}/pit?lang={EVIL}")
    untouched(page)
    goes_to(person, "/pit?lang=en")
    page.locator("#find-shoe").evaluate("(field, text) => { field.value = text; }", EVIL)
    page.locator("#find-number").fill("1")
    page.locator("#find-go").click()
    expect(page.locator("#on-record .said")).to_be_visible()
    untouched(page)


def untouched(page: Page) -> None:
    """Nothing that was typed has become an element, or was run."""
    assert page.evaluate("window.hit") is None
    assert page.locator("img, b[onclick], [onerror]").count() == 0
