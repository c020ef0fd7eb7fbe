"""Drawn states on drawn pages: no text is cut off, lies over other text or leaves its box.

`tests/soak/test_geometry.py` looks at every one.
"""

import itertools
import random
from typing import Final

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
def test_a_page_without_a_table_fits(browser: Browser, size: str) -> None:
    with fed_page(browser, *SIZES[size]) as screen:
        for path, language in itertools.product(STILL, LANGUAGES):
            screen.open(path, language)
            assert screen.page.evaluate(SPILLS, True) == [], (path, language)
