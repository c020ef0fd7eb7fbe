"""Rulebook files: the shipped ones hold what the seeds print, and a bad one names its fault."""

import hashlib
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.errors import ConfigError
from events.money import Odds, Rounding
from table_core.rulebooks.shipped import load_rulebook, shipped_ids, shipped_source
from table_core.rules.rulebook import CommissionTiming, Requirement
from table_core.rules.rulebook_file import parse_rulebook
from table_core.rules.wagers import BET_KINDS
from tests.support.cage.books import book, source

AU_SIDES = """
tie=8 player_pair=11 banker_pair=11 super_six:banker_six=15
tiger:two_card=12 tiger:three_card=22 big_tiger:three_card=55 small_tiger:two_card=22
tiger_tie:tie_on_6=45 tiger_pair:single=4 tiger_pair:double=25 tiger_pair:twin=100
"""
LUCKY_8 = "double_suited_8=200 suited_8=25 double_8=15 unlucky_8=8 lucky_8=4"
MARGINS = "natural_win=1 natural_tie=push win_by_9=30 win_by_8=10 win_by_7=6 win_by_6=4"
MAIN = "player=1 player:push=push banker=1 banker:push=push"

# rulebook -> the odds of every category, `bet=odds` where the category is `win` or `pair`
ODDS = {
    "au-commission": f"{MAIN} {AU_SIDES}",
    "au-even-money": f"{MAIN} banker:win_on_6=1/2 {AU_SIDES}",
    "mini-lucky8": f"{MAIN} tie=8 "
    + " ".join(f"lucky8_{h}:{row}" for h in ("player", "banker") for row in LUCKY_8.split()),
    "nz-scale-one": f"{MAIN} tie=8 perfect_pairs:mixed=5 perfect_pairs:coloured=10 "
    "perfect_pairs:perfect=30",
    "nz-scale-two": f"{MAIN} tie=8 perfect_pairs:mixed=6 perfect_pairs:coloured=12 "
    "perfect_pairs:perfect=25",
    "ez": f"{MAIN} banker:push_dragon7=push tie=8 dragon7=40 panda8=25",
    "extras": f"{MAIN} tie=8 big=27/50 small=3/2 either_pair=5 perfect_pair_either:one=25 "
    "perfect_pair_either:both=200 lucky6:two_card=12 lucky6:three_card=20 "
    + " ".join(
        f"dragon_bonus_{h}:{row}"
        for h in ("player", "banker")
        for row in f"{MARGINS} win_by_5=2 win_by_4=1".split()
    ),
}


@pytest.mark.parametrize("name", ODDS)
def test_a_shipped_rulebook_pays_what_is_published(name: str) -> None:
    found = set()
    for bet in load_rulebook(name).bets.values():
        for category, odds in bet.schedule.items():
            key = bet.id if category in {"win", "pair"} else f"{bet.id}:{category}"
            found.add(f"{key}={'push' if odds is None else str(odds).removesuffix('/1')}")
    assert found == set(ODDS[name].split())


def test_all_seven_are_shipped_and_offer_every_wager_known() -> None:
    assert shipped_ids() == tuple(sorted(ODDS))
    offered = {bet for name in shipped_ids() for bet in load_rulebook(name).bets}
    assert offered == set(BET_KINDS)


@pytest.mark.parametrize("name", ODDS)
def test_the_hash_is_that_of_the_file(name: str) -> None:
    assert load_rulebook(name).hash == hashlib.sha256(shipped_source(name)).hexdigest()


@pytest.mark.parametrize("name", ODDS)
def test_odd_amounts_go_to_the_patron(name: str) -> None:
    rulebook = load_rulebook(name)
    assert (rulebook.rounding.payout, rulebook.rounding.commission) == (
        Rounding.UP,
        Rounding.DOWN,
    )
    assert (rulebook.unit, rulebook.decks) == (1, 8)


