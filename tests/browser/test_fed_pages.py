"""What pages do by themselves: they get their states from the test, and no table is there."""

import re
from collections.abc import Iterator
from typing import Final

import msgspec
import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, expect

from displays.http.words import LANGUAGES, load_words
from table_core.decide.decision import DecisionContext
from table_core.narrative.formatting import Spoken, spoken
from table_core.narrative.table_texts import as_phrase
from table_core.projections.pay_list import Move
from table_core.projections.table_document import StateView, project_table
from table_core.projections.wager_pages import WAGERS_IN_STATE
from table_core.roads.columns import project_roads, read_results
from table_core.rulebooks.shipped import load_rulebook
from table_core.state.coup import Phase
from table_core.state.table import Alarm
from table_core.texts.advice import Advice
from tests.support.service.fed_pages import FedPage, fed_page
from tests.support.service.geometry import SPILLS
from tests.support.table.coups import World, world_in
from tests.support.table.every_wager import every_wager
from tests.support.table.histories import perform
from tests.support.table.large_coups import placed
from tests.support.table.shown_states import shown_state
from tests.unit.table_core.narrative.test_table_texts import DOUBTED

BOOK: Final = load_rulebook("au-commission")


@pytest.fixture
def screen(browser: Browser) -> Iterator[FedPage]:
    with fed_page(browser) as opened:
        yield opened
        assert opened.said == []


def test_a_pay_table_that_turns_shows_every_wager_and_stops_at_a_press(screen: FedPage) -> None:
    rulebook, page = every_wager(), screen.page
    page.clock.install()
    screen.open("/")
    screen.show(shown_state("betting", rulebook))
    number, seen = page.locator("#page"), set()
    pages = int(number.inner_text().split()[-1])
    assert pages > 1
    for at in range(1, pages + 1):
        expect(number).to_have_text(f"Page {at} of {pages}")
        rows = page.locator("#bets tr:visible").evaluate_all("all => all.map(e => e.dataset.bet)")
        seen |= {bet for row in rows for bet in row.split()}
        page.clock.run_for(10_000)
    assert seen == {bet.id for bet in rulebook.bets.values() if bet.offered}
    expect(number).to_have_text(f"Page 1 of {pages}")
    number.click()
    page.clock.run_for(60_000)
    expect(number).to_have_text(f"Page 2 of {pages}")


def test_a_coup_that_is_over_becomes_the_last_coup_beside_large_roads(screen: FedPage) -> None:
    page, board = screen.page, screen.page.locator("#board")
    page.clock.install()
    screen.open("/")
    tie, won = (shown_state(name, BOOK) for name in ("tie", "settled"))
    void = "Coup void: stakes go back"
    for state, said, later, score in (
        (won, "Banker wins", "Last coup: Banker wins", "P 5 : 9 B"),
        (tie, "Tie", "Last coup: Tie", "P 9 : 9 B"),  # put right: the hands are shown again
        (shown_state("voided", BOOK), void, void, ""),
    ):
        screen.show(state)
        expect(page.locator("#status")).to_have_text(said)
        expect(board).to_have_attribute("data-room", "hands")
        page.clock.run_for(8_000)
        expect(page.locator("#status")).to_have_text(later)
        expect(page.locator("#score")).to_have_text(score)
        expect(board).to_have_attribute("data-room", "roads")
        assert state.coup is not None
        dealt = page.locator("#last-hands .card")
        expect(dealt).to_have_count(len(state.coup.cards))
        expect(page.locator("#player")).to_be_hidden()
    screen.show(shown_state("betting", BOOK))
    expect(page.locator("#last-hands")).to_be_hidden()
    expect(board).to_have_attribute("data-tone", "open")


def test_the_last_seconds_of_betting_are_told(screen: FedPage) -> None:
    screen.open("/", "zh-Hans")
    for left_ms, key in ((14_000, "open"), (4_900, "last"), (0, "time_up")):
        screen.show(shown_state("betting", BOOK), betting_ms=left_ms)
        said = load_words("zh-Hans")[f"status.{key}"]
        expect(screen.page.locator("#status")).to_have_text(said)
        expect(screen.page.locator("#countdown")).to_be_visible(visible=left_ms > 0)


