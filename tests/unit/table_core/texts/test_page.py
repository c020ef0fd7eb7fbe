"""Each text follows from a rule: a rule is changed, and its text changes with it, in each language.

The rows are written from the seeds and from the settings of docs/reference/rules.md, not from what
comes out.
"""

import re
import tomllib
from collections.abc import Iterator
from fractions import Fraction
from itertools import chain
from typing import get_args

import pytest
from msgspec.structs import asdict

from displays.http.words import LANGUAGES, load_words
from events.types import Per
from table_core.odds.exact import BetOdds, CategoryOdds
from table_core.rulebooks.shipped import load_rulebook, shipped_ids, shipped_source
from table_core.rules.rulebook import PUSH, Rulebook
from table_core.rules.rulebook_file import parse_rulebook
from table_core.rules.wagers import BET_KINDS
from table_core.texts.help import category_meaning, limit_line, play_lines, winning_line
from table_core.texts.page import RulesPage, rules_page
from table_core.texts.sign import sign_lines
from tests.support.cage.books import book, source
from tests.support.table.every_wager import every_wager
from tests.support.table.frequencies import odds_of

WORDS = {tag: load_words(tag) for tag in LANGUAGES}

# A shipped rulebook; what is changed in it -> where that is said; the text, or `not` and what is
# no longer said.
RULES = """
au-commission
    commission.rate=1/25 -> sign
        Banker: 4 % commission on winnings
    commission.rate=1/25 -> banker
        1 to 1, less 4 %
    commission.rate=1/40 -> banker
        1 to 1, less 2.5 %
    commission.timing=deduct -> sign
        held back when they are paid
    commission.timing=prepaid -> sign
        laid beside the wager before the hand is dealt or paid
    commission.timing=per_coup -> sign
        collected before the next coup
    commission.timing=per_shoe -> sign
        collected at the end of the shoe
    commission.block=500 -> sign
        in whole AUD 5; a part counts as a whole
au-even-money
    -> sign
        No commission.
    -> sign
        Banker, on 6: pays 1 to 2.
    -> game
        Even Money Baccarat
au-commission
    -> game
        not Even Money
ez
    -> sign
        Banker, 3-card 7: the stake goes back.
    -> game
        EZ Baccarat
mini-lucky8
    -> game
        Mini Baccarat / Lucky 8
nz-scale-one
    -> sign
        Pay Scale One
nz-scale-two
    -> sign
        Pay Scale Two
au-commission
    -> sign
        Side wagers: no other wager is required.
    bets.tiger.requirement=any_main -> sign
        Tiger: only beside a wager of the same patron
    bets.tiger.requirement=any_main -> sign
        not Side wagers: no other
nz-scale-one
    -> sign
        Perfect Pairs: only beside a wager in the same box on one of: Player, Banker.
mini-lucky8
    options.max_options=2 -> sign
        One patron may play at most 2 of: Player or Banker, Tie, Lucky 8 Player, Lucky 8 Banker.
    caps.maximum=2000000 -> sign
        Lucky 8 Player, Lucky 8 Banker: at most USD 20,000 paid in all
    caps.scope=patron -> sign
        paid to one patron per round of play, shared
    caps.allocation=first_placed -> sign
        first to the wager placed first
    bets.lucky8_player.maximum=25000 -> lucky8_player
        USD 0.01 to USD 250,
    -> sign
        the maximum is for all wagers of one patron on the bet together
    bets.lucky8_player.minimum=500 -> sign
        Lucky 8 Player: minimum and maximum are for the sum that one patron wagers on the bet
    bets.lucky8_player.minimum=500 -> sign
        Lucky 8 Banker: the maximum is for all wagers of one patron on the bet together
    bets.lucky8_player.per=seat -> sign
        Lucky 8 Player: the maximum is for all wagers of one box
    bets.lucky8_player.per=spot -> sign
        Lucky 8 Player: the maximum is for all wagers of one patron in one box
    bets.lucky8_player.per=wager -> sign
        Lucky 8 Player: the maximum is for each wager
au-commission
    bets.tie.minimum=500 -> sign
        Tie: the minimum is for all wagers of one patron
    bets.tie.minimum=500 -> tie
        from AUD 5,
    bets.tie.minimum=500 -> sign
        not the maximum
    bets.tie.step=500 -> tie
        in multiples of AUD 5.
    bets.tie.table_maximum=5000000 -> sign
        Tie: at most AUD 50,000 by all patrons together
    limits.table_maximum=1000000 -> sign
        All stakes of a coup together: at most AUD 10,000.
    limits.differential=500000 -> sign
        Player and Banker stakes: at most AUD 5,000 apart.
    limits.patron_maximum=300000 -> sign
        All stakes of one patron in a coup: at most AUD 3,000.
    limits.seat_maximum=300050 -> sign
        All stakes of one box in a coup: at most AUD 3,000.50.
    -> sign
        No side betting between patrons.
    -> sign
        ask the staff for the help line
    sign.help_line=1800 858 858 -> sign
        Help with gambling: 1800 858 858
mini-lucky8
    -> sign
        The house says: Management decisions are final.
au-commission
    decks=6 -> play
        The shoe holds 6 decks
    decks=6 -> odds
        a full shoe of 6 decks
    -> play
        placed before the first card
    procedure.betting_closes=before_reveal -> play
        placed before any card is revealed
nz-scale-one
    -> play
        Perfect Pairs: paid or taken when the first four cards lie
au-commission
    -> play
        On a tie these neither win nor lose: Player, Banker.
    -> play
        may not wager on Player and Banker
    options.allow_opposite=true -> play
        may wager on Player and Banker
    unit=25 -> play
        Payments are rounded up to a multiple of AUD 0.25.
    rounding.payout=down -> play
        Payments are rounded down
    rounding.payout=nearest -> play
        Payments are rounded to the nearest
    rounding.commission=up -> play
        Commission is rounded up
    rounding.commission=down -> play
        Commission is rounded down
    rounding.commission=nearest -> play
        Commission is rounded to the nearest
    currency=NZD -> play
        NZD 0.01
    bets.tiger.offered=false -> wagers
        not id='tiger'
nz-scale-one
    procedure.betting_closes=before_reveal -> play
        Perfect Pairs: only before the first card.
    options.tie_is_main=true -> sign
        in the same box on one of: Player, Banker, Tie.
    bets.perfect_pairs.variant=banker -> perfect_pairs
        Banker's first two cards
    bets.perfect_pairs.variant=both -> perfect_pairs
        either hand
mini-lucky8
    options.tie_is_main=false -> sign
        only beside a wager of the same patron on one of: Player, Banker.
    options.side_bet_first=false -> play
        Lucky 8 Player, Lucky 8 Banker: placed after the wager that is needed beside
    -> play
        Lucky 8 Player, Lucky 8 Banker: may be placed before the wager that is needed beside
    bets.lucky8_banker.variant=no_suit -> lucky8_banker
        both hands eight on three cards
    bets.lucky8_banker.variant=all_six -> lucky8_banker
        all six cards of one suit
    bets.lucky8_banker.variant=bet_hand -> lucky8_banker
        the hand wagered on of one suit
"""

