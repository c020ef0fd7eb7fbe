"""`python -m tests.tools.screens [FOLDER]`: pictures of the screens in their main states.

A shuffled shoe with a fixed seed is played for some coups, then each state is brought about and
photographed. Nobody compares the pictures byte by byte: they are for people to look at.
"""

import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
from playwright.sync_api import Browser, expect

from displays.http.site_look import SiteLook
from events.cards import Card
from simulators.device.deck import Deck, shuffled
from simulators.device.printed_rules import next_place, outcome
from table_core.roads.columns import project_roads, read_results
from tests.support.machine.waiting import until_blocking
from tests.support.service.console_table import ConsoleTable, console_table
from tests.support.service.fed_pages import fed_page
from tests.support.service.screen_server import served
from tests.support.service.screens import Screen, chromium, screen

_FOLDER: Final = Path(__file__).parents[2] / "docs" / "screens"
_SEED: Final = 1_128
_COUPS: Final = 44
_SIZES: Final = {
    "": (1920, 1080),
    "-4k": (3840, 2160),
    "-tablet": (1024, 768),
    "-tablet-upright": (768, 1024),
    "-phone": (390, 844),
    "-laptop-whole": (1366, 1700),
    "-tablet-whole": (1024, 1366),
}
_MAIN: Final = {"minimum": 10_000, "maximum": 5_000_000, "step": 2_500}
_SIDE: Final = {"minimum": 2_500, "maximum": 200_000, "step": 500}
_LIMITS: Final = (
    *({"bet": bet, **_MAIN} for bet in ("player", "banker")),
    *(
        {"bet": bet, **_SIDE}
        for bet in ("tie", "player_pair", "banker_pair", "super_six", "tiger", "big_tiger")
    ),
    *({"bet": bet, **_SIDE} for bet in ("small_tiger", "tiger_tie", "tiger_pair")),
)
_WAGERS: Final = (
    {"seat": 1, "bet": "banker", "stake": 20_000},
    {"seat": 3, "bet": "player", "stake": 12_500},
    {"seat": 3, "bet": "tie", "stake": 2_500},
    {"seat": 5, "bet": "banker", "stake": 50_000},
    {"seat": 5, "bet": "tiger", "stake": 10_000},
    {"seat": 8, "bet": "player", "stake": 15_000, "patron": "C-204881"},
)

_PAST_MS: Final = 20_000  # more than a coup that is over has the room
_PAID: Final = (
    {"seat": 1, "bet": "banker", "stake": 2_500},
    {"seat": 2, "bet": "player", "stake": 10_000},
    {"seat": 3, "bet": "tie", "stake": 500},
)
_OLD_COUPS: Final = (
    "D P1 6S, D B1 7D, D P2 KH, D B2 KC, G banker",
    "",  # void
    "D P1 2S, D B1 3D, D P2 AH, D B2 KC, D P3 4C, D B3 6H, G banker",
    "D P1 9S, D B1 2D, D P2 KS, D B2 3C, G player",
)
"""What the shoe says of the coups in the replay viewer; the last is put right afterwards."""
_WALL_TABLES, _SILENT_TABLE, _ALARMED_TABLE = 24, 17, 6
_LAST: Final = {
    "P": ("player", "9S TD", "2H 4C", 9, 6),
    "B": ("banker", "2S 3H TS", "3D KC 6D", 5, 9),
    "T": ("tie", "7S 9D", "7C 9H", 6, 6),
}
"""A coup of each result: its winner, both hands, and their totals."""


