"""A person's screen: a browser page that notes all that it says, asks for and sends."""

import json
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

from tests.support.machine.waiting import until_blocking
from tests.support.service.console_table import PASSWORD, ConsoleTable

LOST_MS: Final = 3_000 + 7_000
"""What a page may take to say that it has lost its table, and what a starved machine may add.
`test_scoreboard` holds the three seconds themselves, in three tries."""

_ASK: Final = """async ([name, body]) => {
  const { ask } = await import("/static/js/send_command.js");
  return ask(name, body);
}"""
# Without windows a page takes a third less of a core; where that build is missing, with them.
_CHROMIUM: Final = ("chromium-headless-shell", "chromium")
# Far above what anything here takes; only a failure waits for so long.
_PATIENCE_MS: Final = 30_000
_ASK_AGAIN_S: Final = 0.2
_TOKEN: Final = re.compile(r'<meta name="csrf" content="([^"]+)">')
_HIDDEN: Final = re.compile(r'<input type="hidden" name="csrf" value="([^"]+)">')
_SEE_OTHER: Final = 303
_DESKTOP: Final = {"width": 1920, "height": 1080}


class Screen:
    """A page of people.

    Args:
        page: the browser's.
        table: behind it.

    Attributes:
        said: what the browser's console said as a warning or an error, and what broke.
        asked: the address of every request.
        sent: every command that was sent: its name and its body.
    """

    def __init__(self, page: Page, table: ConsoleTable) -> None:
        self.page = page
        self.table = table
        self.said: list[str] = []
        self.asked: list[str] = []
        self.sent: list[tuple[str, dict[str, Any]]] = []
        page.set_default_timeout(_PATIENCE_MS)
        page.on("request", self._note)
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("console", lambda told: self.said.append(f"{told.type}: {told.text}"))

    def _note(self, request: Request) -> None:
        self.asked.append(request.url)
        if "/command/" in request.url:
            body = json.loads(request.post_data or "{}")
            self.sent.append((request.url.rpartition("/")[2], body))

    def content(self) -> str:
        """All that the page has, shown or not; without its token, whose letters are random."""
        content = self.page.content()
        for token in _TOKEN.findall(content):
            content = content.replace(token, "")
        return content

    def commands(self, name: str) -> list[dict[str, Any]]:
        """The bodies of one command, as often as they were sent."""
        return [body for sent, body in self.sent if sent == name]

    def log_in(self, name: str, path: str = "/console") -> None:
        """As a person, to a page that is live; the form itself is not shown."""
        address, client = self.table.address, self.page.context.request
        [token] = _HIDDEN.findall(client.get(f"{address}/login").text())
        form: dict[str, str | float | bool] = {"csrf": token, "user": name, "password": PASSWORD}
        assert client.post(f"{address}/login", form=form, max_redirects=0).status == _SEE_OTHER
        self.page.goto(f"{address}{path}")
        expect(self.page.locator("body[data-live=yes]")).to_be_visible()

    def act(self, command: str) -> None:
        """Press the button of a command, once it can be."""
        button, more = self.page.locator(f"#acts [data-command={command}]:enabled"), "#more-acts"
        button.wait_for(state="attached")
        if not button.is_visible():  # it is not due, and stands behind "More"
            self.page.locator(f"{more}[aria-expanded=false]").click()
        button.click()

    def answered(self, command: str, result: str = "accepted") -> None:
        """Wait until the table's newest answer is this."""
        newest = self.page.locator("#said li").first
        expect(newest).to_have_attribute("data-command", command)
        expect(newest).to_have_attribute("data-result", result)

    def phase(self, phase: str) -> None:
        """Wait until the coup stands so."""
        expect(self.page.locator("#phase")).to_have_attribute("data-phase", phase)

    def ask(self, command: str, **fields: Any) -> None:
        """Have it done without a button: what a test only needs and is not about."""
        body = {"transaction": secrets.token_hex(16), **fields}

        def answer() -> dict[str, Any] | None:
            said: dict[str, Any] = self.page.evaluate(_ASK, [command, body])
            # The table may be busy, or the machine starved: it reads what the shoe said.
            came = said["result"] != "unknown" and said.get("code") != "catching_up"
            return said if came else None

        found = until_blocking(answer, f"{command} is answered", every=_ASK_AGAIN_S)
        # An answer that came late was asked for again, by the same transaction.
        assert found["result"] in {"accepted", "exists"}, found

    def fill(self, **fields: str) -> None:
        """The open dialog's fields."""
        for name, value in fields.items():
            field = self.page.locator(f"dialog [name={name}]")
            if field.evaluate("field => field.tagName") == "SELECT":
                field.select_option(value)
            else:
                field.fill(value)

    def face(self, face: str) -> None:
        """Choose a face on the open dialog's pad."""
        self.page.locator(f"dialog .pad [data-face='{face}']").click()

    def go(self, command: str) -> None:
        """Press the open dialog's last button, and have it done."""
        self.page.locator("dialog .go").click()
        self.answered(command)
        expect(self.page.locator("dialog")).to_have_count(0)

    def have(self, command: str, face: str | None = None, **fields: str) -> None:
        """Press the button of a command, fill its dialog, and have it done."""
        self.act(command)
        if face is not None:
            self.face(face)
        self.fill(**fields)
        self.go(command)

    def shoe_is_loaded(self) -> None:
        """The shoe powers up, is loaded by hand, and says its burn."""
        self.table.say("S")
        self.act("load_shoe")
        self.go("load_shoe")
        self.table.say("D first 2C:1, D burn JD:1, D burn 2C:0")
        until_blocking(lambda: self.table.events("burn_recorded"), "the burn is recorded")

    def is_clean(self) -> None:
        """Nothing was said by the browser, and nothing left the machine."""
        assert self.said == []
        assert [url for url in self.asked if not url.startswith(self.table.address)] == []


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser."""
    expect.set_options(timeout=_PATIENCE_MS)
    with sync_playwright() as playwright:
        # The suite may run as root, whom Chromium's sandbox refuses.
        program = next(filter(None, map(shutil.which, _CHROMIUM)))
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def screen(browser: Browser, table: ConsoleTable, **options: Any) -> Iterator[Screen]:
    """A screen of its own, with nobody's cookies.

    Args:
        browser: where it opens.
        table: what it shows.
        options: of the browser's context.
    """
    context = browser.new_context(**({"viewport": _DESKTOP, "locale": "en-AU"} | options))
    try:
        yield Screen(context.new_page(), table)
    finally:
        context.close()
