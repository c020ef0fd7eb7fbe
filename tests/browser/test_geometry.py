"""Drawn states on drawn pages: no text is cut off, lies over other text or leaves its box.

`tests/soak/test_geometry.py` looks at every one.
"""

import itertools
import random
from typing import Final

import msgspec
import pytest
from playwright.sync_api import Browser

from displays.http.words import LANGUAGES
from tests.support.service.fed_pages import fed_page
from tests.support.service.geometry import (
    PAGES,
    PROMISES,
    SIZES,
    SPILLS,
    Shown,
    every_screen,
    faults,
)
from tests.support.table.every_wager import every_wager
from tests.support.table.shown_states import STATES, shown_state

STILL: Final = ("/login", "/nowhere")
DIALOGS: Final = """(spills) => {
  const found = [];
  for (const button of document.querySelectorAll(".act:not(#acts .void_coup)")) {
    button.disabled = false;
    button.click();
    const dialog = document.querySelector("dialog[open]");
    if (!dialog) continue;
    for (const fault of spills(true)) found.push(`${button.dataset.command}: ${fault}`);
    dialog.remove();
  }
  return found;
}"""
SEED: Final = 1_130
EACH: Final = 4  # of a page and a size


def test_drawn_screens_fit(browser: Browser) -> None:
    drawing = random.Random(SEED)
    screens: dict[tuple[str, str, str], list[Shown]] = {}
    for shown in every_screen():
        screens.setdefault(shown[:3], []).append(shown)
    drawn: list[Shown] = []
    for at, page in enumerate(PAGES):
        for size in [*SIZES][at % 2 :: 2]:  # a page of a size takes longer than what it shows
            of_size = [each for key, each in screens.items() if key[:2] == (page, size)]
            drawn += drawing.sample(drawing.choice(of_size), EACH)
    assert list(faults(browser, drawn)) == []


def test_every_state_fits_and_no_page_promises_what_the_table_refuses(browser: Browser) -> None:
    wanted = [Shown(page, "laptop", "en", 0, state) for page in PAGES for state in STATES]
    assert list(faults(browser, wanted)) == []


def test_a_promise_that_the_table_would_not_keep_is_found(browser: Browser) -> None:
    with fed_page(browser) as screen:
        screen.open("/dealer")
        screen.show(shown_state("betting", every_wager()))
        broken = [["open_betting"], [], False]
        found = screen.page.evaluate(
            f"""(promised) => {{
              document.querySelector("[data-command=open_betting]").disabled = false;
              return ({PROMISES})(promised);
            }}""",
            broken,
        )
    assert found == [
        "open_betting is refused, and its button is open",
        "close_betting is due here, and not to the table",
    ]


@pytest.mark.parametrize("size", SIZES)
def test_every_dialog_fits(browser: Browser, size: str) -> None:
    language = [*LANGUAGES][[*SIZES].index(size) % len(LANGUAGES)]
    settled, name = shown_state("settled", every_wager()), {"rulebook": "au", "rulebook_hash": "f"}
    shown = {"coup": msgspec.to_builtins(settled.coup), "settlements": [], "moves": [], **name}
    answers = {"show_coup": {"result": "accepted", "shown": shown}}
    with fed_page(browser, *SIZES[size], answers=answers) as screen:
        for path in ("/pit", "/dealer"):
            screen.open(path, language)
            for state in ("dealing", "settled"):
                screen.show(shown_state(state, every_wager()))
                if path == "/pit":
                    screen.page.locator(".coup-number").first.click()
                    screen.page.locator("#on-record .act").first.wait_for()
                found = screen.page.evaluate(f"({DIALOGS})({SPILLS})")
                assert "\n".join(found) == "", (path, state)


def test_a_page_without_a_table_fits_in_every_size(browser: Browser) -> None:
    with fed_page(browser) as screen:
        for path, language in itertools.product(STILL, LANGUAGES):
            screen.open(path, language)
            for size, (width, height) in SIZES.items():
                screen.page.set_viewport_size({"width": width, "height": height})
                assert screen.page.evaluate(SPILLS, True) == [], (path, language, size)
