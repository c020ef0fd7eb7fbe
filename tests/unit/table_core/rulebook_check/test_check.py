"""What a rulebook check finds: a row a rule, and every shipped rulebook without a fault."""

import json
import re
from fractions import Fraction

import pytest

from table_core.rulebook_check.check import check_file, check_rulebook
from table_core.rulebooks.shipped import shipped_ids, shipped_sources
from table_core.rules.rulebook_file import parse_rulebook
from tests.house.sources import ROOT
from tests.support.cage.books import source


def found(text: str) -> set[str]:
    """Place and code of each fault."""
    return {f"{each.where} {each.code}" for each in check_file("site.toml", text.encode())[1]}


def changed(rulebook: str, changes: str, *, form: int = 1) -> str:
    """A shipped file with texts replaced, `old => new`, keys set, `key=value`, and lines added."""
    text = source(rulebook, "id=site")
    if form == 1:
        first = (ROOT / "table_core" / "rulebooks" / f"{rulebook}.toml").read_text(encoding="utf-8")
        text = first.replace(f'id = "{rulebook}"', 'id = "site"')
    for change in filter(None, map(str.strip, changes.split(" & "))):
        old, arrow, new = change.partition(" => ")
        if arrow:
            assert old in text, old
            text = text.replace(old, "" if new == "nothing" else new)
        elif change.startswith("+"):
            text += change[1:].replace("; ", "\n")
        else:
            key, _, value = change.partition("=")
            section, _, name = key.rpartition(".")
            header = f"[{section}]\n"
            assert header in text, header
            text = text.replace(header, f"{header}{name} = {value}\n", 1)
    return text


def test_no_shipped_rulebook_has_a_fault() -> None:
    for each in shipped_sources():
        assert check_rulebook(parse_rulebook("shipped", each)) == ()


# Rulebook of form 1 with changes; and place and code of every fault.
ROWS = """
au-commission | win = "8" => win = "10"
    bets.tie.pays edge_below_floor
    bets.tie.pays.win not_as_published
au-commission | win = "8" => win = "9"
    bets.tie.pays.win not_as_published
au-commission | banker_six = "15" => banker_six = "19"
    bets.super_six.pays edge_below_floor
    bets.super_six.pays.banker_six not_as_published
au-commission | two_card = "12", three_card = "22" => two_card = "12", three_card = "21"
    bets.tiger.pays.three_card not_as_published
au-commission | two_card = "12", three_card = "22" => two_card = "12"
    bets.tiger.pays.three_card not_as_published
au-commission | 1/20 => 1/25
    commission.rate not_as_published
    sign.lines[0] text_contradicts
au-commission | twin = "100" => twin = "20"
    bets.tiger_pair.pays.twin not_as_published
    bets.tiger_pair.pays.twin better_pays_less
au-commission | bets.tiger.requirement="any_main"
    sign.lines[1] text_contradicts
ez | bets.player.offered=false & bets.banker.offered=false & bets.tie.offered=false
    bets.dragon7.requirement never_placed
    bets.panda8.requirement never_placed
    sign.lines[0] text_contradicts
au-commission | +[options]; max_options = 3
    options.max_options limit_without_effect
au-commission | game = "Baccarat" => game = "Even Money Baccarat"
    sign.game game
au-even-money | game = "Even Money Baccarat" => game = "Baccarat"
    sign.game game
au-even-money | win_on_6 = "1/2", => nothing
    bets.banker.pays edge_below_floor
    bets.banker.pays.win_on_6 not_as_published
    sign.game game
    sign.lines[0] text_contradicts
au-even-money | 1 to 2 on => 2 to 3 on
    sign.lines[0] text_contradicts
mini-lucky8 | $300 each, three of the four betting options => $500 each, four options
    sign.lines[0] text_contradicts
mini-lucky8 | $300 each => $30,000 each
    sign.lines[0] text_contradicts
mini-lucky8 | maximum = 3000000 => maximum = 2000000
    sign.lines[1] text_contradicts
mini-lucky8 | max_options = 3 => max_options = 5
    options.max_options limit_without_effect
    sign.lines[0] text_contradicts
mini-lucky8 | unlucky_8 = "8" => unlucky_8 = "80"
    bets.lucky8_player.pays edge_below_floor
    bets.lucky8_banker.pays edge_below_floor
    bets.lucky8_player.pays.unlucky_8 not_as_published
    bets.lucky8_banker.pays.unlucky_8 not_as_published
    bets.lucky8_player.pays.suited_8 better_pays_less
    bets.lucky8_banker.pays.suited_8 better_pays_less
mini-lucky8 | suited_8 = "25" => suited_8 = "3"
    bets.lucky8_player.pays.suited_8 not_as_published
    bets.lucky8_banker.pays.suited_8 not_as_published
    bets.lucky8_player.pays.suited_8 better_pays_less
    bets.lucky8_banker.pays.suited_8 better_pays_less
nz-scale-one | mixed = "5", coloured = "10" => mixed = "6", coloured = "12"
    bets.perfect_pairs.pays edge_below_floor
    bets.perfect_pairs.pays.perfect not_as_published
    sign.pay_scale pay_scale
    title text_contradicts
    sign.lines[0] text_contradicts
nz-scale-one | pay_scale = "one" => pay_scale = "two"
    sign.pay_scale pay_scale
nz-scale-one | pay_scale = "one" => nothing
    sign.pay_scale pay_scale
nz-scale-one | Pay Scale One => Pay Scale Two
    sign.lines[0] text_contradicts
nz-scale-one | mixed 5 => mixed 6
    sign.lines[0] text_contradicts
nz-scale-one | phase = 1 => phase = 2
    bets.perfect_pairs.phase wrong_phase
nz-scale-one | bets.perfect_pairs.offered=false
    sign.pay_scale pay_scale
    title text_contradicts
    sign.lines[0] text_contradicts
ez | bets.player.minimum=500 & +[limits]; table_maximum = 499; differential = 499
    limits.table_maximum limit_out_of_reach
ez | push_dragon7 = "push", => nothing
    bets.banker.pays edge_below_floor
    bets.banker.pays.win_on_6 not_as_published
    sign.lines[0] text_contradicts
ez | No commission. => 5 % commission.
    sign.lines[0] text_contradicts
"""