# The families of words that are sentences about a rule, and no headings.
OF_RULES = re.compile(
    r"(wins|means|sign\.((both|minimum|maximum)_per|commission|cap|requires)"
    r"|help\.(closes|order|opposite|rounding|commission_rounding|limits))\."
)


def rules() -> Iterator[tuple[str, str, str, str]]:
    """The book, the change, the place and the text of each row."""
    name = change = where = ""
    for line in RULES.strip().splitlines():
        if not line.startswith(" "):
            name = line
        elif " -> " in line:
            change, where = (each.strip() for each in line.split("->"))
        else:
            yield name, change, where, line.strip()


def page_of(rulebook: Rulebook, tag: str = "en") -> RulesPage:
    """The page; its chances are not this test's, so those of another edition may do."""
    chance = CategoryOdds(Fraction(0), Fraction(1, 4))
    odds = {
        bet.id: BetOdds(Fraction(1, 16), dict.fromkeys([*bet.schedule, "lose"], chance))
        for bet in rulebook.bets.values()
    }
    return rules_page(rulebook, odds, WORDS[tag])


def part(page: RulesPage, where: str) -> str:
    """A part of the page as text: one of its fields, or a wager."""
    for wager in page.wagers:
        if wager.id == where:
            rows = chain.from_iterable(asdict(row).values() for row in wager.rows)
            return "\n".join([wager.name, wager.wins, wager.limits, *rows])
    found = getattr(page, where)
    return found if isinstance(found, str) else "\n".join(map(str, found))