@pytest.mark.parametrize("name", ODDS)
def test_banker_alone_pays_commission_where_the_game_has_one(name: str) -> None:
    rulebook = load_rulebook(name)
    paying = [bet.id for bet in rulebook.bets.values() if bet.commission]
    if name in {"au-even-money", "ez"}:
        assert (rulebook.commission, paying) == (None, [])
    else:
        assert rulebook.commission is not None
        assert (rulebook.commission.rate, paying) == (Odds(1, 20), ["banker"])
        prepaid = name == "mini-lucky8"
        timing = CommissionTiming.PREPAID if prepaid else CommissionTiming.DEDUCT
        assert rulebook.commission.timing is timing


def test_phases_and_requirements_are_the_seeds() -> None:
    found = {
        (bet.id, bet.phase, bet.requirement)
        for name in shipped_ids()
        for bet in load_rulebook(name).bets.values()
        if bet.phase == 1 or bet.requirement is not Requirement.NONE
    }
    assert found == {
        ("perfect_pairs", 1, Requirement.SAME_SEAT),
        ("lucky8_player", 2, Requirement.ANY_MAIN),
        ("lucky8_banker", 2, Requirement.ANY_MAIN),
        ("dragon7", 2, Requirement.ANY_MAIN),
        ("panda8", 2, Requirement.ANY_MAIN),
    }


def test_the_lucky_8_maxima_are_the_seeds() -> None:
    rulebook = load_rulebook("mini-lucky8")
    (cap,) = rulebook.caps
    assert (set(cap.bets), cap.maximum, cap.scope) == (
        {"lucky8_player", "lucky8_banker"},
        3_000_000,
        "table",
    )
    assert [rulebook.bets[bet].maximum for bet in cap.bets] == [30_000, 30_000]
    assert [rulebook.bets[bet].per for bet in cap.bets] == ["patron", "patron"]
    assert rulebook.options.max_options == 3


def test_a_bet_that_the_rulebook_lacks_belongs_to_the_last_phase() -> None:
    rulebook = load_rulebook("nz-scale-one")
    assert [rulebook.phase_of(bet) for bet in ("perfect_pairs", "tie", "tiger")] == [1, 2, 2]


def test_an_unknown_rulebook_is_refused_with_those_that_are_known() -> None:
    for name in ("no-such-book", "", "../au-commission", "au-commission.toml", "AU-COMMISSION"):
        with pytest.raises(ConfigError, match="known are au-commission, au-even-money"):
            load_rulebook(name)


def test_a_site_may_play_with_fewer_decks_and_bigger_chips() -> None:
    rulebook = book("au-commission", "decks=6", "unit=25", "bets.tie.step=50")
    assert (rulebook.decks, rulebook.unit) == (6, 25)
    assert [rulebook.bets[bet].step for bet in ("player", "tie")] == [25, 50]
    assert rulebook.hash != load_rulebook("au-commission").hash


FIRST = (files("table_core") / "rulebooks" / "mini-lucky8.toml").read_text("utf-8")
LATER = {
    "limits.patron_maximum": "[limits]\npatron_maximum = 5\n",
    "limits.seat_maximum": "[limits]\nseat_maximum = 5\n",
    "options": FIRST.replace("[options]", "[options]\ntie_is_main = true"),
    "bets.lucky8_player": FIRST.replace("each_hand", "no_suit"),
    "bets.banker": FIRST.replace("commission = true", 'commission = true\nper = "patron"'),
    "bets.tie": FIRST.replace("[bets.tie]", "[bets.tie]\ntable_maximum = 5"),
}


@pytest.mark.parametrize("key", LATER)
def test_form_1_is_read_as_it_always_was(key: str) -> None:
    first = parse_rulebook("mini-lucky8.toml", FIRST.encode())
    bound = {(bet.per, bet.minimum_per, bet.table_maximum) for bet in first.bets.values()}
    assert bound == {("wager", "wager", None)}
    with pytest.raises(ConfigError, match=key.partition(".")[0]):
        parse_rulebook("site.toml", (FIRST + LATER[key] if key[0] == "l" else LATER[key]).encode())


