"""The printed page of a coup: what a stranger finds on it; nothing typed becomes markup."""

import re
from html.parser import HTMLParser

import pytest

from baccarat.pages.coup_page import coup_page
from displays.http.words import DEFAULT_LANGUAGE, LANGUAGES
from events.cards import Hand, parse_card
from events.commands import CorrectWager, VoidCoup, WagerRequest
from table_core.history.what_if import what_if
from tests.support.table.coups import COUP, drawn
from tests.support.table.stories import BOOKS, KeptWorld, disputed_and_corrected

HOSTILE = "<script>alert(1)</script> \"quoted\" & 'more' {{ 7 * 7 }} </style><img src=x onerror=a>"
# Tags of the template; whatever else stands in a page was typed by somebody.
OURS = frozenset(
    [
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "header",
        "p",
        "h1",
        "h2",
        "h3",
        "div",
        "b",
        "span",
        "dl",
        "dt",
        "dd",
        "ul",
        "li",
        "ol",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "br",
        "code",
        "pre",
        "footer",
    ]
)


class Page(HTMLParser):
    """A page as a browser sees it: its tags, its attributes, and its text by section."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.cards: list[str] = []
        self.text: dict[str, str] = {"": ""}
        self._section, self._in_heading, self._in_style = "", False, False
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        named = dict(attrs)
        self.attributes |= set(named)
        if named.get("role") == "img":
            self.cards.append(named["aria-label"] or "")
        self._in_style = self._in_style or tag == "style"
        if tag == "h2":
            self._section, self._in_heading = "", True

    def handle_endtag(self, tag: str) -> None:
        if tag == "h2":
            self._in_heading = False
            self.text[self._section] = ""
        self._in_style = self._in_style and tag != "style"

    def handle_data(self, data: str) -> None:
        if self._in_style:
            return
        if self._in_heading:
            self._section += data
        else:
            self.text[self._section] = f"{self.text.get(self._section, '')} {data}"

    def __getitem__(self, section: str) -> str:
        """The text below a heading, white space aside."""
        return " ".join(self.text[section].split())

    @property
    def all(self) -> str:
        return " ".join(" ".join(self.text.values()).split())


@pytest.fixture
def page() -> Page:
    return Page(coup_page(disputed_and_corrected().story()))


def test_the_cards_are_there_to_be_seen_and_to_be_heard(page: Page) -> None:
    assert page.cards == ["nine of spades", "king of hearts", "two of diamonds", "seven of clubs"]
    assert f"Coup {COUP}" in page.all
    assert "The coup was a tie, 9 to 9. It was first settled with another record" in page.all


def test_it_says_what_went_wrong_and_who_decided_and_why(page: Page) -> None:
    told = page["What went wrong, and who decided"]
    for said in (
        "went wrong The shoe's own result is not that of the cards",
        "winner: the table says player, the shoe banker",
        "decided The result was confirmed by hand",
        "reason: the cards are right",
        "decided The cards of the coup were corrected by hand. (supervisor",
        "reason: camera 4 shows a king",
    ):
        assert said in told


def test_a_correction_stands_before_and_after_with_each_seats_difference(page: Page) -> None:
    told = page["Corrections: before and after"]
    assert "Before Player 9♠ K♥ = 9, Banker 2♦ 3♣ = 5: Player" in told
    assert "After Player 9♠ K♥ = 9, Banker 2♦ 7♣ = 9: a tie" in told
    assert "1 20.00 10.00 -10.00 2 0.00 29.00 +29.00 All seats +19.00" in told


def test_the_money_is_told_by_seat_and_by_wager_with_its_sum_and_its_rule(page: Page) -> None:
    told = page["Money, seat by seat"]
    assert "1 10.00 10.00 0.00 2 21.00 29.00 +8.00 All seats 31.00 39.00 +8.00" in told
    assert "1.00 at 8 to 1 = 8.00" in told
    assert "stake back 1.00 + won 8.00 = paid 9.00" in told
    assert "rule: source 2, payouts; au-commission: bets.tie" in told
    # What is in force stands first, what it took back behind it.
    first, second = told.index("/1/2/2,"), told.index("/1/2/1,")
    assert first < second


def test_each_step_is_there_in_order_with_its_position(page: Page) -> None:
    story = disputed_and_corrected().story()
    told = page["Step by step"]
    at = -1
    for line in story.lines:
        found = told.find(f"{line.says} {line.position}", at + 1)
        assert found > at, line
        at = found


def test_it_says_where_it_comes_from_and_how_to_check_it(page: Page) -> None:
    story = disputed_and_corrected().story()
    told = page["Where this comes from, and how to check it"]
    for said in (
        f"positions {story.first} to {story.last}",
        story.first_hash,
        story.last_hash,
        story.rulebook_hash,
        "baccarat log verify table.sqlite",
        f"baccarat replay table.sqlite --coup {COUP}",
        "source 2 an Australian house's leaflet",
    ):
        assert said in told


def test_it_stands_alone_without_scripts_and_without_the_network() -> None:
    source = coup_page(disputed_and_corrected().story())
    page = Page(source)
    assert page.tags <= OURS
    assert not page.attributes & {"src", "href", "onload", "onerror", "style"}
    for word in ("http", "url(", "@import", "<script", "<link"):
        assert word not in source


def test_nothing_that_somebody_typed_becomes_markup() -> None:
    source = coup_page(disputed_and_corrected(HOSTILE).story())
    page = Page(source)
    assert page.tags <= OURS
    assert "<script" not in source
    assert f"Reason: {HOSTILE}" in page["Corrections: before and after"]
    assert page.all.count(HOSTILE) == 3  # what went wrong, the correction, and its step


def test_a_corrected_stake_shows_what_the_seat_owes_for_it() -> None:
    world = disputed_and_corrected()
    left = WagerRequest(seat=1, bet="tie", stake=100)
    world.must(CorrectWager(transaction="w", coup=COUP, to=left, reason="it was left out"))
    told = Page(coup_page(world.story()))["Corrections: before and after"]
    assert "10.00 → 11.00" in told
    assert "+8.00" in told  # of 9.00 for a tie at 8 to 1, the stake of 1.00 was the seat's own
    assert "+9.00" not in told


def test_a_what_if_stands_beside_it() -> None:
    world = disputed_and_corrected()
    at = next(f.position for f in world.facts if f.event.TYPE == "card_dealt")
    book = BOOKS[world.context.rulebook.hash]
    found = what_if(world.record(), {at: parse_card("8S")}, book)
    page = Page(coup_page(world.story(), found))
    told = page["What if another card had come"]
    assert "It changes nothing. Player's first card: 8♠ instead of 9♠." in told
    assert "Result: Banker. On record: a tie." in told
    assert "eight of spades" in page.cards


def test_a_void_coup_says_so_first() -> None:
    world = KeptWorld()
    world.ready()
    world.open()
    world.close()
    world.deal("9S", "2D")
    world.must(VoidCoup(transaction="v", reason="the power was cut"))
    page = Page(coup_page(world.story()))
    assert "This coup does not count. Reason: the power was cut." in page.all
    assert page.cards == ["nine of spades", "two of diamonds"]


def test_a_card_face_down_and_a_coup_in_progress() -> None:
    world = KeptWorld()
    world.ready()
    world.open()
    world.close()
    world.say(drawn(Hand.PLAYER, 1))
    page = Page(coup_page(world.story()))
    assert page.cards == ["a card whose face is not known"]
    assert "This coup is not over: it is dealing." in page.all


# In a page of another language: what people typed, names of programs, and ids.
_AS_IT_IS = re.compile(
    r"<style>.*?</style>|<pre>.*?</pre>|<code>.*?</code>|<[^>]*>"
    r"|the cards are right|camera 4 shows a king|winner: the table says player, the shoe banker"
    r"|au-commission: bets\.\w+|&#39;",
    re.DOTALL,
)
_NAMES = {"supervisor", "dealer", "sydney", "commission", "Baccarat", "wagers"}


@pytest.mark.parametrize("language", sorted(LANGUAGES.keys() - {DEFAULT_LANGUAGE}))
def test_a_page_in_another_language_holds_no_english(language: str) -> None:
    world = disputed_and_corrected()
    at = next(f.position for f in world.facts if f.event.TYPE == "card_dealt")
    book = BOOKS[world.context.rulebook.hash]
    found = what_if(world.record(), {at: parse_card("8S")}, book)
    text = _AS_IT_IS.sub(" ", coup_page(world.story(), found, language))
    assert set(re.findall(r"[A-Za-z]{4,}", text)) - _NAMES == set()