@pytest.mark.parametrize(("name", "change", "where", "text"), list(rules()))
def test_a_rule_has_its_text(name: str, change: str, where: str, text: str) -> None:
    changed, gone = book(name, *filter(None, [change])), text.startswith("not ")
    assert (text.removeprefix("not ") in part(page_of(changed), where)) is not gone
    for tag in LANGUAGES:
        unlike = [
            part(page_of(load_rulebook(name), each), where) != part(page_of(changed, each), where)
            for each in ("en", tag)
        ]
        assert unlike[0] is unlike[1], tag


@pytest.mark.parametrize("tag", LANGUAGES)
@pytest.mark.parametrize("name", shipped_ids())
def test_every_figure_of_a_rulebook_is_said(name: str, tag: str) -> None:
    """The file itself, read by nothing of ours, and every number that it holds for patrons."""
    file = tomllib.loads(shipped_source(name).decode())
    page = page_of(load_rulebook(name), tag)
    for bet, section in file["bets"].items():
        said = part(page, bet)
        for pays in section["pays"].values():
            if pays != "push":
                num, _, den = pays.partition("/")
                order = (num, den or "1") if tag == "en" else (den or "1", num)
                assert re.search(rf"\b{order[0]}\D+{order[1]}\b", said), (bet, pays)
        if "maximum" in section:
            assert f"{section['maximum'] / 100:,.0f}" in said
    if "commission" in file:
        assert f"{Fraction(file['commission']['rate']) * 100}" in part(page, "sign")
    for cap in file.get("caps", ()):
        assert f"{cap['maximum'] / 100:,.0f}" in part(page, "sign")
    if "options" in file:
        assert f"{file['options']['max_options']}" in part(page, "sign")
    assert f"{file['decks']}" in part(page, "play")


def test_the_chances_are_those_that_were_counted() -> None:
    """Seed 2 prints 1.06 %, 1.24 % and 1.46 %."""
    for name, bet, edge in (
        ("au-commission", "banker", "1.06"),
        ("au-commission", "player", "1.24"),
        ("au-even-money", "banker", "1.46"),
    ):
        page = rules_page(load_rulebook(name), odds_of(name), WORDS["en"])
        (wager,) = (each for each in page.wagers if each.id == bet)
        found = re.fullmatch(r"House edge: (\d+\.\d{4}) %", wager.edge)
        assert found is not None
        assert f"{float(found[1]):.2f}" == edge
        assert 99.999 < sum(float(row.chance) for row in wager.rows) < 100.001


@pytest.mark.parametrize("tag", LANGUAGES)
@pytest.mark.parametrize("variant", range(3))
def test_every_wager_and_category_can_be_said(tag: str, variant: int) -> None:
    page = page_of(every_wager(variant), tag)
    assert {wager.id for wager in page.wagers} == set(BET_KINDS)
    assert all(
        all(asdict(row)[key] for key in ("means", "pays")) for w in page.wagers for row in w.rows
    )
    assert "{" not in str(page)


def keys_of(rulebook: Rulebook) -> set[str]:
    """The sentences that a rulebook has."""
    found = [*sign_lines(rulebook), *play_lines(rulebook)]
    for bet in rulebook.bets.values():
        found += [winning_line(bet), limit_line(bet)]
        found += [category_meaning(bet, name) for name in bet.schedule if name != PUSH]
    return {each.key for each in found}


def test_no_sentence_is_left_that_no_rule_gives() -> None:
    bound = [
        [f"bets.tie.per={per}", *limits]
        for per in get_args(Per)
        for limits in (
            ["bets.tie.minimum=500"],
            ["bets.tie.maximum=500"],
            ["bets.tie.minimum=500", "bets.tie.maximum=500"],
        )
    ]
    books = [
        *(book(name, *filter(None, [change])) for name, change, *_ in rules()),
        *(book("ez", *changes) for changes in bound),
        book("mini-lucky8", "caps.scope=patron", "caps.allocation=first_placed"),
        *map(every_wager, range(3)),
    ]
    said = set().union(*map(keys_of, books))
    words = {key for key in WORDS["en"] if OF_RULES.match(key)}
    assert len(words) > 60
    assert words - said == set()


def test_a_rulebook_of_form_1_keeps_its_own_lines() -> None:
    text = source("au-commission").replace("form = 2", "form = 1")
    text = text.replace("decimals = 2\n", "")
    text += '[sign]\nlines = ["Ask for the help line.", "Tigers are striped."]\n'
    page = page_of(parse_rulebook("own.toml", text.encode()))
    assert page.sign == ("Ask for the help line.", "Tigers are striped.")
