"""Pages in a browser that get their states from the test: no table, no server, no line.

A page is rendered by the product's own templates and loads its own scripts and styles. Its stream
is an `EventSource` that says what `FedPage.show` gives it, so a state costs milliseconds.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import msgspec
from playwright.sync_api import Browser, Page, Route
from starlette.requests import Request

from displays.consoles.layout import TableLayout
from displays.consoles.routes import CONSOLE_PAGES, ConsoleUser
from displays.http.pages import Pages
from displays.http.words import load_words
from displays.scoreboard.public_view import PublicState
from table_core.projections.table_document import StateView, encode_state_view

HOST: Final = "http://board.test"
_PAGES: Final = Pages(secure=False)
_PERSON: Final = ConsoleUser("Both", frozenset({"dealer", "supervisor", "technician"}), "secret")
_STILL: Final = {"/login": "login.html", "/nowhere": "error.html"}
"""Pages without a stream, by an address."""
_OTHERS: Final = {**_STILL, "/wall": "board.html"}
_KINDS: Final = {
    "js": "text/javascript",
    "css": "text/css",
    "json": "application/json",
    "woff2": "font/woff2",
}
_HEALTH: Final = {"live": True, "reason": "", "betting_ms": None}
_FEED: Final = """
  window.EventSource = class extends EventTarget {
    constructor() { super(); this.readyState = 1; window.fed = this; }
    close() { this.readyState = 2; }
  };
  window.SharedWorker = undefined;
  window.feed = (name, data, id) =>
    window.fed.dispatchEvent(new MessageEvent(name, { data, lastEventId: id }));
"""
_SHOW: Final = """async ([state, health]) => {
  if (state) feed("state", state, String(window.shown = (window.shown ?? 0) + 1));
  feed("beat", health, "");
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""


class FedPage:
    """A page and what is shown on it.

    Args:
        page: the browser's.
        answers: of the table, by the command; others are accepted.

    Attributes:
        said: what broke in the page.
        stayed: how often the login's end was put off.
    """

    def __init__(self, page: Page, answers: Mapping[str, object]) -> None:
        self.page = page
        self.said: list[str] = []
        self.stayed = 0
        self._answers = answers
        page.add_init_script(_FEED)
        page.route("**/*", self._answer)
        page.on("pageerror", lambda error: self.said.append(str(error)))

    def open(self, path: str, language: str = "en", more: str = "") -> None:
        """Open a page in a language; it waits for its first state, if it has any."""
        self.page.goto(f"{HOST}{path}?lang={language}{more}")
        if path not in _STILL:
            self.page.wait_for_function("window.fed !== undefined")
        self.page.evaluate("document.fonts.ready.then(() => null)")

    def show(self, state: StateView | None, **health: object) -> None:
        """Show a state, and wait until it is drawn."""
        self.page.evaluate(_SHOW, [state and self._document(state), json.dumps(_HEALTH | health)])

    def tell(self, event: str, data: object) -> None:
        """Have the stream say anything else."""
        self.page.evaluate("([name, data]) => feed(name, data, '')", [event, json.dumps(data)])

    def _document(self, state: StateView) -> str:
        full = encode_state_view(state)
        if urlsplit(self.page.url).path in CONSOLE_PAGES:
            return full.decode()
        return msgspec.json.encode(msgspec.json.decode(full, type=PublicState)).decode()

    def _answer(self, route: Route) -> None:
        asked = urlsplit(route.request.url)
        if asked.path.startswith("/static/"):
            kind = _KINDS.get(asked.path.rpartition(".")[2], "image/svg+xml")
            route.fulfill(body=_static(asked.path), content_type=kind)
        elif asked.path == "/stay":
            self.stayed += 1
            route.fulfill(status=204)
        elif asked.path.startswith("/command/"):
            said: dict[str, Any] = {"result": "refused", "code": "not_found", "text": "no such"}
            found = self._answers.get(asked.path.rpartition("/")[2], said)
            route.fulfill(body=json.dumps(found), content_type="application/json")
        else:
            language = parse_qs(asked.query).get("lang", ["en"])[0]
            route.fulfill(body=_html(asked.path, language), content_type="text/html")


@cache
def _static(path: str) -> bytes:
    return files("displays").joinpath(*path.strip("/").split("/")).read_bytes()


@cache
def _html(path: str, language: str) -> str:
    scope = {"type": "http", "query_string": f"lang={language}".encode(), "headers": []}
    found = CONSOLE_PAGES.get(path)
    template = found.template if found else _OTHERS.get(path, "scoreboard.html")
    values: dict[str, Any] = {
        "person": _PERSON,
        "kiosk": path == "/kiosk",
        "countersign": False,
        "dealers": ["dora", "mia"],
        "layout": TableLayout(),
    }
    still: dict[str, Any] = {
        "said": load_words(language)["login.ended"],
        "csrf": "secret",
        "to": path,
        "name": "",
        "questions": (),
        "replay": "",
        "code": 404,
    }
    return bytes(_PAGES.render(Request(scope), template, **values, **still).body).decode()


@contextmanager
def fed_page(
    browser: Browser,
    width: int = 1920,
    height: int = 1080,
    answers: Mapping[str, object] | None = None,
) -> Iterator[FedPage]:
    """A page of this size, until the block ends."""
    # A box that moves is measured where it happens to be.
    context = browser.new_context(
        viewport={"width": width, "height": height}, reduced_motion="reduce"
    )
    try:
        yield FedPage(context.new_page(), answers or {})
    finally:
        context.close()
