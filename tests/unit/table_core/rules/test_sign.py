"""A site's own lines of the sign: what speaks of the rules needs somebody's name."""

import pytest

from events.errors import ConfigError
from table_core.rules.rulebook import Rulebook
from table_core.rules.rulebook_file import parse_rulebook
from table_core.rules.sign import speaks_of_rules
from tests.support.cage.books import book, source

# The first four contradict their rulebook, and were once taken in silence.
RULES = """
Lucky 8 wagers: at most $500 each, four options
Perfect Pairs pay by Pay Scale One
No wager is required
Super Six pays fifteen to one
at most five hundred
Dealers take half
VAT 15%
¥
BANKER
ask about Tigers and the tiger
赔率另议
最高
"""
NO_RULES = """
Management decisions are final.
Welcome to Harbour House
Please drink responsibly
请勿吸烟
"""


@pytest.mark.parametrize("text", RULES.strip().splitlines())
def test_a_number_or_a_word_of_the_rules_is_noticed(text: str) -> None:
    assert speaks_of_rules(text)


@pytest.mark.parametrize("text", NO_RULES.strip().splitlines())
def test_a_line_without_either_needs_nobody(text: str) -> None:
    assert not speaks_of_rules(text)


def own(line: str) -> Rulebook:
    text = f"{source('ez')}\n[sign]\nown_lines = [{line}]\n"
    return parse_rulebook("own.toml", text.encode())


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('{ text = "At most 500" }', r"sign.own_lines\[0\]: 'At most 500' holds a number"),
        ('{ text = " " }', r"sign.own_lines\[0\].text: empty"),
        ('{ text = "At most 500", confirmed_by = "" }', "confirmed_by: empty; name the person"),
        ('{ text = "Hello", by = "x" }', "by: no such key"),
    ],
)
def test_a_line_that_nobody_confirmed_is_refused(line: str, fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        own(line)


def test_a_confirmed_line_is_shown_as_the_sites_own() -> None:
    (line,) = own('{ text = "At most 500", confirmed_by = "M. Reyes" }').sign.own_lines
    assert (line.text, line.confirmed_by) == ("At most 500", "M. Reyes")


@pytest.mark.parametrize("key", ["game", "pay_scale", "lines"])
def test_form_2_writes_nothing_that_the_rules_say(key: str) -> None:
    with pytest.raises(ConfigError, match=f"sign.{key}: no such key"):
        book("ez", f"sign.{key}=Baccarat")


# Seed 1, 11A.7: what is paid is the scale; no scale is claimed that is not paid.
@pytest.mark.parametrize(
    ("pays", "scale"),
    [("5 10 30", "one"), ("6 12 25", "two"), ("6 12 30", None), ("5 10 25", None)],
)
def test_the_pay_scale_is_what_is_paid(pays: str, scale: str | None) -> None:
    mixed, coloured, perfect = pays.split()
    text = source("nz-scale-one").replace(
        '{ mixed = "5", coloured = "10", perfect = "30" }',
        f'{{ mixed = "{mixed}", coloured = "{coloured}", perfect = "{perfect}" }}',
    )
    assert parse_rulebook("nz.toml", text.encode()).sign.pay_scale == scale