class _Studio:
    """A table, somebody who works at it, and whoever takes the pictures.

    Args:
        folder: where pictures go.
        browser: that shows the pages.
        table: behind them.
        hand: a screen of the person who works, never photographed.
    """

    def __init__(self, folder: Path, browser: Browser, table: ConsoleTable, hand: Screen) -> None:
        self._folder = folder
        self._browser = browser
        self.table = table
        self.hand = hand
        self._deck = Deck(shuffled(_SEED))

    def load(self) -> None:
        """The shoe is in place, and burned."""
        self.table.say("S")
        self.hand.ask("load_shoe", shoe="20261128-01")
        burn = self._deck.burn()
        left = len(burn.burned)
        said = [f"D first {burn.first}:1"]
        said += [f"D burn {card}:{left - n}" for n, card in enumerate(burn.burned, start=1)]
        self.table.say(", ".join(said))
        until_blocking(lambda: self.table.events("burn_recorded"), "the burn is recorded")

    def begin(self, *, wagers: bool = True) -> None:
        """Betting opens, with wagers on the table."""
        self.hand.ask("open_betting")
        if wagers:
            self.hand.ask("place_wager", wagers=list(_WAGERS))

    def cards(self) -> list[str]:
        """The next coup's reports of cards, in dealing order; its winner last."""
        dealt: list[Card] = []
        said: list[str] = []
        while (place := next_place(dealt)) is not None:
            dealt.append(self._deck.draw())
            said.append(f"D {place.hand.value[0].upper()}{place.number} {dealt[-1]}")
        called = outcome(dealt)
        told = ["G", "six" if called.banker_six else called.winner.value]
        told += ["PP"] * called.player_pair + ["BP"] * called.banker_pair
        return [*said, " ".join(told)]

    def play(self, *, wagers: bool = False) -> None:
        """A whole coup."""
        self.begin(wagers=wagers)
        self.hand.ask("close_betting")
        self.table.say(", ".join(self.cards()))
        self.hand.phase("settled")

    def void(self) -> None:
        """Whatever is in progress does not count; the dealer ends the round at the shoe."""
        self.table.say("G forced")
        self.hand.ask("void_coup", reason="misdeal")
        self.hand.phase("voided")

    @contextmanager
    def page(self, path: str, size: str = "", language: str = "en") -> Iterator[Screen]:
        """A screen of its own that shows a page, live."""
        width, height = _SIZES[size]
        viewport = {"width": width, "height": height}
        with screen(self._browser, self.table, viewport=viewport) as shown:
            if path != "/":
                shown.log_in("dora" if path == "/dealer" else "sam", path)
            shown.page.goto(f"{self.table.address}{path}?lang={language}")
            live = "#board[data-live=true]" if path == "/" else "body[data-live=yes]"
            expect(shown.page.locator(live)).to_be_visible()
            yield shown

    def rules(self, name: str, size: str = "", language: str = "en") -> None:
        """The patrons' page, which has nothing live."""
        width, height = _SIZES[size]
        viewport = {"width": width, "height": height}
        with screen(self._browser, self.table, viewport=viewport) as shown:
            shown.page.goto(f"{self.table.address}/rules?lang={language}")
            expect(shown.page.locator("[data-bet=tie]")).to_be_visible()
            self.take(name, shown)

    def take(self, name: str, shown: Screen, *, whole: bool = False) -> None:
        """One picture."""
        shown.page.screenshot(path=self._folder / f"{name}.png", full_page=whole)

    def pictures(self, state: str, *kinds: str) -> None:
        """Pages in a state; a kind is `scoreboard`, `dealer` or `pit`, with size and language."""
        for kind in kinds:
            page, _, language = kind.partition("/")
            name, _, size = page.partition("-")
            path = "/" if name == "scoreboard" else f"/{name}"
            with self.page(path, f"-{size}" if size else "", language or "en") as shown:
                suffix = f"-{language.lower()}" if language else ""
                self.take(
                    f"{page}-{state}{suffix}", shown, whole=size in {"tablet-upright", "phone"}
                )


