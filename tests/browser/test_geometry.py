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
from tests.support.service.geometry import PAGES, SIZES, SPILLS, Shown, every_screen, faults

STILL: Final = ("/login", "/nowhere")
SEED: Final = 1_130
EACH: Final = 4  # of a page and a size


def test_drawn_screens_fit(browser: Browser) -> None:
    drawing = random.Random(SEED)
    screens: dict[tuple[str, str, str], list[Shown]] = {}
    for shown in every_screen():
        screens.setdefault(shown[:3], []).append(shown)
    drawn: list[Shown] = []
    for page in PAGES:
        for size in SIZES:
            of_size = [each for key, each in screens.items() if key[:2] == (page, size)]
            drawn += drawing.sample(drawing.choice(of_size), EACH)
    assert list(faults(browser, drawn)) == []


@pytest.mark.parametrize("size", SIZES)
def test_a_page_without_a_table_fits(browser: Browser, size: str) -> None:
    with fed_page(browser, *SIZES[size]) as screen:
        for path, language in itertools.product(STILL, LANGUAGES):
            screen.open(path, language)
            assert screen.page.evaluate(SPILLS, True) == [], (path, language)
