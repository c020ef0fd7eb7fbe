"""Drawn states on drawn pages: no text is cut off, lies over other text or leaves its box.

`tests/soak/test_geometry.py` looks at every one.
"""

import random
from typing import Final

from playwright.sync_api import Browser

from tests.support.service.geometry import PAGES, SIZES, Shown, every_screen, faults

SEED: Final = 1_130
EACH: Final = 7  # of a page and a size


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