def test_odds_are_in_words_and_the_commission_is_named(screen: FedPage) -> None:
    screen.open("/")
    screen.show(shown_state("betting", load_rulebook("extras")))
    rows = screen.page.locator("#bets")
    expect(rows.locator("[data-bet=big]")).to_have_text("Big27 to 50")
    expect(rows.locator("[data-bet=banker]")).to_have_text("Banker1 to 1less 5 % commission")
    expect(rows.locator("[data-bet~=dragon_bonus_banker]")).to_contain_text("Dragon Bonus P")


def test_the_wins_of_side_wagers_are_counted_apart_from_the_odds(screen: FedPage) -> None:
    screen.open("/")
    state = shown_state("betting", load_rulebook("extras"))
    assert state.shoe is not None
    counted = screen.page.locator("#side-wins")
    for wins, text in (
        (state.shoe.side_wins, "6 Lucky 677"),
        ((("big",), ("lucky6", "big"), *[()] * 75), "6 Lucky 61"),
    ):
        screen.show(replace(state, shoe=replace(state.shoe, side_wins=wins)))
        expect(counted.locator("[data-won=lucky6]")).to_have_text(text)
        expect(counted.locator("[data-won]")).to_have_count(7)
    screen.show(replace(state, shoe=replace(state.shoe, side_wins=())))
    expect(counted).to_be_hidden()


def test_a_second_language_stands_below_the_first(screen: FedPage) -> None:
    screen.open("/kiosk", "en", "&also=zh-Hant")
    screen.show(shown_state("settled", BOOK))
    also = screen.page.locator("#status .also")
    expect(also).to_have_text(load_words("zh-Hant")["status.banker"])
    expect(also).to_have_attribute("lang", "zh-Hant")
    assert screen.page.evaluate(SPILLS, False) == []


def test_a_kiosk_has_no_way_out(screen: FedPage) -> None:
    screen.open("/kiosk")
    screen.show(shown_state("betting", BOOK))
    expect(screen.page.locator("a")).to_have_count(0)
    screen.open("/")
    expect(screen.page.locator("a[href='/rules']")).to_have_count(1)


def test_letters_press_nothing_where_they_are_switched_off(screen: FedPage) -> None:
    page = screen.page
    screen.open("/pit")
    for pressed in ("true", "false"):
        screen.show(shown_state("settled", BOOK))
        expect(page.locator(".shortcuts")).to_have_attribute("aria-pressed", pressed)
        page.keyboard.press("d")
        expect(page.locator("dialog")).to_have_count(1 if pressed == "true" else 0)
        if pressed == "true":
            page.keyboard.press("Escape")
            page.locator(".shortcuts").click()
            screen.open("/pit")
    screen.open("/dealer")
    screen.show(shown_state("settled", BOOK))
    expect(page.locator(".shortcuts")).to_have_attribute("aria-pressed", "false")


def test_whoever_is_logged_in_and_does_not_deal_yet_is_asked_to_take_the_table(
    screen: FedPage,
) -> None:
    world = world_in(Phase.SETTLED)
    take, strip = screen.page.locator("[data-command=take_table]"), screen.page.locator("#dealer")
    screen.open("/dealer")
    for dealers, dealer, due in (
        (None, None, ""),
        ({"Both", "mia"}, None, "yes"),
        ({"Both", "mia"}, "mia", "yes"),
        ({"Both", "mia"}, "Both", "no"),
    ):
        state = replace(world.state, dealer=dealer)
        who = None if dealers is None else frozenset(dealers)
        screen.show(project_table(state, table="b7", rulebook=BOOK, catching_up=False, dealers=who))
        expect(strip).to_have_text(f"Dealer {dealer}" if dealer else "")
        expect(take).to_have_attribute("data-due", due or "no")
        assert take.is_hidden() is (due != "yes")


def test_a_large_coup_is_shown_in_sums_until_its_wagers_are_there(screen: FedPage) -> None:
    world = placed(WAGERS_IN_STATE + 1)
    state = project_table(world.state, table="b7", rulebook=BOOK, catching_up=False)
    page, coup = screen.page, state.coup
    assert coup is not None
    assert world.state.coup is not None
    screen.open("/dealer")
    for wagers in ((), tuple(world.state.coup.wagers.values())):
        screen.show(replace(state, coup=replace(coup, wagers=wagers)))
        # Seats in turn, 100 each: of 501 wagers 6 are at seat 6, and 5 at seat 7.
        for seat, text in (("6", "6"), ("7", "5")):
            spot = page.locator(f".spot[data-spot='{seat} tie'] .disc")
            expect(spot).to_have_text(text)
        expect(page.locator("#on-layout")).to_have_text("501 wagers, 501.00")
        expect(page.locator("#standing .seat")).to_have_count(99)
        expect(page.locator("#standing .back")).to_have_count(len(wagers))
        why = load_words("en")["dealer.nothing_to_undo" if wagers else "dealer.sums_only"]
        expect(page.locator("#undo")).to_have_attribute("title", why)
        expect(page.locator("#standing p")).to_have_count(0 if wagers else 1)


