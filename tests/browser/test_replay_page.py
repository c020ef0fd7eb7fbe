"""The replay viewer at a real table: coups found, told, changed in thought, and proved."""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it brings no types
from playwright.sync_api import Browser, Page, expect

from baccarat.cli.main import main
from tests.support.machine.waiting import until_blocking
from tests.support.service.console_table import ConsoleTable, console_table
from tests.support.service.geometry import SPILLS
from tests.support.service.screens import Screen, screen

ASK = """async () => {
  const { ask, newTransaction } = await import("/static/js/send_command.js");
  return ask("find_coups", { transaction: newTransaction() });
}"""
LINES = """cards => cards.map((card) => {
  const face = document.createRange();
  face.selectNode(card.firstChild);
  return new Set([...face.getClientRects()].map(({ top }) => Math.round(top))).size;
})"""
MINUS = "\N{MINUS SIGN}"
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[ConsoleTable]:
    """Three coups: Banker's 7 beats 6; a void one; a tie that was Player's until corrected."""
    with (
        console_table(tmp_path_factory.mktemp("table")) as started,
        screen(browser, started) as both,
    ):
        both.log_in("both", "/dealer")
        both.shoe_is_loaded()
        wagers = [
            {"seat": 1, "bet": "banker", "stake": 2500},
            {"seat": 2, "bet": "player", "stake": 10_000},
        ]
        both.ask("open_betting")
        both.ask("place_wager", wagers=wagers)
        both.ask("close_betting")
        started.say("D P1 6S, D B1 7D, D P2 KH, D B2 KC, G banker")
        both.phase("settled")
        both.ask("open_betting")
        both.ask("void_coup", reason="the patron's <b>chips</b> fell")
        both.phase("voided")
        both.ask("open_betting")
        both.ask("place_wager", wagers=wagers)
        both.ask("close_betting")
        started.say("D P1 9S, D B1 2D, D P2 KS, D B2 3C, G player")
        both.phase("settled")
        coup = both.page.locator("#shoe").inner_text().split()[-1] + "/3"
        hands = {"player": ["9S", "KS"], "banker": ["2D", "7C"]}
        both.ask("correct_hands", coup=coup, **hands, reason="camera 4 shows a seven")
        until_blocking(lambda: reads(both), "the past is not read")
        yield started


def reads(person: Screen) -> bool:
    """Whether the reader has started, which a busy machine takes its time for."""
    answer = person.page.evaluate(ASK)
    return bool(answer["result"] == "accepted")


@pytest.fixture(scope="module")
def supervisor(browser: Browser, table: ConsoleTable) -> Iterator[Screen]:
    with screen(browser, table) as opened:
        opened.log_in("sam", "/replay")
        yield opened


@pytest.fixture
def viewer(supervisor: Screen) -> Iterator[Screen]:
    """The page as it opens."""
    page = supervisor.page
    page.emulate_media(media="screen")
    page.goto(f"{supervisor.table.address}/replay?lang=en")
    expect(page.locator("#found li")).to_have_count(3)
    yield supervisor
    supervisor.is_clean()


