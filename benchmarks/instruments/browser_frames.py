"""A page in Chromium that reports what it has drawn, and when, by the browser's clock."""

import shutil
import time
from contextlib import AsyncExitStack
from importlib.util import find_spec
from typing import Any, Final, Self

from msgspec import Struct

from benchmarks.instruments.watch import PATIENCE_S, Sightings
from benchmarks.rows import Unmeasurable

__all__ = ["BOARD", "FLOOR", "PageObserver", "PageProbe", "browser", "require_browser"]

_CHROMIUM: Final = "/usr/bin/chromium"
_SIZE: Final = {"width": 1920, "height": 1080}
_CLOCK_READINGS: Final = 10  # readings of the browser's clock
_NS_PER_MS: Final = 1_000_000
_MS_PER_S: Final = 1_000
_NOW: Final = "performance.timeOrigin + performance.now()"


class PageProbe(Struct, frozen=True):
    """The observed part of a page.

    Args:
        script: calls `seen(what, milliseconds since 1970)` in the frame after the one that draws.
        listens: true once the page's stream has sent something. A page loads before that; it loses
            messages sent in between, or gets them together with the next one.
    """

    script: str
    listens: str


BOARD: Final = PageProbe(
    script="""() => {
  const board = document.getElementById("board");
  new MutationObserver(() => {
    if (board.dataset.phase !== "settled") return;
    const [coup] = document.getElementById("coup").textContent.match(/[0-9]+/);
    requestAnimationFrame(() => requestAnimationFrame(() =>
      seen(coup, performance.timeOrigin + performance.now())));
  }).observe(board, { attributeFilter: ["data-position"] });
}""",
    listens='() => "position" in document.getElementById("board").dataset',
)
FLOOR: Final = PageProbe(
    script="""() => {
  const shown = document.getElementById("n");
  new MutationObserver(() => {
    const what = shown.textContent;
    requestAnimationFrame(() => requestAnimationFrame(() =>
      seen(what, performance.timeOrigin + performance.now())));
  }).observe(shown, { childList: true });
}""",
    listens='() => document.getElementById("n").textContent !== "0"',
)


class PageObserver:
    """A page, and the times of its drawing.

    Args:
        page: Playwright's.
    """

    def __init__(self, page: Any) -> None:
        self._page = page
        self._seen = Sightings[float]("the page has not shown")

    @classmethod
    async def open(cls, chromium: Any, address: str, sight: PageProbe) -> Self:
        """Open a page by itself, and wait until its stream is open.

        Args:
            chromium: of `browser`.
            address: the page's.
            sight: the part to observe.
        """
        context = await chromium.new_context(viewport=_SIZE)
        eye = cls(await context.new_page())
        await eye._look(address, sight)
        return eye

    async def _look(self, address: str, sight: PageProbe) -> None:
        await self._page.expose_function("seen", self._seen.note)
        await self._page.goto(address)
        await self._page.evaluate(sight.script)
        await self._page.wait_for_function(sight.listens, timeout=PATIENCE_S * _MS_PER_S)

    def forget(self) -> None:
        """Forget everything drawn until now, because the page may draw the same words again."""
        self._seen.forget()

    async def at_ms(self, what: str) -> float:
        """Return the time of drawing, by the browser's clock.

        Raises:
            Unseen: it was not drawn in time.
        """
        return await self._seen.at(what)

    async def ahead_ms(self) -> float:
        """Return by how much the browser's clock is ahead of ours."""
        looks = []
        for _ in range(_CLOCK_READINGS):
            before = time.time_ns()
            now_ms = await self._page.evaluate(_NOW)
            after = time.time_ns()
            looks.append((after - before, now_ms - (before + after) / 2 / _NS_PER_MS))
        return float(min(looks)[1])


def require_browser() -> None:
    """Check for a browser, before anything is started.

    Raises:
        Unmeasurable: there is no browser, or no driver for it.
    """
    if shutil.which(_CHROMIUM) is None:
        raise Unmeasurable(f"there is no browser at {_CHROMIUM}: apt-get install chromium")
    if find_spec("playwright") is None:
        raise Unmeasurable("the developers' packages are not installed: make setup")


async def browser(stack: AsyncExitStack) -> Any:
    """Start Chromium until the stack ends."""
    # One of the developers' packages; importing it takes half a second.
    from playwright.async_api import async_playwright  # noqa: PLC0415 - as explained above

    playwright = await stack.enter_async_context(async_playwright())
    # The bench may run as root, whom Chromium's sandbox refuses.
    chromium = await playwright.chromium.launch(executable_path=_CHROMIUM, args=["--no-sandbox"])
    stack.push_async_callback(chromium.close)
    return chromium
