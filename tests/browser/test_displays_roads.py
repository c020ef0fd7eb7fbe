"""The roads of 2,000 shoes, read back from the scoreboard as a person sees it."""

import json
import random
import re
from typing import Any, Final

import msgspec
import pytest
from playwright.sync_api import Page, Route, expect

from displays.scoreboard.public_view import read_public
from tests.support.machine.files import vector
from tests.support.service.screen_server import served, shown
from tests.support.service.screens import chromium
from tests.support.table.roads_oracle import board_of

SEED: Final = 20_261_128
SHOES: Final = 1_000
BATCH: Final = 100
VECTORS: Final = msgspec.json.decode(vector("roads.json"))
ROADS: Final = ("bead_plate", "big_road", "big_eye_boy", "small_road", "cockroach_pig")
DERIVED: Final = {"big_eye_boy": "bigEye", "small_road": "small", "cockroach_pig": "cockroach"}
# Notes what is on the page whenever the page has shown a state, and before it is given another.
WATCH: Final = """() => {
  window.found = [];
  const board = document.querySelector("#board");
  const roads = [...document.querySelectorAll(".roads svg[data-columns]")];
  const read = (svg) => [...svg.querySelectorAll("g.mark")].map((mark) => {
    const { column, row, mark: letter, ties } = mark.dataset;
    const at = mark.transform.baseVal[0].matrix;
    if (at.e !== Number(column) || at.f !== Number(row)) throw new Error("drawn elsewhere");
    return [at.e, at.f, letter, Number(ties)];
  });
  const hint = (side) =>
    [...document.querySelectorAll(`#next-${side} .lone`)].map((each) => each.dataset.mark);
  new MutationObserver(() => window.found.push({
    position: Number(board.dataset.position),
    roads: Object.fromEntries(roads.map((svg) => [svg.id, read(svg)])),
    next: [hint("banker"), hint("player")],
    counts: ["banker", "player", "tie"].map((name) =>
      Number(document.querySelector(`[data-count="${name}"]`).textContent)),
  })).observe(board, { attributeFilter: ["data-position"] });
}"""
# Of any shoe: all of it is on the page, whatever it has.
WHOLE: Final = dict.fromkeys(ROADS, 1_000)


def shoes(rng: random.Random) -> list[str]:
    """Even draws, which hardly ever make a dragon, and others that make little else."""
    even = ["".join(rng.choices("BPT", (46, 45, 9), k=rng.randint(0, 90))) for _ in range(750)]
    runs = [
        "".join(rng.choice("BBBPPPT") * rng.randint(1, 14) for _ in range(rng.randint(1, 20)))[:100]
        for _ in range(SHOES - len(even))
    ]
    ties = ["T" * count for count in range(1, 9)]
    return [str(case["seq"]) for case in VECTORS] + ties + even + runs


def play(page: Page, address: str, texts: list[str]) -> list[Any]:
    """Show the states by the page's own stream, a batch to each connection.

    Returns:
        What was read after each state.
    """
    batches = [list(enumerate(texts, start=1))[n : n + BATCH] for n in range(0, len(texts), BATCH)]
    waiting = iter(batches)

    def answer(route: Route) -> None:
        said = ["retry: 1\n\n"]
        for position, text in next(waiting, []):
            state = read_public(shown(text, position))
            assert state is not None
            said.append(
                f"event: state\nid: {position}\ndata: {msgspec.json.encode(state).decode()}\n\n"
            )
        route.fulfill(content_type="text/event-stream", body="".join(said))

    opened: list[Route] = []
    answering: list[bool] = []
    # A page that is kept waiting opens more lines than one, and says what it knows.
    events = re.compile(r"/events(\?|$)")
    page.route(events, lambda route: answer(route) if answering else opened.append(route))
    page.goto(f"{address}/")
    expect(page.locator("#board[data-ready=true]")).to_be_attached()
    page.evaluate(WATCH)
    while not opened:
        page.wait_for_timeout(20)
    answering.append(True)
    answer(opened[-1])
    last = page.locator(f'#board[data-position="{len(texts)}"]')
    expect(last).to_be_attached(timeout=90_000)
    found: list[Any] = json.loads(page.evaluate("JSON.stringify(window.found)"))
    return found


def hints(text: str) -> list[list[str]]:
    """What one more win adds to each derived road, by playing it."""

    def marks(shoe: str) -> list[str]:
        board = board_of(shoe, WHOLE)
        return ["".join(mark for _, _, mark, _ in board[road]) for road in DERIVED]

    now = marks(text)
    return [
        [after[len(before) :] for before, after in zip(now, marks(text + side), strict=True)]
        for side in "BP"
    ]


@pytest.mark.timeout(180)
def test_the_roads_on_the_page_are_the_oracles() -> None:
    texts = shoes(random.Random(SEED))
    with served() as screens, chromium() as browser:
        page = browser.new_page(viewport={"width": 1920, "height": 1080})
        said: list[str] = []
        page.on("pageerror", lambda error: said.append(str(error)))
        found = play(page, screens.address, texts)
        assert said == []
    assert [each["position"] for each in found] == list(range(1, len(texts) + 1))
    for text, each in zip(texts, found, strict=True):
        expected = board_of(text, WHOLE)
        for road in ROADS:
            read = [tuple(mark) for mark in each["roads"][road]]
            assert read == expected[road], (SEED, road, text)
        assert each["next"] == hints(text), (SEED, text)
        assert each["counts"] == [text.count(letter) for letter in "BPT"], (SEED, text)
    # All the vectors fit on the page.
    for case, each in zip(VECTORS, found, strict=False):
        for road, key in DERIVED.items():
            assert "".join(mark for _, _, mark, _ in each["roads"][road]) == case[key], case["seq"]


@pytest.mark.parametrize("case", VECTORS, ids=[case["seq"] or "nothing" for case in VECTORS])
def test_the_oracle_agrees_with_what_was_computed_elsewhere(case: dict[str, Any]) -> None:
    board = board_of(case["seq"], WHOLE)
    for road, key in DERIVED.items():
        assert "".join(mark for _, _, mark, _ in board[road]) == case[key]