# change -> the key and part of the reason
FAULTS = """
form=3                            -> form: Invalid enum value 3
id=Bad_Name                       -> id: Expected `str` matching regex
title=                            -> title: Expected `str` of length >= 1
decks=7                           -> decks: Invalid enum value 7
decks=true                        -> decks: Expected `int`, got `bool`
currency=aud                      -> currency: Expected `str` matching regex
unit=0                            -> unit: Expected `int` >= 1
unit=9007199254740992             -> unit: Expected `int` <= 9007199254740991
colour=blue                       -> file: Object contains unknown field `colour`
rounding.payout=sideways          -> rounding.payout: Invalid enum value 'sideways'
commission.rate=5%                -> commission.rate: '5%' is not a ratio
commission.rate=0                 -> commission.rate: Expected `str`, got `int`
commission.rate=0/20              -> commission.rate: '0/20' is out of range
commission.rate=21/20             -> commission.rate: '21/20' is out of range
commission.timing=later           -> commission.timing: Invalid enum value 'later'
commission.block=0                -> commission.block: Expected `int` >= 1
options.max_options=0             -> options.max_options: Expected `int` >= 1
options.maximum=1                 -> options: Object contains unknown field `maximum`
limits.differential=x             -> limits.differential: Expected `int | null`, got `str`
bets.tiger.phase=1                -> bets.tiger.phase: only wagers on the first two cards
bets.tiger.phase=3                -> bets.tiger.phase: Invalid enum value 3
bets.tiger.minimum=0              -> bets.tiger.minimum: Expected `int` >= 1
bets.tiger.limit=5                -> bets.tiger: Object contains unknown field `limit`
bets.tiger.variant=x              -> bets.tiger.variant: no variant 'x'; known are none
bets.tiger.requirement=some       -> bets.tiger.requirement: Invalid enum value 'some'
bets.tiger.offered=1              -> bets.tiger.offered: Expected `bool`, got `int`
bets.tiger.pays.win=5             -> bets.tiger.pays.win: no such category
bets.tie.pays.pair=5/1            -> bets.tie.pays.pair: no such category; known are win, push
bets.tie.pays.push=5              -> bets.tie.pays.push: write the odds as text
bets.tie.pays.push=5/1            -> bets.tie.pays.push: '5/1': a push pays nothing
bets.tiger.pays.banker_six=x      -> bets.tiger.pays.banker_six: 'x' is not a ratio
bets.tiger.pays.banker_six=1/0    -> bets.tiger.pays.banker_six: '1/0' is not a ratio
bets.tiger.pays.banker_six=1001/1 -> bets.tiger.pays.banker_six: '1001/1' is out of range
bets.tiger.pays.banker_six=-1/1   -> bets.tiger.pays.banker_six: '-1/1' is not a ratio
bets.lucky7.maximum=5             -> bets.lucky7: no such wager; known are player, banker
"""


@pytest.mark.parametrize("line", FAULTS.strip().splitlines())
def test_a_bad_rulebook_names_file_key_and_reason(line: str) -> None:
    change, _, fault = line.partition("->")
    with pytest.raises(ConfigError) as raised:
        book("au-commission", change.strip())
    assert str(raised.value).startswith("au-commission.toml: ")
    assert fault.strip() in str(raised.value)
    assert "\n" not in str(raised.value)


# rulebook, changes -> key and reason
MORE_FAULTS = """
mini-lucky8 caps.scope=seat            -> caps[0].scope: Invalid enum value 'seat'
mini-lucky8 unit=7                     -> caps[0].maximum: no multiple of the unit of 7
mini-lucky8 bets.lucky8_player.step=5 unit=4 -> bets.lucky8_player.step: 5 is no multiple
mini-lucky8 bets.lucky8_player.minimum=30001 -> bets.lucky8_player.maximum: 30000 is below
mini-lucky8 bets.lucky8_player.variant=x -> known are each_hand, all_six, bet_hand, no_suit
nz-scale-one bets.perfect_pairs.pays.push=push -> bets.perfect_pairs.pays.push: no such category
au-even-money bets.banker.commission=true -> bets.banker.commission: there is no section
"""