def _photograph(studio: _Studio) -> None:
    table, hand = studio.table, studio.hand
    hand.ask("set_limits", bets=list(_LIMITS), table_maximum=50_000_000)
    studio.pictures("no-shoe", "scoreboard", "dealer")
    studio.load()
    for _ in range(_COUPS):
        studio.play()
    studio.begin()
    studio.pictures("betting", "scoreboard", "scoreboard-4k", "scoreboard/zh-Hant", "dealer")
    studio.pictures("betting", "dealer-tablet", "dealer-tablet-upright/zh-Hans", "dealer-phone")
    studio.pictures("betting", "pit")
    hand.ask("close_betting")
    cards = studio.cards()
    table.say(", ".join(cards[:3]))
    expect(hand.page.locator("#hands .card")).to_have_count(3)
    studio.pictures("dealing", "scoreboard", "dealer-tablet")
    table.say(", ".join(cards[3:]))
    hand.phase("settled")
    studio.pictures("settled", "scoreboard", "scoreboard/zh-Hans", "scoreboard-tablet")
    studio.pictures("settled", "scoreboard-tablet-upright", "dealer", "pit")
    with studio.page("/") as board:
        expect(board.page.locator("#board[data-tone=last]")).to_be_visible(timeout=_PAST_MS)
        studio.take("scoreboard-last-coup", board)
    studio.rules("rules")
    studio.rules("rules-phone-zh-hant", "-phone", "zh-Hant")
    _dialogs(studio)
    _troubles(studio)


def _dialogs(studio: _Studio) -> None:
    """What the pit is asked before it puts a coup right, or sets limits."""
    with studio.page("/pit") as pit:
        pit.page.locator("#find-go").click()
        pit.page.locator("#on-record [data-command=correct_hands]").click()
        pit.page.locator("dialog .row.player .card").last.click()
        pit.face("8S")
        pit.fill(reason="seen on camera")
        pit.page.locator("dialog .look").click()
        expect(pit.page.locator("dialog .preview h3")).to_be_visible()
        studio.take("correction", pit)
        pit.page.locator("dialog .cancel").click()
        pit.page.locator("#more [data-command=set_limits]:enabled").click()
        studio.take("limits", pit)


def _troubles(studio: _Studio) -> None:
    table, hand = studio.table, studio.hand
    studio.begin()
    hand.ask("close_betting")
    table.say("D P1 --, D B1 --, D P2 --, D B2 --, I P1 9S, I P2 KD")
    expect(hand.page.locator("#hands .player .card:not(.covered)")).to_have_count(2)
    studio.pictures("squeeze", "scoreboard", "dealer")
    table.shoe.unplug()
    hand.phase("misaligned")
    studio.pictures("misaligned", "scoreboard", "dealer-tablet", "pit", "pit-tablet")
    table.shoe.plug_in()
    expect(hand.page.locator("[data-health=shoe].ok")).to_be_visible()
    studio.void()
    studio.begin()
    hand.ask("close_betting")
    table.say("D P1 6H, D B1 7H, D P2 QC, D B2 KS, D P3 5S")
    hand.phase("held")
    studio.pictures("held", "scoreboard", "dealer", "pit")
    studio.void()
    _correction(studio)
    with studio.page("/") as board, studio.page("/dealer", "-tablet") as dealer:
        table.fall_silent(6)
        expect(board.page.locator("#lost")).to_be_visible()
        expect(dealer.page.locator("#lost")).to_be_visible()
        studio.take("scoreboard-lost", board)
        studio.take("dealer-tablet-lost", dealer)
    expect(hand.page.locator("body[data-live=yes]")).to_be_visible()
    hand.ask("end_shoe", reason="cards are worn")
    studio.pictures("shoe-ended", "scoreboard", "dealer")


def _correction(studio: _Studio) -> None:
    """A wager is put right after the settlement, and the dealer moves its chips."""
    studio.play(wagers=True)
    coup = f"20261128-01/{studio.hand.page.locator('#coup').inner_text().split()[-1]}"
    wager = {"seat": 5, "bet": "tiger_tie", "stake": 10_000}
    studio.hand.ask("correct_wager", coup=coup, to=wager, reason="left out")
    studio.pictures("corrected", "dealer")


