"""One currency table: every place that shows an amount shows the same, in every currency."""

import json
import re

import pytest
from msgspec.structs import replace

from baccarat.pages.coup_page import coup_page
from baccarat.pages.narrative_text import state_text, story_text
from baccarat.rulebooks.currencies import (
    currency_faults,
    iso_currency,
    iso_decimals,
    known_currency,
)
from events.errors import InputError
from events.money import Currency
from events.types import WagersPlaced
from table_core.decide.decision import DecisionContext
from table_core.narrative.coup import narrate_coup
from table_core.narrative.formatting import amount
from table_core.projections.table_document import encode_state_view, project_table
from table_core.rules.rulebook import Rulebook
from table_core.rules.rulebook_file import parse_rulebook
from table_core.rules.rulebook_forms import form_1_decimals
from tests.house.sources import ROOT
from tests.support.cage.books import book, source
from tests.support.currencies import CODES, DECIMALS, SAMPLES, written
from tests.support.table.settled_coups import played
from tests.support.table.stories import KeptWorld

STAKE = 1_234_567
# What builds that read form 1 alone took for the decimals of a currency; its editions keep it.
OF_FORM_1 = {
    **dict.fromkeys(["CLP", "ISK", "JPY", "KRW", "PYG", "UGX", "VND", "XAF", "XOF", "XPF"], 0),
    **dict.fromkeys(["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"], 3),
}


def own(*changes: str) -> Rulebook:
    return book("au-commission", "id=harbour", *changes)


def of_form_1(code: str) -> Rulebook:
    text = source("au-commission", "id=harbour", "form=1", f"currency={code}")
    return parse_rulebook("harbour.toml", text.replace("decimals = 2\n", "").encode())


def test_the_table_is_isos() -> None:
    assert iso_decimals() == DECIMALS
    assert len(DECIMALS) == 165


@pytest.mark.parametrize("code", ["X" * 3, "XTS", "XAU", "XDR", "aud", "AU", "ABC", "HRK", ""])
def test_what_is_no_money_of_iso_4217_is_no_currency(code: str) -> None:
    with pytest.raises(InputError, match="no currency of ISO 4217 that has a minor unit"):
        iso_currency(code)


def test_an_amount_is_the_same_wherever_it_is_shown_in_every_currency() -> None:
    world = KeptWorld(DecisionContext(table="t1", rulebook=own()))
    world.ready()
    played(world=world, bets=((1, "player", STAKE),))
    logged = [each for each in world.log if isinstance(each, WagersPlaced)]
    assert [wager.stake for each in logged for wager in each.wagers] == [STAKE]
    record, printed = world.record(), set[int]()
    for code, decimals in DECIMALS.items():
        rules = replace(world.context.rulebook, currency=code, decimals=decimals)
        for minor in SAMPLES:
            assert amount(minor, rules.money) == written(minor, decimals)
        text = written(STAKE, decimals)
        story = narrate_coup(record, origin="harbour/t1", rulebooks={rules.hash: rules})
        assert f"stake back {text} + won {text} = paid {written(2 * STAKE, decimals)}" in (
            story_text(story)
        )
        view = project_table(world.state, table="t1", rulebook=rules, catching_up=False)
        assert f"staked {text}, paid" in state_text(view)
        shown = json.loads(encode_state_view(view))
        assert (shown["rulebook"]["decimals"], shown["totals"]["staked"]) == (decimals, STAKE)
        if decimals not in printed:
            printed.add(decimals)
            assert f'data-name="laid">{text}</td>' in coup_page(story)


def test_a_rulebook_is_adopted_with_isos_decimals_only() -> None:
    for code in CODES:
        for decimals in range(5):
            rules = own(f"currency={code}", f"decimals={decimals}")
            faults = [each.where for each in currency_faults(rules)]
            assert faults == ([] if decimals == DECIMALS[code] else ["decimals"]), code
        old = [each.where for each in currency_faults(of_form_1(code))]
        assert old == ([] if OF_FORM_1.get(code, 2) == DECIMALS[code] else ["decimals"]), code


@pytest.mark.parametrize("code", ["X" * 3, "XTS", "HRK"])
def test_a_rulebook_in_no_known_currency_is_not_adopted_and_still_reads(code: str) -> None:
    for rules in (own(f"currency={code}"), of_form_1(code)):
        assert rules.money == Currency(code, 2)
        [fault] = currency_faults(rules)
        assert (fault.where, fault.code) == ("currency", "unknown_currency")


def test_amounts_that_are_in_a_log_keep_the_decimals_of_their_edition() -> None:
    for code in CODES:
        kept = OF_FORM_1.get(code, 2)
        old = of_form_1(code)
        assert (old.decimals, form_1_decimals(code)) == (kept, kept)
        world = KeptWorld(DecisionContext(table="t1", rulebook=old))
        world.ready()
        played(world=world, bets=((1, "player", STAKE),))
        assert f"stake {written(STAKE, kept)}" in story_text(world.story()).replace("back ", "")


def test_a_currency_that_iso_has_dropped_is_shown_as_it_was() -> None:
    assert known_currency("HRK") == Currency("HRK", 2)
    assert known_currency("BIF") == Currency("BIF", 0)


def test_an_amount_whose_rulebook_is_not_at_hand_says_so() -> None:
    world = KeptWorld()
    world.ready()
    played(world=world)
    story = replace(world.story(), currency="", decimals=2)
    assert re.search(r"Amounts in units of 100 of the rulebook", story_text(story))


def test_no_script_asks_the_browser_about_a_currency() -> None:
    scripts = [*(ROOT / "displays" / "static" / "js").rglob("*.js")]
    assert len(scripts) > 20
    assert [
        path.name for path in scripts if re.search(r"style:\s*.currency", path.read_text())
    ] == []
