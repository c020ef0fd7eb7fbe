"""Where the house plays otherwise: commission that is marked, betting until the reveal."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.cage.books import book
from tests.support.service.console_table import ConsoleTable, console_table
from tests.support.service.screens import Screen, screen

MARKED = book("au-commission", "commission.timing=per_coup")
SQUEEZED = book("mini-lucky8", "procedure.betting_closes=before_reveal")


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleTable]:
    with console_table(tmp_path_factory.mktemp("marked"), own=MARKED) as started:
        yield started


@pytest.fixture(scope="module")
def both(browser: Browser, marked: ConsoleTable) -> Iterator[Screen]:
    """Somebody who is dealer and supervisor, where commission is marked and collected later."""
    with screen(browser, marked) as opened:
        opened.log_in("both", "/dealer")
        opened.shoe_is_loaded()
        yield opened
        opened.is_clean()


def banker_wins(both: Screen, suit: str) -> None:
    """100.00 of seat 3 on Banker, whose 7 beats 6: 5.00 of commission is marked."""
    both.page.goto(f"{both.table.address}/dealer")
    both.act("open_betting")
    both.phase("betting")
    both.ask("place_wager", wagers=[{"seat": 3, "bet": "banker", "stake": 10_000}])
    both.act("close_betting")
    both.phase("closed")
    both.table.say(f"D P1 6{suit}, D B1 7{suit}, D P2 K{suit}, D B2 Q{suit}, G banker")
    both.phase("settled")
    # The winnings are paid in full and 5.00 is marked: 95.00 would take that twice.
    row = both.page.locator("#standing tr[data-seat='3']")
    expect(row.locator("td.pay")).to_have_text("100.00")
    expect(row.locator("td.back")).to_have_text("100.00")
    expect(both.page.locator("#standing th", has_text="Mark commission")).to_be_visible()
    expect(both.page.locator("#commission")).to_contain_text("Seat 3 5.00")


def test_marked_commission_is_collected_before_the_next_coup(both: Screen) -> None:
    banker_wins(both, "S")
    opening = both.page.locator("#acts [data-command=open_betting]")
    expect(opening).to_be_disabled()
    expect(opening).to_have_attribute("title", "Collect the commission, or give it up, first")
    both.act("collect_commission")
    both.go("collect_commission")
    expect(both.page.locator("#commission")).to_have_text("")
    expect(opening).to_be_enabled()
    assert both.table.events("commission_collected") == 1


def test_commission_is_collected_from_one_seat_given_up_and_recovered_at_the_pit(
    both: Screen,
) -> None:
    page, table = both.page, both.table
    table.mark()
    banker_wins(both, "H")
    page.goto(f"{table.address}/pit")
    page.locator("#commission [data-command=mark_uncollected]:enabled").click()
    both.fill(reason="the patron has left")
    both.go("mark_uncollected")
    owed = page.locator("#commission li[data-seat='3']")
    expect(owed).to_contain_text("given up 5.00")
    owed.locator("[data-command=recover_commission]:enabled").click()
    both.fill(amount="3.50")
    both.go("recover_commission")
    expect(owed).to_contain_text("given up 1.50")
    banker_wins(both, "D")
    page.goto(f"{table.address}/pit")
    newest = page.locator("#commission li", has_text="owes 5.00").inner_text()
    coup = newest.partition("coup ")[2].split()[0]
    page.locator("#commission [data-command=collect_commission]:enabled").click()
    both.answered("collect_commission")
    expect(page.locator("#commission [data-command=collect_commission]")).to_have_count(0)
    told = ("commission_uncollected", "commission_recovered", "commission_collected")
    assert [table.events(kind) for kind in told] == [1, 1, 1]
    # The coup should not count: the 100.00 won go back, and the commission of it to the seat.
    page.locator("#find-number").fill(coup.partition("/")[2])
    page.locator("#find-go").click()
    page.locator("#on-record .act[data-command=void_coup]").click()
    both.fill(reason="a card fell")
    page.locator("dialog .look").click()
    effect = page.locator("dialog .preview")
    expect(effect.locator("tr[data-seat='3']")).to_have_attribute("data-paid", "-10000")
    expect(effect).to_contain_text("Seat 3: 5.00 of commission goes back in addition")
    expect(effect.locator("tfoot")).to_contain_text("95.00")
    both.go("void_coup")
    page.goto(f"{table.address}/pit")
    line = page.locator("#commission .refund")
    expect(line).to_have_text(f"Hand back 5.00 of commission: Seat 3, coup {coup} (a card fell)")
    # The dealer moves both together, and says so.
    page.goto(f"{table.address}/dealer")
    correction = page.locator(f"#to-move .correction[data-coup='{coup}']")
    expect(correction.locator("li")).to_have_text("Seat 3: take back 95.00")
    correction.locator("button:enabled").click()
    expect(correction).to_have_count(0)
    assert table.events("correction_acknowledged") == 1


def test_wagers_come_while_cards_lie_face_down_and_the_first_face_ends_it(
    browser: Browser, tmp_path: Path
) -> None:
    with (
        console_table(tmp_path, own=SQUEEZED) as table,
        screen(browser, table) as dealer,
        screen(browser, table) as board,
    ):
        dealer.log_in("both", "/dealer")
        dealer.shoe_is_loaded()
        board.page.goto(f"{table.address}/")
        dealer.act("open_betting")
        dealer.phase("betting")
        table.say("D P1 --, D B1 --, D P2 --, D B2 --")
        expect(dealer.page.locator("#hands .card.covered")).to_have_count(4)
        expect(board.page.locator(".hand .card.covered")).to_have_count(0)
        dealer.page.locator("#bets [data-bet=player]").click()
        dealer.page.locator("#chips [data-chip='2500']").click()
        dealer.page.locator("#place:enabled").click()
        dealer.answered("place_wager")
        table.say("I P1 9S")
        dealer.phase("dealing")
        expect(board.page.locator(".hand .card.covered")).to_have_count(3)
        expect(board.page.locator("#player .card")).to_have_count(2)
        expect(dealer.page.locator("#place")).to_be_disabled()
        table.say("I P2 KD, I B1 5C, I B2 2H, G player")
        dealer.phase("settled")
        expect(dealer.page.locator("#standing tbody td.pay")).to_have_text("25.00")
        assert table.events("betting_closed") == 1
        dealer.is_clean()
        board.is_clean()


@pytest.fixture(scope="module")
def paired(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleTable]:
    """A table that pays pair wagers after the first four cards (seed 1, 11A.6)."""
    folder = tmp_path_factory.mktemp("paired")
    with console_table(folder, "nz-scale-one") as started:
        yield started


def test_pair_wagers_are_paid_and_called_before_the_third_card(
    browser: Browser, paired: ConsoleTable
) -> None:
    with screen(browser, paired) as dealer:
        dealer.log_in("dora")
        page = dealer.page
        dealer.shoe_is_loaded()
        calls = page.locator("#calls")
        dealer.act("open_betting")
        expect(calls).to_have_text("Place your bets.")
        wagers = [("player", 10_000, 3), ("perfect_pairs", 1_000, 3), ("banker", 5_000, 5)]
        asked = [{"seat": seat, "bet": bet, "stake": stake} for bet, stake, seat in wagers]
        dealer.ask("place_wager", wagers=asked)
        dealer.act("close_betting")
        dealer.phase("closed")
        expect(calls).to_have_text("No more bets.")
        paired.say("D P1 2S, D B1 4D, D P2 2H, D B2 KC")
        # Coloured would be one colour; spades and hearts are mixed: 5 to 1.
        row = page.locator("#standing tr[data-seat='3']")
        expect(row.locator("td.pay")).to_have_text("50.00")
        expect(row.locator("td.back")).to_have_text("10.00")
        dealer.phase("dealing")
        expect(calls).to_contain_text("Perfect Pairs, mixed: pays 5 to 1.")
        expect(calls).to_contain_text("Player has 4, Banker has 4. Player draws.")
        # What is not paid yet stands below.
        expect(page.locator("#standing .seat .back")).to_have_count(2)
        paired.say("D P3 9S")
        expect(calls).to_have_text("Banker stands on 4.Banker wins, 4 over 3.")
        dealer.is_clean()


def test_patrons_read_the_rules_in_force(browser: Browser, paired: ConsoleTable) -> None:
    page = browser.new_page()
    said: list[str] = []
    page.on("console", lambda told: said.append(told.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    for language, game, loses in (
        ("en", "How to play: Baccarat", "anything else"),
        ("zh-Hans", "玩法说明: 百家乐", "其他结果"),
        ("zh-Hant", "玩法說明: 百家樂", "其他結果"),
    ):
        answer = page.goto(f"{paired.address}/rules?lang={language}")
        assert answer is not None
        assert answer.status == 200
        expect(page.locator("html")).to_have_attribute("lang", language)
        expect(page.get_by_role("heading", level=1)).to_have_text(game)
        pairs = page.locator("[data-bet=perfect_pairs]")
        expect(pairs.locator("tbody tr")).to_have_count(4)
        expect(pairs.get_by_role("row").last).to_contain_text(loses)
        for odds in ("5", "10", "30"):  # pay scale one of seed 1, 11A.7
            expect(pairs.locator("td", has_text=odds).first).to_be_visible()
        assert page.locator("script").count() == 0
    assert said == []
    page.close()
