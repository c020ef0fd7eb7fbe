"""The pit's page at a real table: misreads, held coups, voids, corrections with their preview."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from table_core.rulebooks.shipped import load_rulebook
from tests.support.machine.waiting import until_blocking
from tests.support.service.console_table import PASSWORD, ConsoleTable, console_table
from tests.support.service.screens import Screen, screen


@pytest.fixture(scope="module")
def supervisor(browser: Browser, table: ConsoleTable) -> Iterator[Screen]:
    """Somebody who is dealer and supervisor, at a table whose shoe is loaded."""
    with screen(browser, table) as opened:
        opened.log_in("both", "/dealer")
        opened.shoe_is_loaded()
        yield opened


@pytest.fixture
def pit(supervisor: Screen, table: ConsoleTable) -> Iterator[Screen]:
    """The page as betting has closed: 25.00 of seat 1 on Banker, 100.00 of seat 2 on Player."""
    supervisor.page.goto(f"{table.address}/pit")
    expect(supervisor.page.locator("body[data-live=yes]")).to_be_visible()
    wagers = [
        {"seat": 1, "bet": "banker", "stake": 2500},
        {"seat": 2, "bet": "player", "stake": 10_000},
    ]
    supervisor.ask("open_betting")
    supervisor.ask("place_wager", wagers=wagers)
    supervisor.ask("close_betting")
    supervisor.phase("closed")
    supervisor.sent.clear()
    table.mark()
    yield supervisor
    supervisor.is_clean()
    if supervisor.page.locator("#phase").get_attribute("data-phase") not in {"settled", "voided"}:
        supervisor.ask("void_coup", reason="nobody looks any more")


def settle(pit: Screen, suit: str = "H") -> None:
    """Banker's 7 beats Player's 6; in another suit where the shoe has no more of this one."""
    pit.table.say(f"D P1 6{suit}, D B1 7{suit}, D P2 K{suit}, D B2 Q{suit}, G banker")
    pit.phase("settled")


def show(pit: Screen) -> None:
    number = pit.page.locator("#coup").inner_text().split()[-1]
    pit.page.locator("#find-number").fill(number)
    pit.page.locator("#find-go").click()
    expect(pit.page.locator("#on-record h3")).to_contain_text(f"/{number} ")


def test_a_misread_is_marked_and_its_face_entered(pit: Screen, table: ConsoleTable) -> None:
    page = pit.page
    table.say("D P1 6S, D B1 8D")
    expect(page.locator("#hands .card")).to_have_count(2)
    pit.have("mark_unreadable", place="banker 1", reason="the shoe misread the card")
    expect(page.locator("#hands .banker .card.unread")).to_be_visible()
    pit.have("enter_card", face="7D", place="banker 1", reason="read by eye from the table")
    expect(page.locator("#hands .banker .card")).to_contain_text("7♦")
    table.say("D P2 KH, D B2 KC, G banker")
    pit.phase("settled")
    assert table.events("card_entered") == 1


def test_a_misread_is_corrected_before_the_settlement(pit: Screen, table: ConsoleTable) -> None:
    page = pit.page
    table.say("D P1 6S, D B1 7D")
    expect(page.locator("#hands .card")).to_have_count(2)
    pit.have("correct_card", face="9S", place="player 1", reason="the shoe misread the card")
    expect(page.locator("#hands .player .card")).to_contain_text("9♠")
    table.say("D P2 KH, D B2 KC, G player")
    pit.phase("settled")
    assert table.events("card_corrected") == 1


def test_a_misaligned_coup_is_realigned(pit: Screen, table: ConsoleTable) -> None:
    page = pit.page
    table.say("D P1 6S, D B1 7D")
    expect(page.locator("#hands .card")).to_have_count(2)
    table.shoe.unplug()
    pit.phase("misaligned")
    expect(page.locator("[data-health=shoe]")).to_have_class("not")
    table.shoe.plug_in()
    expect(page.locator("[data-health=shoe]")).to_have_class("ok")
    pit.have("realign", reason="cards compared with the screen")
    pit.phase("dealing")
    table.say("D P2 KH, D B2 KC, G banker")
    pit.phase("settled")
    assert table.events("coup_realigned") == 1


def test_a_result_that_the_shoe_disputes_is_held_and_confirmed(pit: Screen) -> None:
    pit.table.say("D P1 6S, D B1 7D, D P2 KH, D B2 KC, G tie")
    pit.phase("disputed")
    expect(pit.page.locator("#alarm-list [data-alarm=result_disputed]")).to_be_visible()
    pit.act("confirm_result")
    expect(pit.page.locator("dialog header")).to_contain_text(": Banker wins")  # not the shoe's tie
    pit.fill(reason="cards compared with the screen")
    pit.go("confirm_result")
    pit.phase("settled")


def test_a_void_needs_its_reason_and_says_who_gets_what_back(
    pit: Screen, table: ConsoleTable
) -> None:
    page = pit.page
    pit.act("void_coup")
    page.locator("dialog .look").click()
    assert page.locator("dialog [name=reason]").evaluate("field => !field.validity.valid")
    assert pit.commands("preview") == []
    pit.fill(reason="misdeal")
    expect(page.locator("dialog .go")).to_be_disabled()
    page.locator("dialog .look").click()
    preview = page.locator("dialog .preview")
    expect(preview).to_contain_text("Seat 1 gets its stake back: 25.00")
    expect(preview).to_contain_text("Seat 2 gets its stake back: 100.00")
    assert table.events("coup_voided") == 0
    pit.go("void_coup")
    pit.phase("voided")
    assert table.events("coup_voided") == 1


def test_a_settled_coup_is_corrected_and_the_differences_are_shown_before(
    pit: Screen, table: ConsoleTable
) -> None:
    page = pit.page
    settle(pit)
    show(pit)
    page.locator("#on-record [data-command=correct_hands]").click()
    page.locator("dialog .row.player .card").first.click()
    pit.face("9S")
    pit.fill(reason="seen on camera")
    page.locator("dialog .look").click()
    preview = page.locator("dialog .preview")
    expect(preview).to_contain_text("Player wins: Player 9, Banker 7")
    # Seat 1 had got 25.00 and 23.75 for it; seat 2 had lost 100.00.
    expect(preview.locator("tr[data-seat='1']")).to_have_attribute("data-paid", "-4875")
    expect(preview.locator("tr[data-seat='2']")).to_have_attribute("data-paid", "20000")
    assert table.events("coup_settled") == 1
    # Another card than the one that was looked at: the preview is of no use any more.
    page.locator("dialog .row.player .card").first.click()
    pit.face("8S")
    expect(page.locator("dialog .go")).to_be_disabled()
    page.locator("dialog .look").click()
    expect(preview).to_contain_text("Player wins: Player 8, Banker 7")
    pit.go("correct_hands")
    expect(page.locator("#on-record .hand.player")).to_contain_text("8♠ K♥ = 8")
    assert table.events("coup_settled") == 2
    assert table.events("hands_corrected") == 1


def test_a_wager_is_corrected_after_the_settlement(pit: Screen, table: ConsoleTable) -> None:
    page = pit.page
    settle(pit)
    show(pit)
    page.locator("#on-record [data-command=correct_wager]").click()
    page.locator("dialog select").select_option(index=0)
    page.locator("dialog .go").click()
    expect(page.locator("dialog [name=stake]")).to_have_value("25.00")
    pit.fill(stake="50.00", reason="seen on camera")
    page.locator("dialog .look").click()
    # Twice the stake wins twice as much: 23.75 more.
    expect(page.locator("dialog .preview tr[data-seat='1']")).to_have_attribute("data-paid", "2375")
    pit.go("correct_wager")
    expect(page.locator("#on-record tr[data-seat='1'] td.pay")).to_have_text("47.50")
    assert table.events("wager_corrected") == 1


def test_a_correction_of_much_money_is_signed_by_a_second_person(
    browser: Browser, tmp_path: Path
) -> None:
    """The new stake of 50.00 wins 23.75 more, which is the sum that the table names."""
    with console_table(tmp_path, sign_from=2375) as table, screen(browser, table) as pit:
        page = pit.page
        pit.log_in("both", "/dealer")
        pit.shoe_is_loaded()
        page.goto(f"{table.address}/pit")
        pit.ask("open_betting")
        pit.ask("place_wager", wagers=[{"seat": 1, "bet": "banker", "stake": 2500}])
        pit.ask("close_betting")
        settle(pit)
        show(pit)
        page.locator("#on-record [data-command=correct_wager]").click()
        page.locator("dialog select").select_option(index=0)
        page.locator("dialog .go").click()
        pit.fill(stake="50.00", reason="seen on camera")
        page.locator("dialog .look").click()
        expect(page.locator("dialog p.said").last).to_contain_text("Two people must have signed")
        expect(page.locator("dialog .go")).to_be_disabled()
        pit.fill(second="sam", second_password=PASSWORD)
        page.locator("dialog #sign").click()
        expect(page.locator("dialog output")).to_contain_text("sam has signed")
        page.locator("dialog .look").click()
        gets = page.locator("dialog .preview tr[data-seat='1']")
        expect(gets).to_have_attribute("data-paid", "2375")
        assert table.events("correction_signed") == 0
        pit.go("correct_wager")
        assert table.events("correction_signed") == table.events("wager_corrected") == 1
        [sent] = [body for name, body in pit.sent if name == "correct_wager"]
        assert sent["signed"] == ["both", "sam"]
        assert sent["previewed"]["digest"]
        pit.is_clean()


def test_hands_that_no_deal_could_have_made_are_refused_in_the_preview(pit: Screen) -> None:
    page = pit.page
    settle(pit)
    show(pit)
    page.locator("#on-record [data-command=correct_hands]").click()
    page.locator("dialog .row.player .hand").click()
    pit.face("2C")
    pit.fill(reason="seen on camera")
    page.locator("dialog .look").click()
    expect(page.locator("dialog p.said")).to_contain_text("these hands have a card too many")
    expect(page.locator("dialog .go")).to_be_disabled()


def test_a_coup_is_judged_again_by_another_rulebook_after_its_preview(
    pit: Screen, table: ConsoleTable
) -> None:
    page = pit.page
    table.say("D P1 4S, D B1 2D, D P2 JH, D B2 4C, D P3 JD, G banker")
    pit.phase("settled")
    show(pit)
    page.locator("#on-record [data-command=correct_rulebook]").click()
    options = page.locator("dialog [name=rulebook] option")
    assert not [text for text in options.all_inner_texts() if text.startswith("au-commission:")]
    newest = f"au-even-money ({load_rulebook('au-even-money').hash[:12]})"
    even_money = page.locator("dialog [name=rulebook] option", has_text=newest)
    pit.fill(rulebook=even_money.get_attribute("value") or "", reason="the wrong sign stood")
    expect(page.locator("dialog .go")).to_be_disabled()
    page.locator("dialog .look").click()
    # Banker wins with 6: 25.00 had been won, less 1.25; by even money it is half, 12.50, less
    # nothing: the seat gives 12.50 of its chips back, and the commission is handed back to it.
    preview = page.locator("dialog .preview")
    expect(preview.locator("tr[data-seat='1']")).to_have_attribute("data-paid", "-1250")
    expect(preview).to_contain_text("1.25")
    expect(preview.locator("tfoot")).to_contain_text("11.25")
    assert table.events("rulebook_corrected") == 0
    pit.go("correct_rulebook")
    expect(page.locator("#on-record h3")).to_contain_text("au-even-money")
    expect(page.locator("#on-record tr[data-seat='1'] td.pay")).to_have_text("12.50")
    assert table.events("rulebook_corrected") == 1


def test_limits_are_set_between_coups_and_an_amount_that_is_none_is_not_sent(
    pit: Screen, table: ConsoleTable
) -> None:
    page = pit.page
    limits = page.locator("#more [data-command=set_limits]")
    expect(limits).to_have_attribute("title", "A coup is in progress")
    settle(pit, "S")
    expect(limits).to_be_enabled()
    limits.click()
    pit.fill(**{"banker-minimum": "10.00", "banker-maximum": "5,000", "tie-maximum": "lots"})
    page.locator("dialog .go").click()
    assert pit.commands("set_limits") == []
    pit.fill(**{"tie-maximum": "", "table_maximum": "20000", "patron_maximum": "9000"})
    page.locator("dialog [name=banker-per]").select_option("seat")
    pit.go("set_limits")
    sent = pit.commands("set_limits")[0]
    banker = next(bet for bet in sent["bets"] if bet["bet"] == "banker")
    own = {"minimum": 1000, "maximum": 500_000, "step": 1, "table_maximum": None}
    assert banker == {"bet": "banker", "per": "seat", **own}
    assert (sent["table_maximum"], sent["differential"]) == (2_000_000, None)
    assert (sent["patron_maximum"], sent["seat_maximum"]) == (900_000, None)
    assert table.events("limits_set") == 1
    until_blocking(lambda: _opens_with(limits, "banker-minimum", "10.00"), "they are in force")
    expect(page.locator("dialog [name=table_maximum]")).to_have_value("20,000.00")
    expect(page.locator("dialog [name=banker-per]")).to_have_value("seat")
    pit.fill(**{"banker-minimum": "9000"})
    page.locator("dialog .go").click()
    expect(page.locator("dialog .changes")).to_have_text("Banker: Minimum: 10.00 → 9,000.00")
    expect(page.locator("dialog p.said")).to_have_text("refused: These limits cannot hold")
    faulty = page.locator("dialog [name=banker-maximum]")
    expect(faulty).to_be_focused()
    expect(faulty).to_have_attribute("aria-invalid", "true")
    fault = "5,000.00 is below the minimum of 9,000.00"
    expect(page.locator("#fault-banker-maximum")).to_have_text(fault)
    page.locator("dialog .cancel").click()
    pit.ask("set_limits")


def _opens_with(button: Locator, field: str, value: str) -> bool:
    """Open a form and keep it open; where it begins with an older state, close it again."""
    button.click()
    dialog = button.page.locator("dialog")
    if dialog.locator(f"[name={field}]").input_value() == value:
        return True
    dialog.locator(".cancel").click()
    expect(dialog).to_have_count(0)
    return False


def test_the_tables_chips_are_counted_by_pieces_and_two_people_sign(
    pit: Screen, table: ConsoleTable
) -> None:
    page = pit.page

    def chips(command: str) -> Locator:
        return page.locator(f"#chips [data-command={command}]")

    settle(pit, "C")
    expect(page.locator("#payable p").first).to_have_text(
        "Payments are rounded up to 0.01; the smallest chip is 1.00"
    )
    expect(page.locator("#payable .unpayable")).to_have_text(
        "⚠ Not payable in chips: 1.00 on Banker wins 0.95"
    )
    expect(page.locator("#float")).to_have_text("No float has been opened")
    expect(chips("fill")).to_be_disabled()
    chips("open_float").click()
    # 20 of 25.00 and 30 of 100.00; the rest of the tray is empty, and is not said.
    pit.fill(**{"float_id": "20261127-01", "pieces-2": "20", "pieces-3": "30", "signed": "s1"})
    expect(page.locator("dialog output")).to_have_text("Total 3,500.00")
    page.locator("dialog .go").click()
    expect(page.locator("dialog p.said")).to_contain_text("Two people must have signed")
    pit.fill(signed="s1, s2", **{"worth-6": "lots", "pieces-6": "1"})
    page.locator("dialog .go").click()
    assert len(pit.commands("open_float")) == 1  # what is no amount is not sent
    pit.fill(**{"pieces-6": ""})
    pit.go("open_float")
    sent = pit.commands("open_float")[-1]
    assert (sent["currency"], sent["signed"]) == ("AUD", ["s1", "s2"])
    assert sent["chips"] == [
        {"denomination": 2500, "pieces": 20},
        {"denomination": 10_000, "pieces": 30},
    ]
    expect(page.locator("#float dd").first).to_have_text("20261127-01 · open")
    chips("fill").click()
    pit.fill(**{"slip": "F7", "pieces-3": "10", "signed": "s1 c9"})
    pit.go("fill")
    chips("correct_chips").click()
    expect(page.locator("dialog [name=float_id]")).to_have_value("20261127-01")
    pit.fill(**{"move": "fill", "slip": "F7", "reason": "miscounted", "pieces-3": "11"})
    pit.fill(signed="s1 c9")
    pit.go("correct_chips")
    expect(page.locator("#float")).to_contain_text("Fill F71,100.00")
    chips("close_float").click()
    pit.fill(**{"pieces-2": "18", "pieces-3": "41", "signed": "s1 s2"})
    pit.go("close_float")
    expect(page.locator("#float dd").first).to_have_text("20261127-01 · closed")
    expect(page.locator("#float dd").last).to_have_text("4,550.00")
    kinds = ("float_opened", "chips_filled", "chips_corrected", "float_closed")
    assert [table.events(kind) for kind in kinds] == [1, 1, 1, 1]


def test_the_cage_is_shown_as_the_table_knows_it(pit: Screen, table: ConsoleTable) -> None:
    cage = pit.page.locator("[data-health=cage]")
    expect(cage).to_have_class("unknown")
    expect(cage).to_contain_text("none has registered")
    # What it acknowledges is shown with the next state, whatever that is about.
    table.request("cage", "ack", consumer="main", position=1)
    settle(pit, "S")
    expect(cage).to_have_class("ok")
    expect(cage).to_contain_text("cage/main · has not acknowledged a settlement for")
    head = table.head()
    table.request("cage", "ack", consumer="main", position=head)
    pit.ask("open_betting")
    expect(cage).to_contain_text("has every settlement")
    expect(cage).to_contain_text(f"acknowledged to {head} of")
    table.request("cage", "ack", consumer="main", position=head, retired=True)
    pit.ask("close_betting")
    expect(cage).to_have_class("unknown")


def test_an_alarm_with_another_way_out_is_not_acknowledged_away(pit: Screen) -> None:
    pit.table.say("E 4")  # a card moved backwards: the coup is misaligned
    expect(pit.page.locator("#alarm-list [data-alarm=coup_misaligned]")).to_be_visible()
    expect(pit.page.locator("#alarm-list [data-alarm=coup_misaligned] button")).to_have_count(0)
    pit.table.say("e 4")
    expect(pit.page.locator("#alarm-list [data-alarm^=shoe_error]")).to_have_count(0)


def test_an_error_of_the_shoe_is_ended_by_a_person_with_a_reason(pit: Screen) -> None:
    pit.table.say("E 2")
    alarm = pit.page.locator("#alarm-list [data-alarm=shoe_error_overdraw]")
    expect(alarm).to_contain_text("if you have seen that it is over", ignore_case=True)
    alarm.locator("button").click()
    pit.page.locator("dialog .go").click()
    assert pit.commands("clear_shoe_error") == []  # not without a reason
    pit.fill(reason="its lamp is out")
    pit.go("clear_shoe_error")
    expect(alarm).to_have_count(0)
    [sent] = pit.commands("clear_shoe_error")
    assert (sent["code"], sent["reason"]) == ("overdraw", "its lamp is out")
    pit.table.say("e 2")  # late, and no news