@pytest.mark.parametrize("line", MORE_FAULTS.strip().splitlines())
def test_parts_that_do_not_fit_together_are_named(line: str) -> None:
    changes, _, fault = line.partition("->")
    with pytest.raises(ConfigError) as raised:
        book(*changes.split())
    assert fault.strip() in str(raised.value)


CAP = '[[caps]]\nbets = ["{}"]\nmaximum = 100\n'


@pytest.mark.parametrize(
    ("rulebook", "bets", "reason"),
    [
        ("ez", "tiger", "not among this rulebook's bets: ['tiger']"),
        ("nz-scale-one", 'tie", "perfect_pairs', "settle in different phases"),
        ("ez", 'tie", "tie', "under one maximum only"),
        ("mini-lucky8", "lucky8_player", "under one maximum only"),
    ],
)
def test_a_maximum_over_bets_that_cannot_share_one_is_named(
    rulebook: str, bets: str, reason: str
) -> None:
    text = source(rulebook) + CAP.format(bets)
    with pytest.raises(ConfigError) as raised:
        parse_rulebook("site.toml", text.encode())
    assert reason in str(raised.value)


def test_the_faults_of_all_sections_are_told_at_once() -> None:
    changes = ("unit=0", "bets.tie.phase=1", "bets.tiger.minimum=0", "bets.lucky7.step=1")
    with pytest.raises(ConfigError) as raised:
        book("au-commission", *changes)
    for key in ("unit:", "bets.tie.phase:", "bets.tiger.minimum:", "bets.lucky7:"):
        assert key in str(raised.value)


@pytest.mark.parametrize("bet", ["player", "banker"])
@pytest.mark.parametrize("category", ["win", "push"])
def test_a_main_wager_that_would_lose_on_its_win_or_on_a_tie_is_refused(
    bet: str, category: str
) -> None:
    pays = {"win": 'win = "1"', "push": 'push = "push"'}
    del pays[category]
    shipped_schedule = f"[bets.{bet}]\npays = {{ win = "
    text = source("mini-lucky8")
    at = text.index(shipped_schedule)
    end = text.index("}", at)
    kept = f"[bets.{bet}]\npays = {{ {''.join(pays.values())} "
    with pytest.raises(ConfigError, match=rf"bets\.{bet}\.pays\.{category}: missing"):
        parse_rulebook("site.toml", (text[:at] + kept + text[end:]).encode())


def test_a_commission_that_no_wager_pays_is_refused() -> None:
    text = source("mini-lucky8").replace("commission = true\n", "")
    with pytest.raises(ConfigError, match="commission: no bet pays it"):
        parse_rulebook("site.toml", text.encode())


@pytest.mark.parametrize(
    "junk",
    [
        b"",
        b"\xff",
        b"form = 1",
        b"bets = 3",
        b"[bets]",
        b"bets.player = 1",
        b"form = " + b"9" * 5000,
        b"x = " + b"[" * 100_000,
        b"[[bets]]",
        b"\0",
    ],
)
def test_what_is_no_rulebook_is_refused_in_one_line(junk: bytes) -> None:
    with pytest.raises(ConfigError, match=r"\Asite\.toml: "):
        parse_rulebook("site.toml", junk)


@given(st.sampled_from(shipped_ids()), st.data())
def test_a_damaged_file_is_refused_or_says_what_it_says(name: str, data: st.DataObject) -> None:
    whole = shipped_source(name)
    at = data.draw(st.integers(0, len(whole) - 1))
    damaged = whole[:at] + data.draw(st.binary(max_size=3)) + whole[at + 1 :]
    try:
        rulebook = parse_rulebook("site.toml", damaged)
    except ConfigError:
        return
    assert rulebook.hash == hashlib.sha256(damaged).hexdigest()
