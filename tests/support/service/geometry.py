"""A page's geometry: text that is cut off, lies over other text or leaves its box.

Nothing is compared with a picture. `SPILLS` is evaluated in the page and returns a line a fault.
`PROMISES` does so where the page tells people to do what the table refuses now.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from playwright.sync_api import Browser

from displays.http.words import LANGUAGES
from table_core.projections.table_document import StateView
from table_core.rulebooks.shipped import shipped_sources
from table_core.rules.rulebook_file import parse_rulebook
from table_core.state.coup import Phase
from tests.support.service.fed_pages import FedPage, fed_page
from tests.support.table.every_wager import every_wager
from tests.support.table.shown_states import STATES, shown_state

SIZES: Final = {
    "1080p": (1920, 1080),
    "4K": (3840, 2160),
    "laptop": (1280, 800),
    "upright tablet": (768, 1024),
    "phone": (390, 844),
    "zoom 200 %": (640, 400),  # of the laptop: a browser that zooms lays out for half the width
    "320 px": (320, 640),  # the width to which WCAG 1.4.10 asks to reflow
}
PAGES: Final = ("/", "/dealer", "/pit", "/replay")
_BETTING_MS: Final = 14_000
_PAST_MS: Final = 9_000  # after it the scoreboard shows a coup that is over as the last one
_TRIES: Final = 9
_OVER: Final = {Phase.SETTLED, Phase.VOIDED}
_RULEBOOKS: Final = [
    *(parse_rulebook(f"{number}.toml", source) for number, source in enumerate(shipped_sources())),
    every_wager(),
]


class Shown(NamedTuple):
    """One picture: a state of the table on a page of some size, by a rulebook's number."""

    page: str
    size: str
    language: str
    rulebook: int
    state: str


def every_screen() -> Iterator[Shown]:
    """Yield all pictures, those of one page, size and language in a row."""
    for page in PAGES:
        for size in SIZES:
            for language in LANGUAGES:
                for rulebook in range(len(_RULEBOOKS)):
                    yield from (Shown(page, size, language, rulebook, state) for state in STATES)


def faults(browser: Browser, wanted: Iterable[Shown]) -> Iterator[str]:
    """Show each picture in a browser, and yield what is wrong with its geometry."""
    groups: dict[tuple[str, str, str], list[Shown]] = {}
    for each in wanted:
        groups.setdefault(each[:3], []).append(each)
    for (path, size, language), shown in groups.items():
        width, height = SIZES[size]
        scrolls = path not in {"/", "/kiosk"} or width <= height or size.startswith("zoom")
        with fed_page(browser, width, height) as screen:
            if path == "/":
                screen.page.clock.install()
            screen.open(path, language)
            for each in shown:
                state = shown_state(each.state, _RULEBOOKS[each.rulebook])
                betting_ms = _BETTING_MS if each.state == "betting" else None
                found = _found(screen, state, betting_ms, scrolls=scrolls)
                if path == "/" and state.coup and state.coup.phase in _OVER:
                    screen.page.clock.fast_forward(_PAST_MS)
                    found += _found(screen, state, None, scrolls=scrolls)
                yield from (f"{', '.join(map(str, each))}: {fault}" for fault in found)
            yield from screen.said


def _found(
    screen: FedPage, state: StateView, betting_ms: int | None, *, scrolls: bool
) -> list[str]:
    """Show a state and return its faults; once more where a starved page held that it slept."""
    for _ in range(_TRIES):
        screen.show(state, betting_ms=betting_ms)
        found: list[str] = screen.page.evaluate(_FAULTS, [scrolls, *_promised(state)])
        if screen.page.evaluate("document.body.dataset.live !== 'no'"):
            break
    return found


def _promised(state: StateView) -> tuple[list[str], list[str], bool]:
    """Return what the core refuses now, what it advises, and whether it takes wagers."""
    wagers = state.coup is not None and state.coup.phase is Phase.BETTING
    return list(state.refusals), list(state.advice.commands), wagers


def _script(name: str) -> str:
    return Path(__file__).with_name(name).read_text().partition("\n")[2].strip()


SPILLS: Final = _script("spills.js")
PROMISES: Final = _script("promises.js")
_FAULTS: Final = f"""([tall, ...promised]) => [
  ...({SPILLS})(tall),
  ...({PROMISES})(promised),
]"""