@pytest.mark.parametrize("row", re.split(r"\n(?=\S)", ROWS.strip()))
def test_each_contradiction_has_its_place_and_code(row: str) -> None:
    case, *faults = row.splitlines()
    rulebook, _, changes = case.partition(" | ")
    assert found(changed(rulebook, changes)) == {fault.strip() for fault in faults}


def test_the_literal_double_suited_8_is_offered_where_a_person_confirms_it() -> None:
    text = changed("mini-lucky8", 'variant = "each_hand" => variant = "no_suit"', form=2)
    edges = check_file("site.toml", text.encode())[2]
    bets = ("lucky8_player", "lucky8_banker")
    assert found(text) == {f"bets.{bet}.pays edge_below_floor" for bet in bets}
    assert found(text + "".join(CONFIRMED.format(bet, edges[bet]) for bet in bets)) == set()


# Lines of a sign over `au-commission`, and what each says wrongly; nothing where it may stand.
LINES = """
Persons under 18 may not bet. ->
Gambling Helpline 1800 858 858 ->
All wagers must be placed before any card is dealt. ->
No side betting between patrons. Management decisions are final. ->
House edge of Banker 1.06 %, of Player 1.24 %. ->
Tie pays 8 to 1. Player Pair and Banker Pair pay 11:1. ->
Tiger pays 12 to 1 on two cards and 22 to 1 on three cards. ->
Super Six pays 15 to 1; played with eight decks. ->
Tie pays 9 to 1. -> 9 to 1
Banker wins pay even money less 4 % commission. -> 4 %
Banker pays even money. No commission. -> No commission
Played with six decks; a tie is a push. -> six decks
Player Pair pays 12:1, Banker Pair 11:1. -> 12:1
Minimum bet $5, maximum bet AUD 500. -> $5, AUD 500
A main wager is required beside Tiger wagers. -> required
House edge of Banker 1.5 %. -> 1.5 %
Lucky 8 wagers are taken. -> Lucky 8
Tiger Tie pays 50 to 1 -> 50 to 1
Tie pays 12345678901234567890 to 1. -> 1, 12345678901234567890
Any two pay scale two. -> pay scale two
和局 1 赔 8。闲对、庄对 1 赔 11。 ->
老虎: 两张牌 1 赔 12, 三张牌 1 赔 22。 ->
超级六赔 15 倍; 八副牌。 ->
博彩求助热线 1800 858 858, 未满 18 岁者不得下注。 ->
和局 1 赔 9。 -> 9 to 1
和局賠 9 倍。 -> 9 to 1
莊贏 1 賠 1, 抽佣 4%。 -> 4%
庄赢 1 赔 1。免佣。 -> no commission
六副牌, 和局退注。 -> 6 decks
闲对 1 赔 12, 庄对 1 赔 11。 -> 12 to 1
每注最低 5 元, 最高 3 万元。 -> $5, $30000
下老虎注须另下主注。 -> required
接受幸运 8 投注。 -> Lucky 8
"""


