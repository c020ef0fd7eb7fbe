"""What a dealer takes, pays and gives back, held against every settlement of random games."""

import json
import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Browser, Page, expect

from events.types.table import CoupSettled, Settlement, SettlementLine
from tests.support.service.console_table import ConsoleTable, console_table
from tests.support.service.screens import Screen, screen
from tests.support.table.money_game import BOOKS, Game, random_coup

COUPS = 30  # of each rulebook
LEAST = 10  # settled wagers among them
HANDLED = """async ([settlements, timing]) => {
  const { handled } = await import("/static/js/wagers.js");
  return settlements.map(({ lines }) => lines.map((line) => handled(line, timing)));
}"""


@pytest.fixture(scope="module")
def dealer(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Screen]:
    with console_table(tmp_path_factory.mktemp("table")) as table, screen(browser, table) as opened:
        opened.log_in("both", "/dealer")
        yield opened
        opened.is_clean()


def settlements(name: str) -> list[Settlement]:
    game = Game(BOOKS[name](), seed=5)
    rng = random.Random(f"handled/{name}")
    for _ in range(COUPS):
        game.play(random_coup(rng))
    return [event.settlement for event in game.world.log if isinstance(event, CoupSettled)]


def by_hand(line: SettlementLine, timing: str | None) -> dict[str, int]:
    """What a dealer does with the chips: a token and a stake that lost are the house's."""
    taken = line.result == "lose" or line.kind == "promo"
    held_back = line.commission if timing in {"deduct", None} else 0
    return {
        "take": line.stake if taken else 0,
        "pay": line.winnings - held_back,
        "back": 0 if taken else line.stake,
    }


@pytest.mark.parametrize("name", BOOKS)
def test_what_is_handled_ties_with_what_is_paid(dealer: Screen, name: str) -> None:
    book, found = BOOKS[name](), settlements(name)
    timing = book.commission.timing.value if book.commission else None
    sent = [json.loads(msgspec.json.encode(settlement)) for settlement in found]
    shown = dealer.page.evaluate(HANDLED, [sent, timing])
    assert sum(len(each.lines) for each in found) > LEAST
    for settlement, lines in zip(found, shown, strict=True):
        assert lines == [by_hand(line, timing) for line in settlement.lines]
        marked = 0 if timing in {"deduct", None} else settlement.commission
        take, pay, back = (sum(line[what] for line in lines) for what in ("take", "pay", "back"))
        tokens = sum(line.stake for line in settlement.lines if line.kind == "promo")
        assert pay + back == settlement.paid + marked
        assert take + back == settlement.staked + tokens
        assert pay - take == settlement.paid + marked - settlement.staked - tokens


def test_a_void_coup_says_which_stakes_go_back(dealer: Screen) -> None:
    page: Page = dealer.page
    table: ConsoleTable = dealer.table
    dealer.shoe_is_loaded()
    dealer.act("open_betting")
    dealer.phase("betting")
    wagers: list[dict[str, Any]] = [
        {"seat": 2, "bet": "player", "stake": 2500},
        {"seat": 7, "bet": "banker", "stake": 500},
    ]
    dealer.ask("place_wager", wagers=wagers)
    dealer.act("close_betting")
    dealer.phase("closed")
    table.say("D P1 6S")
    dealer.phase("dealing")
    dealer.ask("void_coup", reason="a misdeal")
    dealer.phase("voided")
    for wager in wagers:
        row = page.locator(f"#standing tr[data-seat='{wager['seat']}']")
        expect(row).to_have_attribute("data-result", "void")
        expect(row.locator("td.back")).to_have_text(f"{wager['stake'] / 100:.2f}")
    expect(page.locator("#standing tfoot td.back")).to_have_text("30.00")
    expect(page.locator("#standing tfoot td.take")).to_have_text("\N{EN DASH}")