def test_the_chosen_seats_wagers_are_in_sight_beside_a_full_layout(screen: FedPage) -> None:
    bets = [f"{seat} {bet} 100" for seat in range(1, 10) for bet in ("player", "tie", "tiger")]
    world = World(DecisionContext(table="t1", rulebook=BOOK))
    perform(world, f"ready\nopen\nbet {', '.join(bets)}")
    screen.open("/dealer")
    screen.show(project_table(world.state, table="b7", rulebook=BOOK, catching_up=False))
    for seat in range(1, 10):
        screen.page.locator(f".seat-number[data-seat='{seat}']").click()
        backs = screen.page.locator(f"#standing .seat[data-seat='{seat}'] .back")
        expect(backs).to_have_count(3)
        for back in backs.all():
            expect(back).to_be_in_viewport(ratio=0.99)
    assert screen.page.evaluate("scrollY") == 0


def test_each_part_of_a_well_tables_health_stands_on_one_line(screen: FedPage) -> None:
    screen.open("/pit")
    screen.show(shown_state("dealing", BOOK))
    rows = screen.page.locator("#health > div")
    expect(rows).to_have_count(6)
    tops = "row => [...row.children].map((each) => Math.round(each.getBoundingClientRect().top))"
    for row in rows.all():
        name, said = row.evaluate(tops)
        assert name == said, row.inner_text()


def test_the_end_of_a_login_is_told_and_put_off(screen: FedPage) -> None:
    page = screen.page
    screen.open("/pit")
    screen.show(shown_state("settled", BOOK))
    expect(page.locator("#ending")).to_be_hidden()
    screen.tell("login", {"left_s": 90, "renewable": True})
    expect(page.locator("#ending-says")).to_have_text("You will be logged out in 90 s.")
    with page.expect_response("**/stay"):
        page.locator("#stay").click()
    assert screen.stayed == 1
    screen.tell("login", None)
    expect(page.locator("#ending")).to_be_hidden()
    screen.tell("login", {"left_s": 60, "renewable": False})
    expect(page.locator("#stay")).to_be_hidden()


def test_the_check_of_geometry_finds_what_is_wrong(screen: FedPage) -> None:
    screen.open("/")
    screen.show(shown_state("settled", BOOK))
    assert screen.page.evaluate(SPILLS, False) == []
    for style in (
        "#status { position: relative; inset-inline-start: -80rem }",
        "#bets { font-size: 4rem }",
        ".hand .total { translate: -16rem }",
        ".counts { inline-size: 4rem }",
    ):
        screen.page.evaluate(
            "(text) => { const sheet = new CSSStyleSheet(); sheet.replaceSync(text);"
            " document.adoptedStyleSheets = [sheet]; }",
            style,
        )
        assert screen.page.evaluate(SPILLS, False) != [], style


def test_the_screens_say_the_end_of_a_shoe_and_of_the_time_to_bet(screen: FedPage) -> None:
    page, last = screen.page, shown_state("settled", BOOK)
    assert last.shoe is not None
    ended = replace(last, shoe=replace(last.shoe, ended=True), advice=Advice())
    screen.open("/")
    screen.show(ended)
    expect(page.locator("#status")).to_have_text("This shoe is finished")
    expect(page.locator(".next")).to_be_hidden()
    screen.open("/dealer")
    screen.show(ended)
    expect(page.locator("#bets .disc")).to_have_count(0)
    assert last.pay
    expect(page.locator("#standing tbody tr").first).to_be_visible()
    screen.show(replace(ended, pay=()))
    expect(page.locator("#standing")).to_have_text("No wagers")
    screen.show(shown_state("betting", BOOK), betting_ms=0)
    expect(page.locator("#countdown")).to_have_text("Time is up: no more bets")
    expect(page.locator("#calls")).to_be_hidden()
    expect(page.locator("#next")).to_have_text("Call no more bets, or draw the first card.")