@pytest.mark.parametrize("row", LINES.strip().splitlines())
def test_a_line_may_say_what_the_rules_say(row: str) -> None:
    line, _, wrong = row.partition("->")
    old = "Banker wins pay even money less 5 % commission."
    text = changed("au-commission", f"{old} => {line.strip()}")
    faults = check_file("site.toml", text.encode())[1]
    assert [each.where for each in faults] == ["sign.lines[0]"] * len(faults)
    told = [" ".join(each.text.removeprefix('says "').rstrip('"').split()) for each in faults]
    assert told == [each.strip() for each in wrong.split(",") if each.strip()]


@pytest.mark.parametrize("language", ["zh-Hans", "zh-Hant"])
def test_the_lines_of_form_1_say_the_same_in_every_language(language: str) -> None:
    path = ROOT / "displays" / "static" / "words" / f"{language}.json"
    words = json.loads(path.read_text(encoding="utf-8"))
    for each in shipped_ids():
        text = changed(each, "")
        for line in parse_rulebook("first", text.encode()).sign.lines:
            said = words[f"sign.{line}"]
            text = text.replace(line, said)
            for pays in re.findall(r"[賠赔] (\d+)", said):
                wrong = text.replace(said, said.replace(pays, "77", 1))
                assert "sign.lines[0] text_contradicts" in found(wrong), said
        assert found(text) == set()


# Help lines, and whether each only says where help is found.
HELP = """
1800 858 858, day and night             -> yes
Gambling Help: 1-800-GAMBLER, 24/7      -> yes
Call 988, or www.gamblinghelponline.org.au -> yes
Talk to staff, 7 days, 09:00 to 23:30   -> yes
24小时求助热线: 2834 5678                -> yes
二十四小時求助熱線: 113                  -> yes
1800 858 858. Tie pays 9 to 1.          -> no
1800 858 858. At most 500 each.         -> no
1800 858 858. Maximum $500.             -> no
求助热线 2834 5678, 和局 1 赔 9           -> no
求助熱線 2834 5678, 最高 500             -> no
"""


@pytest.mark.parametrize("row", HELP.strip().splitlines())
def test_a_help_line_says_where_help_is_found_and_no_rule(row: str) -> None:
    line, _, may = row.partition("->")
    text = source("ez", "id=site", f"sign.help_line={line.strip()}")
    faults = [] if may.strip() == "yes" else ["sign.help_line help_line_speaks_of_rules"]
    assert sorted(found(text)) == faults


CONFIRMED = """
[[edge.confirmed]]
bet = "{}"
edge = "{}"
by = "M. Keller, director of table games"
"""
TEN_TO_ONE = 1 - 11 * Fraction(475_627_426_473_216, 4_998_398_275_503_360)
"""The edge of a tie at 10 to 1, from the deals that are ties (docs/reference/rules.md)."""


@pytest.mark.parametrize(
    ("floor", "bet", "edge", "faults"),
    [
        ("0", "tie", str(TEN_TO_ONE), set()),
        ("0", "tie", "-1/21", {"edge.confirmed[0].edge edge_not_confirmed"}),
        ("0", "tie", "x", {"edge.confirmed[0].edge not_a_share", "bets.tie.pays edge_below_floor"}),
        ("-1/20", "player", "1/81", {"edge.confirmed[0].edge edge_not_confirmed"}),
        (
            "0",
            "tiger7",
            "0",
            {"edge.confirmed[0].bet unknown_wager", "bets.tie.pays edge_below_floor"},
        ),
        (
            "1/10",
            "tie",
            str(TEN_TO_ONE),
            {f"bets.{bet}.pays edge_below_floor" for bet in ("player", "banker", "big_tiger")},
        ),
    ],
)
def test_a_wager_below_the_floor_needs_a_name_and_its_very_edge(
    floor: str, bet: str, edge: str, faults: set[str]
) -> None:
    text = changed("au-commission", 'bets.tie.own_odds=true & win = "8" => win = "10"', form=2)
    text += f'\n[edge]\nfloor = "{floor}"\n' + CONFIRMED.format(bet, edge)
    assert found(text) == faults


def test_a_site_pays_its_own_odds_only_where_it_says_so() -> None:
    text = changed("au-commission", 'win = "8" => win = "9"', form=2)
    assert found(text) == {"bets.tie.pays.win not_as_published"}
    assert found(text.replace("[bets.tie]", "[bets.tie]\nown_odds = true")) == set()


def test_the_edges_are_told_exactly_also_of_a_file_with_faults() -> None:
    text = changed("au-commission", 'win = "8" => win = "10" & title = "Baccarat" => nothing')
    edges = check_file("site.toml", text.encode())[2]
    assert edges["tie"] == TEN_TO_ONE
    text = text.replace('pair = "11"', "pair = 11")
    assert {"player_pair", "banker_pair"}.isdisjoint(check_file("site.toml", text.encode())[2])