def find(page: Page, **fields: str) -> None:
    for name, value in fields.items():
        field = page.locator(f"#find [name={name}]")
        if field.evaluate("field => field.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.fill(value)
    page.locator("#find-go").click()


def show(page: Page, number: int) -> None:
    page.locator(f"#found button[data-coup$='/{number}']").click()
    expect(page.locator(".told .name")).to_contain_text(f"/{number}")


def faces(page: Page, hand: str) -> list[str]:
    found = page.locator(f".stage .hand.{hand} .card").all_inner_texts()
    return [text.replace("✎", "").strip() for text in found]


def test_a_coup_is_found_by_its_number_its_card_its_seat_and_its_result(viewer: Screen) -> None:
    page, found = viewer.page, viewer.page.locator("#found li")
    find(page, number="2")
    expect(found).to_have_count(1)
    expect(found).to_contain_text("Void")
    find(page, number="", face="7C")
    expect(found).to_have_count(1)
    expect(found).to_contain_text("corrected after settlement")
    find(page, face="", seat="2")
    expect(found).to_have_count(2)
    find(page, seat="7")
    expect(page.locator("#found-said")).to_have_text("No coup fits.")
    page.locator("#find-clear").click()
    expect(found).to_have_count(3)
    find(page, result="banker")
    expect(found).to_have_count(1)
    expect(found).to_contain_text("7♦ K♣")
    find(page, result="", until="2020-01-01T00:00:00")
    expect(found).to_have_count(0)


def test_its_timeline_is_scrubbed_and_the_cards_appear_as_they_did(
    viewer: Screen, capsys: pytest.CaptureFixture[str]
) -> None:
    page = viewer.page
    show(page, 1)
    assert (faces(page, "player"), faces(page, "banker")) == (["6♠", "K♥"], ["7♦", "K♣"])
    slider = page.locator("#slider")
    slider.focus()
    page.keyboard.press("Home")
    expect(page.locator(".now-step h3")).to_contain_text("Betting opens")
    assert faces(page, "player") == faces(page, "banker") == []
    seen: list[tuple[list[str], list[str]]] = []
    for _ in range(int(slider.get_attribute("max") or 0)):
        page.keyboard.press("ArrowRight")
        lie = faces(page, "player"), faces(page, "banker")
        if not seen or seen[-1] != lie:
            seen.append(lie)
    assert seen == [
        ([], []),
        (["6♠"], []),
        (["6♠"], ["7♦"]),
        (["6♠", "K♥"], ["7♦"]),
        (["6♠", "K♥"], ["7♦", "K♣"]),
    ]
    expect(page.locator(".steps [aria-current=step]")).to_have_count(1)
    # Without the slider's own keys, and by mouse.
    page.locator(".told .name").click()
    page.keyboard.press("ArrowLeft")
    moved = int(slider.input_value())
    assert moved == int(slider.get_attribute("max") or 0) - 1
    page.locator("[data-go=first]").click()
    assert slider.input_value() == "0"
    step = page.locator(".steps button").filter(has_text="The shoe reports").first
    step.click()
    # The bytes are those that the command tells of.
    shown = page.locator(".raw code").inner_text().replace(" ", "")
    coup = page.locator(".told .name").inner_text().split()[-1]
    capsys.readouterr()
    assert main(["replay", str(viewer.table.log), "--coup", coup, "--json"]) == 0
    lines = json.loads(capsys.readouterr().out)["lines"]
    raws = [line["raw"] for line in lines if line["raw"]]
    assert shown == raws[0]["hex"]
    expect(page.locator(".raw")).to_contain_text(f"at {raws[0]['offset']} in journal")


def test_what_was_paid_is_told_with_its_reckoning(viewer: Screen) -> None:
    page = viewer.page
    show(page, 1)
    row = page.locator(".paid tr[data-seat='1']")
    expect(row).to_contain_text("48.75")
    expect(page.locator(".rules")).to_contain_text("Banker wins")
    page.locator(".reckoning summary").click()
    expect(page.locator(".reckoning")).to_contain_text("commission 1/20 of")
    page.locator("[data-go=first]").click()
    expect(page.locator(".paid")).to_have_text("No wagers.")


def test_a_correction_is_told_with_its_reason_and_what_it_changed(viewer: Screen) -> None:
    page = viewer.page
    show(page, 3)
    assert faces(page, "banker") == ["2♦", "7♣"]
    expect(page.locator(".changes")).to_contain_text("camera 4 shows a seven")
    # Seat 1 gets its stake back, seat 2 gives its winnings back.
    expect(page.locator(".changes tr[data-seat='1']")).to_contain_text("+25.00")
    expect(page.locator(".changes tr[data-seat='2']")).to_contain_text(f"{MINUS}100.00")
    page.locator("[data-go=first]").click()
    for _ in range(int(page.locator("#slider").get_attribute("max") or 0)):
        page.keyboard.press("ArrowRight")
        if "200.00" in page.locator(".paid").inner_text():
            break
    else:
        pytest.fail("the first settlement was not shown")
    assert faces(page, "banker") == ["2♦", "3♣"]


def test_what_a_person_typed_is_text(viewer: Screen) -> None:
    page = viewer.page
    show(page, 2)
    expect(page.locator(".told .head")).to_contain_text("<b>chips</b>")
    assert page.locator(".told .head b").count() == 0


def test_what_if_stands_beside_what_happened(viewer: Screen) -> None:
    page = viewer.page
    show(page, 1)
    page.locator(".choices button").filter(has_text="6♠").click()
    page.locator("dialog .pad [data-face='9S']").click()
    happened = page.locator(".side[data-side=happened]")
    instead = page.locator(".side[data-side=instead]")
    expect(happened).to_contain_text("Banker wins")
    expect(instead).to_contain_text("Player wins")
    expect(instead).to_contain_text("9♠")
    wide = page.viewport_size
    page.set_viewport_size({"width": 1366, "height": 900})
    assert page.evaluate(SPILLS, True) == []
    assert set(page.locator(".choices .card").evaluate_all(LINES)) == {1}
    if wide:
        page.set_viewport_size(wide)
    # Seat 1 would have lost 25.00 and 23.75 won; seat 2 would have had 200.00.
    expect(page.locator(".beside tr[data-seat='1']")).to_have_attribute("data-difference", "-4875")
    expect(page.locator(".beside tr[data-seat='2']")).to_have_attribute("data-difference", "20000")
    page.get_by_role("button", name="Back to what happened").click()
    expect(page.locator(".side")).to_have_count(0)
    assert viewer.table.events("coup_settled") == 3


def test_the_evidence_is_saved_and_the_command_verifies_it(
    viewer: Screen, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = viewer.page
    for number in (1, 2, 3):
        show(page, number)
        with page.expect_download() as saving:
            page.locator("#evidence").click()
        file = tmp_path / saving.value.suggested_filename
        saving.value.save_as(file)
        assert file.name.endswith(f"-{number}.json")
        expect(page.locator(".told .head .said")).to_contain_text(f"Saved: {file.name}")
        assert main(["evidence", "verify", str(file), "--key", viewer.table.key]) == 0
        assert "ok, coup" in capsys.readouterr().out
        file.write_bytes(file.read_bytes().replace(b'"position": ', b'"position":  ', 1))
        assert main(["evidence", "verify", str(file), "--key", viewer.table.key]) == 1


def test_a_coup_is_printed_as_the_command_prints_it(viewer: Screen, tmp_path: Path) -> None:
    page = viewer.page
    for number in (1, 2, 3):
        show(page, number)
        with page.expect_download() as saving:
            page.locator("#save").click()
        coup = page.locator(".told .name").inner_text().split()[-1]
        written = tmp_path / f"{number}.html"
        assert main(["replay", str(viewer.table.log), "--coup", coup, "--html", str(written)]) == 0
        assert saving.value.path().read_bytes() == written.read_bytes()
    with page.expect_popup() as opening:
        page.locator("#print").click()
    expect(opening.value.locator("h1")).to_be_visible()
    opening.value.close()


def test_a_coup_has_an_address_and_prints_alone(viewer: Screen) -> None:
    page = viewer.page
    show(page, 3)
    page.reload()
    expect(page.locator(".told .name")).to_contain_text("/3")
    page.emulate_media(media="print")
    expect(page.locator(".finding")).to_be_hidden()
    expect(page.locator(".scrubber")).to_be_hidden()
    expect(page.locator(".steps li").last).to_be_visible()
    assert len(page.pdf()) > 10_000


def test_a_technician_may_look_and_a_dealer_may_not(browser: Browser, table: ConsoleTable) -> None:
    with screen(browser, table) as opened:
        opened.log_in("tec")
        assert opened.page.url == f"{table.address}/replay"
        expect(opened.page.locator("#found li")).to_have_count(3)
        show(opened.page, 1)
        opened.is_clean()
    with screen(browser, table) as opened:
        opened.log_in("dora", "/dealer")
        assert opened.page.locator("a[href='/replay']").count() == 0
        coup = opened.page.locator("#shoe").inner_text().split()[-1] + "/1"
        for path in ("/replay", f"/replay/evidence/{coup}"):
            answer = opened.page.request.get(f"{table.address}{path}")
            assert answer.status == 403
        said = opened.page.evaluate(
            """async (coup) => {
              const { ask } = await import("/static/js/send_command.js");
              return ask("tell_coup", { coup, transaction: "dora-is-curious" });
            }""",
            coup,
        )
        assert said["code"] == "not_allowed"
        opened.is_clean()
    with screen(browser, table) as opened:
        answer = opened.page.request.get(f"{table.address}/replay/evidence/{coup}")
        assert answer.status == 401


@pytest.mark.parametrize(
    ("language", "winner", "steps", "first", "day"),
    [
        ("zh-Hans", "庄赢", "时间线", "开始投注。", "%Y年%-m月%-d日 %H:%M:%S"),
        ("zh-Hant", "莊贏", "時間線", "開始投注。", "%Y/%-m/%-d %H:%M:%S"),
        ("en", "Banker wins", "Timeline", "Betting was opened.", "%-d %b %Y, %H:%M:%S"),
    ],
)
def test_it_speaks_each_language(
    viewer: Screen, language: str, winner: str, steps: str, first: str, day: str
) -> None:
    page = viewer.page
    page.goto(f"{viewer.table.address}/replay?lang={language}")
    expect(page.locator("#found li")).to_have_count(3)
    show(page, 1)
    expect(page.locator(".rules h3")).to_contain_text(winner)
    expect(page.locator(".line h2")).to_have_text(steps)
    expect(page.locator(".line .says").first).to_have_text(first)
    # The same hours for whoever reads a log: 24 of them, and the day before the month.
    told = page.locator("#found time").first
    at = datetime.fromisoformat(told.get_attribute("datetime") or "").astimezone()
    expect(told).to_have_text(at.strftime(day))
    for width in (1280, 768, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(SPILLS, True) == [], width
    page.set_viewport_size({"width": 1920, "height": 1080})
    printed = page.request.get(
        f"{viewer.table.address}{page.locator('#save').get_attribute('href')}"
    )
    assert f'<html lang="{language}">' in printed.text()
    assert first in printed.text()


@pytest.mark.parametrize("width", [1920, 1024])
def test_it_breaks_no_rule_of_access(browser: Browser, table: ConsoleTable, width: int) -> None:
    size = {"width": width, "height": 900}
    with screen(browser, table, viewport=size, bypass_csp=True) as opened:
        opened.log_in("sam", "/replay")
        page = opened.page
        for number in (3, 1):
            show(page, number)
            page.locator(".reckoning summary").click()
        page.locator(".choices button").filter(has_text="6♠").click()
        found = [Axe().run(page, options=RULES)]
        page.locator("dialog .pad [data-face='9S']").click()
        page.locator(".side").first.wait_for()
        found.append(Axe().run(page, options=RULES))
        for each in found:
            assert len(each.response["passes"]) > 20, "next to nothing was looked at"
            assert each.violations_count == 0, each.generate_report()
        overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert overflow <= 0