def test_why_a_coup_is_misaligned_is_said_in_words(screen: FedPage) -> None:
    state = shown_state("misaligned", BOOK)
    assert state.coup is not None
    reason = "link_lost: the shoe link was lost (reason port /dev/x: ready but empty)"
    screen.open("/pit")
    screen.show(replace(state, coup=replace(state.coup, reason=reason)))
    for place in ("#next", "[data-alarm=coup_misaligned]"):
        expect(screen.page.locator(place)).to_contain_text("The shoe link was lost")
        expect(screen.page.locator(place)).not_to_contain_text("/dev/x")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_reason_is_said_in_the_language_of_the_page(screen: FedPage, language: str) -> None:
    state = shown_state("misaligned", BOOK)
    assert state.coup is not None
    english = r"_|[a-z]{2}" if language != "en" else "_"
    screen.open("/pit", language)
    for reason in (*DOUBTED, "winner: the table says tie, the shoe player"):
        screen.show(told(replace(state, coup=replace(state.coup, reason=reason))))
        for place in ("#next", "[data-alarm=coup_misaligned] p:not(.hint)"):
            said = screen.page.locator(place).first.inner_text()
            assert said
            assert re.findall(english, said.replace(state.coup.id, "")) == [], (reason, said)
    voided = shown_state("voided", BOOK)
    assert voided.coup is not None
    typed = "link_lost: the shoe powered up"  # by the person who made it void
    screen.show(told(replace(voided, coup=replace(voided.coup, reason=typed))))
    expect(screen.page.locator("#next")).to_contain_text(f"({typed})")


def test_a_long_list_takes_what_a_seat_has_lost_at_once(screen: FedPage) -> None:
    state = shown_state("settled", BOOK)
    lost = [
        Move(
            wager=f"{n}", seat=n // 3, bet=bet, stake=n, result="lose", take=100 * n, pay=0, back=0
        )
        for n, bet in enumerate(("player", "tie", "tie") * 5, start=3)
    ]
    won = replace(lost[0], result="win", take=0, pay=300, back=300)
    screen.open("/dealer")
    screen.show(replace(state, pay=(*lost, won)))
    table = screen.page.locator("#standing")
    takes = [f"{sum(range(3 * seat, 3 * seat + 3))}.00" for seat in range(1, 6)]
    expect(table.locator("tbody td.take")).to_have_text([*takes, "\N{EN DASH}"])
    expect(table.locator("tbody tr").first).to_contain_text("Player, Tie")
    expect(table.locator("tfoot td.take")).to_have_text("150.00")


def told(state: StateView) -> StateView:
    """As the table would publish it, with the forms of its texts."""
    phrases: dict[str, Spoken] = {}
    for text in (*(alarm.text for alarm in state.alarms), state.coup.reason if state.coup else ""):
        spoken(as_phrase(text), phrases)
    return replace(state, spoken=phrases)


def test_an_alarm_speaks_the_language_of_the_page(screen: FedPage) -> None:
    screen.open("/pit", "zh-Hans")
    screen.show(shown_state("held", BOOK))
    said = screen.page.locator("[data-alarm=excess_card] p").first
    expect(said).to_contain_text("请说明桌上是否看到牌面")
    expect(said).not_to_contain_text("drawn")
    screen.show(shown_state("disputed", BOOK))
    for place in ("#next", "[data-alarm=result_disputed]"):
        expect(screen.page.locator(place)).to_contain_text("牌桌为 庄")
    expect(screen.page.locator("#alarm-list button")).to_have_count(0)  # only its cause ends it
    state = shown_state("misaligned", BOOK)
    assert state.coup is not None
    reason = "result_too_early: the shoe says banker before the deal is complete"
    screen.show(told(replace(state, coup=replace(state.coup, reason=reason))))
    expect(screen.page.locator("#next")).to_contain_text("派牌未完成")
    text = "shoe s1: its count does not come out: 414 cards, 2 missing; KS 7 times. A supervisor"
    held = Alarm(name="shoe_held", text=f"{text} releases the next shoe")
    disk = Alarm(name="log_unwritable", text="disk I/O error")
    screen.show(told(replace(state, alarms=(held, disk))))
    alarms = screen.page.locator("#alarm-list")
    for part in ("点牌不符", "414 张牌", "缺 2 张", "KS 有 7 张", "下一靴由主管放行"):
        expect(alarms).to_contain_text(part)
    expect(alarms.locator("[lang=en]")).to_have_text("disk I/O error")  # the system's own words
    screen.show(shown_state("squeeze", BOOK))
    expect(screen.page.locator("#next span")).to_have_text("视尚未翻开的牌而定")
    first = screen.page.locator(".needs > *:not(h2)").first
    expect(first).to_have_attribute("id", "acts")  # the way out is above what is wrong