def _replay(folder: Path, browser: Browser) -> None:
    """The replay viewer, on a table of its own."""
    with (
        tempfile.TemporaryDirectory() as kept,
        console_table(Path(kept)) as table,
        screen(browser, table) as hand,
    ):
        studio = _Studio(folder, browser, table, hand)
        hand.log_in("both", "/pit")
        hand.ask("set_limits", bets=[{**each, "minimum": 100, "step": 100} for each in _LIMITS])
        studio.load()
        for said in _OLD_COUPS:
            hand.ask("open_betting")
            hand.ask("place_wager", wagers=list(_PAID))
            hand.ask("close_betting")
            if said:
                table.say(said)
                hand.phase("settled")
            else:
                studio.void()
        hands = {"player": ["9S", "KS"], "banker": ["2D", "7C"]}
        hand.ask("correct_hands", coup="20261128-01/4", **hands, reason="camera 4 shows a seven")
        with studio.page("/replay") as viewer:
            _show(viewer, 3, 15)
            studio.take("replay", viewer)
        with studio.page("/replay", "-tablet-whole", "zh-Hans") as viewer:
            _show(viewer, 3, 15)
            studio.take("replay-tablet-zh-hans", viewer)
        with studio.page("/replay", "-laptop-whole", "zh-Hant") as viewer:
            _show(viewer, 4)
            viewer.page.locator(".choices button").last.click()
            viewer.page.locator("dialog .pad [data-face='5H']").click()
            expect(viewer.page.locator(".side")).to_have_count(2)
            studio.take("replay-what-if-zh-hant", viewer)


def _show(viewer: Screen, number: int, step: int | None = None) -> None:
    """A coup on record, at a step; at its end without one."""
    coup = viewer.page.locator(f"#found button[data-coup$='/{number}']")
    expect(coup).to_be_visible()
    coup.click()
    expect(viewer.page.locator(".told .name")).to_contain_text(f"/{number}")
    if step is not None:
        viewer.page.locator("#slider").fill(str(step - 1))


def _maintenance(folder: Path, browser: Browser) -> None:
    """A page that is opened while its server does not answer."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    with served(site=SiteLook(name="Harbour Casino")) as server:
        page.goto(f"{server.address}/?lang=en")
        page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    page.reload()
    page.screenshot(path=folder / "maintenance.png")
    context.close()


def _wall(folder: Path, browser: Browser) -> None:
    """The wall of a property; its tables are made up, as the archive would have them."""
    drawing = random.Random(_SEED)
    tables: dict[str, dict[str, object]] = {}
    for number in range(1, _WALL_TABLES + 1):
        results = "".join(drawing.choices("BPT", (46, 45, 9), k=drawing.randrange(8, 60)))
        winner, player, banker, *totals = _LAST[results[-1]]
        tables[f"harbour/b{number}"] = {
            **msgspec.to_builtins(project_roads(read_results(results))),
            "position": 900 + number,
            "live": number != _SILENT_TABLE,
            "way": "running" if number != _SILENT_TABLE else "silent",
            "alarms": ["excess_card"] if number == _ALARMED_TABLE else [],
            "link": "up",
            "shoe": f"20261128-{number % 3 + 1:02}",
            "coups": len(results),
            "dealer": f"d-{10 + number}",
            "at": f"2026-11-28T20:14:{number:02}Z",
            "last": {
                "winner": winner,
                "player": player.split(),
                "banker": banker.split(),
                **dict(zip(("player_total", "banker_total"), totals, strict=True)),
            },
        }
    with fed_page(browser) as wall:
        wall.open("/wall")
        wall.tell("state", {"tables": tables, "findings": []})
        wall.tell("beat", {"live": False, "reason": "tables"})
        wall.page.screenshot(path=folder / "property-wall.png")


def main(arguments: list[str]) -> int:
    """Take them all."""
    folder = Path(arguments[0]) if arguments else _FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as kept,
        console_table(Path(kept)) as table,
        chromium() as browser,
        screen(browser, table) as hand,
    ):
        hand.log_in("both", "/pit")
        _photograph(_Studio(folder, browser, table, hand))
        _wall(folder, browser)
        _replay(folder, browser)
        _maintenance(folder, browser)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
