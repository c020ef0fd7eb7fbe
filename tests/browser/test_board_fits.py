"""What a rulebook offers fits on the scoreboard, in every language, without a table behind it.

The page gets its state from a stream that the test answers, so a rulebook costs no process. The
last one offers every kind of wager: a kind that is added, or a word that is longer, has to fit.
"""

from collections.abc import Iterator
from functools import partial
from importlib.resources import files
from typing import Final

import msgspec
import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, Page, Route, expect
from starlette.requests import Request

from displays.http.pages import Pages
from displays.http.words import LANGUAGES
from table_core.projections.table_document import project_table
from table_core.rulebooks.shipped import load_rulebook, shipped_ids
from table_core.rules.rulebook import Rulebook
from table_core.state.table import TableState
from tests.support.table.every_wager import every_wager

_HOST: Final = "http://board.test"
_PAGES: Final = Pages(secure=False)
BOOKS: Final = {name: load_rulebook(name) for name in shipped_ids()} | {
    "every wager": every_wager()
}

# What lies over something else, or reaches over the edge.
_SPILLED: Final = """() => {
  const box = (element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    return range.getBoundingClientRect();
  };
  const spilled = [];
  const edge = document.querySelector("aside").getBoundingClientRect();
  for (const row of document.querySelectorAll("#bets tr")) {
    const texts = [...row.cells].map(box);
    const apart = texts.every((text, at) => !at || texts[at - 1].right <= text.left);
    if (!apart || texts.at(-1).right > edge.right + 1) spilled.push(row.textContent);
    const { bottom } = row.getBoundingClientRect();
    if (bottom > edge.bottom + 1) spilled.push(`${row.dataset.bet} is too low`);
  }
  const foot = document.querySelector("footer");
  const { top } = foot.getBoundingClientRect();
  if (top < edge.bottom - 1) spilled.push("the foot lies over the side");
  if (box(foot).bottom > innerHeight + 1) spilled.push("the foot reaches over the edge");
  if (innerHeight - top > innerHeight * 0.14) spilled.push("the foot takes the hands' room");
  return spilled;
}"""


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1920, "height": 1080})
    try:
        yield context.new_page()
    finally:
        context.close()


def _html(language: str) -> str:
    scope = {"type": "http", "query_string": f"lang={language}".encode(), "headers": []}
    return bytes(_PAGES.render(Request(scope), "scoreboard.html").body).decode()


def _answer(route: Route, language: str, rulebook: Rulebook) -> None:
    path = route.request.url.removeprefix(_HOST).partition("?")[0]
    if path.startswith("/static/"):
        found = files("displays").joinpath(*path.strip("/").split("/")).read_bytes()
        kinds = {"js": "text/javascript", "css": "text/css", "json": "application/json"}
        kind = kinds.get(path.rpartition(".")[2], "image/svg+xml")
        route.fulfill(body=found, content_type=kind)
    elif path == "/events":
        state = project_table(TableState(), table="t1", rulebook=rulebook, catching_up=False)
        sign = state.rulebook
        bets = tuple(replace(bet, minimum=2_500, maximum=1_000_000) for bet in sign.bets)
        data = msgspec.json.encode(replace(state, rulebook=replace(sign, bets=bets))).decode()
        beat = '{"live":true,"reason":"","betting_ms":null}'
        text = f"event: state\nid: 1\ndata: {data}\n\nevent: beat\ndata: {beat}\n\n"
        route.fulfill(body=text, content_type="text/event-stream")
    else:
        route.fulfill(body=_html(language), content_type="text/html")


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_rulebook_offers_fits_on_the_board(page: Page, language: str) -> None:
    for name, rulebook in BOOKS.items():
        page.route("**/*", partial(_answer, language=language, rulebook=rulebook))
        page.goto(f"{_HOST}/")
        offered = [bet for bet in rulebook.bets.values() if bet.offered]
        expect(page.locator("#bets tr")).to_have_count(len(offered))
        assert page.evaluate(_SPILLED) == [], (name, language)
        page.unroute("**/*")