def test_a_tablet_shows_the_chips_in_hand_and_that_a_list_goes_on(screen: FedPage) -> None:
    page = screen.page
    page.set_viewport_size({"width": 1024, "height": 768})
    screen.open("/dealer")
    screen.show(shown_state("betting", BOOK))
    for name in ("laying", "typed", "clear", "place"):
        box = page.locator(f"#{name}").bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 768, name
    screen.open("/pit")
    screen.show(shown_state("settled", BOOK))
    page.locator("#more [data-command=set_limits]").click()
    limits, title = page.locator("dialog .body"), page.locator("#form-title")
    expect(limits).to_have_attribute("data-more", "yes")
    expect(page.locator("dialog .go")).to_have_text("Set limits")
    limits.evaluate("box => box.scrollTo(0, box.scrollHeight)")
    expect(limits).to_have_attribute("data-more", "no")
    expect(title).to_be_in_viewport()


def test_a_coup_that_stands_asks_for_a_supervisor_first(screen: FedPage) -> None:
    screen.open("/dealer")
    screen.show(shown_state("misaligned", BOOK))
    due = screen.page.locator("#acts .act[data-due=yes]")
    expect(due.first).to_have_attribute("data-command", "call_supervisor")
    expect(screen.page.locator("#none-due")).to_be_hidden()


def test_chips_in_hand_end_with_their_coup(screen: FedPage) -> None:
    screen.open("/dealer")
    screen.show(shown_state("betting", BOOK))
    laying = screen.page.locator("#laying")
    empty = laying.inner_text()
    screen.page.locator("#chips .chip").first.click()
    expect(laying).not_to_have_text(empty)
    screen.show(shown_state("closed", BOOK))
    screen.show(shown_state("betting", BOOK))
    expect(laying).to_have_text(empty)


def test_a_lost_table_is_said_once_and_nothing_moves(screen: FedPage) -> None:
    page = screen.page
    kept = page.locator(".act, .needs, .coup, .record, .house")
    boxes = "all => all.map(e => JSON.stringify(e.getBoundingClientRect()))"
    page.set_viewport_size({"width": 1280, "height": 800})
    page.clock.set_fixed_time("2026-11-30T15:49:31")
    screen.open("/pit")
    screen.show(shown_state("settled", BOOK))
    before = kept.evaluate_all(boxes)
    screen.show(None, live=False, reason="table")
    assert kept.evaluate_all(boxes) == before
    expect(page.locator("#lost")).to_have_text(
        "What is shown here is old. The table does not answer. "
        "Nothing can be done until it is back. Since 15:49:31."
    )
    expect(page.locator("#lost")).to_be_in_viewport()
    assert "No connection" not in page.locator("#station").inner_text()
    expect(page.locator("#next")).to_be_hidden()  # it says what to do


@pytest.mark.parametrize(("width", "height"), [(1920, 1080), (3840, 2160)])
def test_a_walls_tiles_take_the_room_that_it_has(screen: FedPage, width: int, height: int) -> None:
    page = screen.page
    page.set_viewport_size({"width": width, "height": height})
    roads = msgspec.to_builtins(project_roads(read_results("BPPBBTPBB")))
    tables = {f"harbour/b{n}": {**roads, "position": n, "live": True} for n in range(1, 25)}
    screen.open("/wall")
    screen.tell("state", {"tables": tables, "findings": []})
    tiles = page.locator(".tile")
    expect(tiles).to_have_count(24)
    last = tiles.last.bounding_box()
    assert last is not None
    assert height * 0.7 < last["y"] + last["height"] <= height


def test_an_answer_that_decides_is_chosen_and_not_passed_over(screen: FedPage) -> None:
    page = screen.page
    screen.open("/pit")
    screen.show(shown_state("held", BOOK))
    page.locator("#acts [data-command=resolve_irregularity]").click()
    seen = page.locator("dialog [name=seen]")
    assert seen.evaluate("field => [field.value, field.validity.valid]") == ["", False]
    expect(seen.locator("option:checked")).to_have_text("Choose")
    page.locator("dialog .cancel").click()
    # Between coups nothing is asked of a coup in progress.
    screen.show(shown_state("settled", BOOK))
    page.locator("#more [data-command=replace_shoe]").click()
    assert page.locator("dialog select").evaluate_all("all => all.map(e => e.name)") == ["decks"]
