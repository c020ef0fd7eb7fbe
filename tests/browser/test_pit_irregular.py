"""The pit when the shoe or the line fails: another shoe, a card too many, a table that is gone."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.support.service.console_table import ConsoleTable
from tests.support.service.screens import LOST_MS, Screen, screen


@pytest.fixture(scope="module")
def pit(browser: Browser, table: ConsoleTable) -> Iterator[Screen]:
    """The pit of a table whose shoe is loaded."""
    with screen(browser, table) as opened:
        opened.log_in("both", "/dealer")
        opened.shoe_is_loaded()
        opened.page.goto(f"{table.address}/pit")
        yield opened
        opened.is_clean()


@pytest.fixture
def board(browser: Browser, table: ConsoleTable) -> Iterator[Screen]:
    with screen(browser, table) as opened:
        opened.page.goto(f"{table.address}/")
        expect(opened.page.locator("#board[data-live=true]")).to_be_visible()
        yield opened
        opened.is_clean()


def begin(pit: Screen) -> None:
    """Betting has closed on 25.00 of seat 1 on Banker."""
    pit.table.mark()
    pit.ask("open_betting")
    pit.ask("place_wager", wagers=[{"seat": 1, "bet": "banker", "stake": 2500}])
    pit.ask("close_betting")
    pit.phase("closed")


def test_a_hidden_card_too_many_opens_the_next_coup_and_nobody_sees_it_before(
    pit: Screen, board: Screen, table: ConsoleTable
) -> None:
    page = pit.page
    begin(pit)
    table.say("D P1 6H, D B1 7H, D P2 QC, D B2 KS, E 2, d other 5S, e 2, G banker")
    pit.phase("held")
    expect(page.locator("#alarm-list [data-alarm=excess_card]")).to_be_visible()
    pit.have("resolve_irregularity", seen="no", reason="it lay face down")
    pit.phase("settled")
    shown = board.content() + pit.content()
    assert "6♥" in shown
    assert "5S" not in shown
    assert "5♠" not in shown
    begin(pit)
    expect(page.locator("#hands .card")).to_have_count(0)
    table.say("R P1 5S, D B1 9D, D P2 2C, D B2 TD, G banker")
    pit.phase("settled")
    expect(page.locator("#hands .player .card").first).to_have_text("5♠")


def test_a_card_too_many_that_was_seen_is_shown_in_a_hand_without_wagers(
    pit: Screen, table: ConsoleTable
) -> None:
    page = pit.page
    begin(pit)
    table.say("D P1 6C, D B1 7C, D P2 QD, D B2 KD, E 2, d other 4C, e 2, G banker")
    pit.phase("held")
    pit.have("resolve_irregularity", seen="yes", reason="it lay face up")
    pit.phase("settled")
    page.goto(f"{table.address}/dealer")
    opening = page.locator("#acts [data-command=open_betting]")
    expect(opening).to_be_disabled()
    expect(opening).to_have_attribute("title", "Show the card too many in a free hand first")
    pit.act("free_hand")
    pit.answered("free_hand")
    phase = page.locator("#phase")  # still of the coup before, until the new state is there
    expect(phase).not_to_have_attribute("data-phase", "settled")
    table.say("R P1 4C, D B1 9H, D P2 2H, D B2 TH, G banker")
    pit.phase("settled")
    page.goto(f"{table.address}/pit")
    expect(page.locator("body[data-live=yes]")).to_be_visible()


def test_the_shoe_is_replaced_in_mid_coup_and_the_coup_is_void(
    pit: Screen, board: Screen, table: ConsoleTable
) -> None:
    page = pit.page
    begin(pit)
    table.say("D P1 6D, D B1 7S")
    expect(page.locator("#hands .card")).to_have_count(2)
    page.locator("#more [data-command=replace_shoe]:enabled").click()
    number = page.locator("dialog [name=shoe]").input_value()
    pit.fill(coup="void", reason="the shoe jams")
    pit.go("replace_shoe")
    expect(page.locator("#shoe")).to_contain_text(number)
    pit.phase("voided")
    assert table.events("coup_voided") == 1
    expect(board.page.locator("#bead_plate .mark")).to_have_count(0)
    expect(page.locator("#find-shoe")).to_have_value(number)


@pytest.mark.parametrize("lost", ["broker", "table"])
def test_a_pit_that_has_lost_its_table_says_so_and_comes_back_right(
    pit: Screen, board: Screen, table: ConsoleTable, lost: str
) -> None:
    page = pit.page
    page.goto(f"{table.address}/pit")
    expect(page.locator("body[data-live=yes]")).to_be_visible()
    before = page.locator("#phase").inner_text()
    if lost == "broker":
        table.broker.kill()
    else:
        table.turn(on=False)
    expect(page.locator("#lost")).to_be_visible(timeout=LOST_MS)
    expect(board.page.locator("#lost")).to_be_visible(timeout=LOST_MS)
    assert page.locator("#station button.act:enabled").count() == 0
    if lost == "broker":
        table.broker.restart()
    else:
        table.turn(on=True)
    expect(page.locator("body[data-live=yes]")).to_be_visible()
    expect(board.page.locator("#board[data-live=true]")).to_be_visible()
    expect(page.locator("#lost")).to_be_hidden()
    assert page.locator("#phase").inner_text() == before


def test_a_count_that_does_not_come_out_holds_the_next_shoe_until_it_is_released(
    pit: Screen, table: ConsoleTable
) -> None:
    page = pit.page
    pit.ask("end_shoe")
    page.locator("#more [data-command=count_shoe]:enabled").click()
    shoe = page.locator("dialog [name=shoe]").input_value()
    pit.fill(cards="415")
    pit.go("count_shoe")
    alarm = page.locator("#alarm-list [data-alarm=shoe_held]")
    expect(alarm).to_contain_text(f"shoe {shoe}: its count does not come out: 415 cards, 1 missing")
    expect(page.locator("#more [data-command=load_shoe]")).to_be_disabled()
    alarm.locator("button").click()
    pit.fill(reason="a card lay under the shoe")
    pit.go("release_shoe")
    expect(alarm).to_have_count(0)
    page.locator("#more [data-command=load_shoe]:enabled").click()
    pit.go("load_shoe")
    table.say("D first 2C:1, D burn JD:1, D burn 2C:0")
    assert (table.events("shoe_counted"), table.events("shoe_released")) == (1, 1)
