"""The page of all tables in a browser, on an archive of logs that tables have played."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it brings no types
from playwright.sync_api import Browser, Page, expect

from benchmarks.instruments.postgres import Postgres
from events.types import CoupSettled
from tests.support.property.logs import dealt, entries_in, into_archive, played, write_log
from tests.support.property.site import PropertySite, health

TABLES = {"harbour/b7": 21, "harbour/b8": 22, "river/a1": 23}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("logs")
    found = {}
    for origin, seed in TABLES.items():
        found[origin] = folder / f"{seed}.sqlite"
        write_log(found[origin], origin, dealt(seed, 30))
    return found


@pytest.fixture
def page(
    browser: Browser, postgres: Postgres, logs: dict[str, Path], tmp_path: Path
) -> Iterator[tuple[Page, str]]:
    """The page, live, and the archive's URL."""
    archive = postgres.database()
    stored(archive, *logs.values())
    site = PropertySite(tmp_path, archive)
    with site.running("page"):
        assert health(site.page_port)
        opened = browser.new_page(viewport={"width": 1600, "height": 1000})
        said: list[str] = []
        opened.on("pageerror", lambda error: said.append(str(error)))
        opened.on("console", lambda told: said.append(f"{told.type}: {told.text}"))
        opened.goto(f"http://127.0.0.1:{site.page_port}/")
        expect(opened.locator("#health[data-live=true]")).to_be_visible()
        yield opened, archive
        # A refused question is told by the browser as well.
        assert [line for line in said if "status of 400" not in line] == []
        opened.close()


def stored(archive: str, *logs: Path) -> None:
    """Logs into the archive, in a thread: the browser's loop has this one."""
    with ThreadPoolExecutor(1) as other:
        other.submit(into_archive, archive, *logs).result()


def order(shown: Page) -> list[str]:
    """The tables as they stand on the wall."""
    tiles = shown.locator(".tile").all()
    return [each.get_attribute("data-table") or "" for each in tiles]


def settled(log: Path) -> list[CoupSettled]:
    events = (entry.data for entry in entries_in(log))
    return [each for each in events if isinstance(each, CoupSettled)]


def test_every_table_is_there_with_its_roads_and_goes_on_by_itself(
    page: tuple[Page, str], logs: dict[str, Path], tmp_path: Path
) -> None:
    shown, archive = page
    assert order(shown) == sorted(TABLES)
    for origin, log in logs.items():
        tile = shown.locator(f'.tile[data-table="{origin}"]')
        winners = [each.settlement.winner for each in settled(log)][-9 * 6 :]
        marks = tile.locator(".bead_plate .mark")
        expect(marks).to_have_count(len(winners))
        wanted = [winner.value[0].upper() for winner in winners if winner]
        assert [marks.nth(n).get_attribute("data-mark") for n in range(len(wanted))] == wanted
        expect(tile).to_have_attribute("data-position", str(len(entries_in(log))))
    later = tmp_path / "later.sqlite"
    write_log(later, "harbour/c1", played(5, 3))
    stored(archive, later)
    tile = shown.locator('.tile[data-table="harbour/c1"]')
    expect(tile).to_have_attribute("data-position", str(len(entries_in(later))))
    expect(shown.locator(".tile").nth(2)).to_have_attribute("data-table", "harbour/c1")


def test_coups_are_found_by_a_card_and_nonsense_is_answered_in_words(
    page: tuple[Page, str], logs: dict[str, Path]
) -> None:
    shown, _ = page
    card = str(settled(logs["river/a1"])[0].settlement.player[0])
    wanted = sum(
        card in map(str, (*each.settlement.player, *each.settlement.banker))
        for log in logs.values()
        for each in settled(log)
    )
    shown.locator("fieldset:not([hidden]) input[name=card]").fill(card)
    shown.get_by_role("button", name="Ask").click()
    expect(shown.locator("#said")).to_have_text(f"{wanted} rows")
    expect(shown.locator("#answer tbody tr")).to_have_count(wanted)
    shown.locator("fieldset:not([hidden]) input[name=card]").fill("1X")
    shown.get_by_role("button", name="Ask").click()
    expect(shown.locator("#said")).to_contain_text("not a card")
    shown.locator("#question").select_option("win")
    shown.get_by_role("button", name="Ask").click()
    expect(shown.locator("#answer th").nth(4)).to_have_text("handle")


def test_tables_are_found_by_name_and_everybody_can_read_it(page: tuple[Page, str]) -> None:
    shown, _ = page
    shown.get_by_label("Find").fill("river")
    expect(shown.locator(".tile:visible")).to_have_count(1)
    shown.get_by_label("Only where something stands").check()
    expect(shown.locator(".tile:visible")).to_have_count(0)
    shown.get_by_label("Only where something stands").uncheck()
    found = Axe().run(shown)
    assert found.violations_count == 0, found.generate_report()


def test_the_worst_comes_first_and_ids_in_their_natural_order_in_three_languages(
    page: tuple[Page, str], tmp_path: Path
) -> None:
    shown, archive = page
    for number in (10, 2):
        log = tmp_path / f"{number}.sqlite"
        write_log(log, f"wharf/b-{number}", dealt(number, 1))
        stored(archive, log)
    with psycopg.connect(archive) as db:
        db.execute(
            "UPDATE property.reading SET read_at = now() - interval '1 h' WHERE name = 'river/a1'"
        )
        db.execute(
            "INSERT INTO property.reading VALUES "
            "('node', 'hub2', '{\"state\": \"off\"}', '', now() + interval '1 h')"
        )
    expect(shown.locator('.tile[data-table="river/a1"]')).to_have_attribute("data-level", "3")
    expect(shown.locator(".tile")).to_have_count(len(TABLES) + 2)
    assert order(shown) == ["river/a1", "harbour/b7", "harbour/b8", "wharf/b-2", "wharf/b-10"]
    expect(shown.locator("#health")).to_have_text("Not live: 1 of 5 tables")
    expect(shown.locator("#findings li")).to_contain_text("Hub node hub2: without JetStream")
    expect(shown.locator("#findings li")).to_contain_text("systemctl restart baccarat-hub@hub2")
    expect(shown.locator('.tile[data-table="wharf/b-2"] .foot')).to_contain_text("· 1 coup ·")
    for language, words in (
        ("zh-Hans", "5 张牌桌中有 1 张非实时"),
        ("zh-Hant", "5 張牌桌中有 1 張非即時"),
    ):
        shown.goto(f"{shown.url.partition('?')[0]}?lang={language}")
        expect(shown.locator("#health")).to_have_text(words)
