"""docs/reference/rules.md is true: it names what exists; its figures are recomputed."""

import ast
import re
from fractions import Fraction
from itertools import chain
from math import perm
from pathlib import Path

import pytest
from click.testing import CliRunner

from baccarat.cli.odds import odds as odds_command
from events.commands.registry import COMMANDS
from events.errors import ConfigError
from table_core.decide.cards import RECORDED_KINDS
from table_core.rulebooks.shipped import load_rulebook, shipped_ids
from table_core.rules import rulebook as model
from table_core.rules import rulebook_forms as form
from table_core.rules.rulebook import CommissionTiming
from table_core.rules.rulebook_file import parse_rulebook
from tests.house.sources import ROOT
from tests.support.cage.books import source
from tests.support.table.frequencies import odds_of

PAGE = (ROOT / "docs/reference/rules.md").read_text(encoding="utf-8")
CODE = re.findall(r"`([^`\n]+)`", PAGE)
SECTIONS = (
    "rounding", "commission", "options", "limits", "procedure", "sign", "bets", "caps", "edge"
)  # fmt: skip
TESTED = re.compile(r"test_\w+\.py::")
TOP = ("form", "decks", "unit")


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, its head and rule aside."""
    text = PAGE.partition(f"\n{heading}\n")[2]
    assert text, heading
    table = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert table is not None
    return [
        [cell.strip() for cell in line.strip("|\n").split("|")]
        for line in table[0].splitlines()[2:]
    ]


def spans(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


# ---- places ----


def _names(path: Path) -> set[str]:
    """What a module defines at its top, and the titles of histories that it tells there."""
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            text = node.value.value if isinstance(node.value, ast.Constant) else None
            names |= set(text.splitlines()) if isinstance(text, str) else set()
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


PLACES = sorted({span for span in CODE if "::" in span})


@pytest.mark.parametrize("place", PLACES)
def test_every_place_that_the_page_names_exists(place: str) -> None:
    file, _, name = place.partition("::")
    path = ROOT / file if (ROOT / file).is_file() else ROOT / "tests" / "unit" / file
    assert path.is_file(), place
    assert name in _names(path), place


def test_every_clause_has_a_test_or_says_that_it_is_the_sites() -> None:
    for heading in ("## Seed 1: Perfect Pairs", "## Seed 3: Mini Baccarat and Lucky 8"):
        for *_, tests in rows(heading):
            assert any(TESTED.search(span) for span in spans(tests)), tests
    clauses = {clause for clause, *_ in rows("## Seed 1: Perfect Pairs")}
    assert clauses >= {f"11A.{number}" for number in range(1, 9)}
    for *_, tests in rows("## Irregularities") + rows("## Open questions"):
        assert TESTED.search(tests), tests


# ---- settings ----


def _fields(struct: type) -> tuple[str, ...]:
    return tuple(name for name in struct.__struct_fields__)  # type: ignore[attr-defined]  # a Struct


def _every_setting() -> set[str]:
    """As the reader of rulebook files knows them."""
    by_section = {
        "rounding": model.RoundingRules,
        "commission": form.CommissionForm,
        "options": model.Options,
        "limits": model.Limits,
        "procedure": model.Procedure,
        "sign": form.Sign2,
        "bets.ID": form.BetForm2,
        "caps": model.Cap,
        "edge": form.EdgeForm,
        "edge.confirmed": form.ConfirmedEdgeForm,
    }
    top = {*_fields(form.FormNumber), *_fields(form.FileForm2)} - {*SECTIONS}
    keys = {f"{s}.{name}" for s, kind in by_section.items() for name in _fields(kind)}
    return top | keys - {*by_section}


SETTINGS = {key: row for row in rows("## Settings of a rulebook") for key in spans(row[0])}


def _plain(key: str) -> str:
    """`bets.tiger.requirement` as `bets.ID.requirement`."""
    return re.sub(r"^bets\.[a-zA-Z0-9_]+\.", "bets.ID.", key)


def test_every_setting_is_on_the_page_and_no_other() -> None:
    assert {_plain(key) for key in SETTINGS} == _every_setting()


def _with(key: str, value: str) -> model.Rulebook:
    """A shipped rulebook in which that can stand, with it set."""
    name = "au-commission"
    if key.startswith("caps.") or "lucky8" in key or key == "options.max_options":
        name = "mini-lucky8"
    elif "perfect_pairs" in key:
        name = "nz-scale-one"
    key = key.replace("bets.ID.", "bets.tiger_pair.")
    if key.endswith(".pays"):
        key = "bets.super_six.pays.push" if value == "push" else "bets.super_six.pays.two_card"
        value = f"{value}/1" if value.isdecimal() else value  # written as text, not as a number
    text = source(name, f"{key}={value}")
    if (key, value) == ("form", "1"):  # which says no decimals
        text = text.replace("decimals = 2\n", "")
    return parse_rulebook(name, text.encode())


@pytest.mark.parametrize("key", SETTINGS)
def test_the_values_of_a_setting_are_read(key: str) -> None:
    for value in spans(SETTINGS[key][1]):
        assert isinstance(_with(key, value), model.Rulebook)
    # A value that is a word of a list has no others beside it.
    words = [value for value in spans(SETTINGS[key][1]) if value.isalpha() or "_" in value]
    if len(words) > 1:
        with pytest.raises(ConfigError, match=key.rpartition(".")[2]):
            _with(key, "no_such_word")


def _read(rulebook: model.Rulebook, key: str) -> object:
    """What a setting came to."""
    section, _, name = _plain(key).rpartition(".")
    found: object = {
        "": rulebook,
        "bets.ID": rulebook.bets["tiger_pair"],
        "caps": load_rulebook("mini-lucky8").caps[0],
    }.get(section, getattr(rulebook, section, None))
    return getattr(found, name)


@pytest.mark.parametrize(
    "key",
    [
        key
        for key, row in SETTINGS.items()
        if (spans(row[2]) or row[2] in {"no limit", "none"}) and not key.endswith(".variant")
    ],
)
def test_a_setting_that_is_absent_is_what_the_page_says(key: str) -> None:
    if key.startswith("sign."):
        assert form.Sign2() == form.Sign2(help_line=None, own_lines=())
        return
    if key == "options.max_options":
        assert model.Options().max_options is None
        return
    found = _read(load_rulebook("au-commission"), key)
    expected = spans(SETTINGS[key][2])
    shown = str(getattr(found, "value", found)).lower() if found is not None else None
    assert shown == (expected[0] if expected else None)


@pytest.mark.parametrize("key", ["bets.perfect_pairs.variant", "bets.lucky8_player.variant"])
def test_a_variant_that_is_absent_is_the_first(key: str) -> None:
    assert spans(SETTINGS[key][2]) == spans(SETTINGS[key][1])[:1]


MENTIONED = sorted(
    {
        span
        for span in CODE
        if span != "bets.ID"
        and re.match(rf"(?:{'|'.join(SECTIONS)})\.[\w.]+(?: = .+)?$|(?:{'|'.join(TOP)}) = ", span)
    }
)


@pytest.mark.parametrize("mention", MENTIONED)
def test_a_setting_that_the_page_mentions_exists_and_can_be_so(mention: str) -> None:
    key, _, value = mention.partition(" = ")
    assert _plain(key).replace(".pays.push", ".pays") in {_plain(known) for known in SETTINGS}
    if value:
        assert isinstance(_with(key, value.strip('"')), model.Rulebook)


# What the clauses say of the shipped files is so; a choice that the page offers is not meant.
@pytest.mark.parametrize(
    ("name", "mention"),
    [
        ("nz-scale-one", 'bets.perfect_pairs.requirement = "same_seat"'),
        ("nz-scale-one", "bets.perfect_pairs.phase = 1"),
        ("mini-lucky8", 'commission.timing = "prepaid"'),
        ("mini-lucky8", 'bets.lucky8_player.requirement = "any_main"'),
        ("mini-lucky8", "options.max_options = 3"),
        ("mini-lucky8", "bets.lucky8_player.maximum = 30000"),
        ("mini-lucky8", "caps.maximum = 3000000"),
        ("mini-lucky8", "decks = 8"),
    ],
)
def test_a_shipped_rulebook_is_as_the_page_says(name: str, mention: str) -> None:
    assert f"`{mention}`" in PAGE
    key, _, value = mention.partition(" = ")
    section, _, field = key.rpartition(".")
    rulebook = load_rulebook(name)
    holder: object = rulebook
    if section.startswith("bets."):
        holder = rulebook.bets[section.removeprefix("bets.")]
    elif section:
        holder = rulebook.caps[0] if section == "caps" else getattr(rulebook, section)
    found = getattr(holder, field)
    assert str(getattr(found, "value", found)) == value.strip('"')


# ---- figures ----


def _percent(ratio: Fraction) -> str:
    return f"{float(ratio * 100):.4f} %"


def test_the_seeds_claims_stand_beside_what_is_computed() -> None:
    claims = rows("### What seed 2 tells its patrons about the odds")
    assert len(claims) == 4
    for claim, of, computed, command in claims:
        bet, name = spans(of)
        edge = odds_of(name)[bet].edge
        assert computed == _percent(edge)
        assert abs(edge * 100 - Fraction(claim.removesuffix(" %"))) <= Fraction(1, 200)
        assert spans(command) == [f"baccarat odds --rulebook {name}"]


def test_the_command_prints_the_figures_of_the_page() -> None:
    printed = CliRunner().invoke(odds_command, ["--rulebook", "au-commission"])
    assert printed.exit_code == 0
    for claim in rows("### What seed 2 tells its patrons about the odds")[:2]:
        bet, _ = spans(claim[1])
        assert re.search(rf"^{bet} .* {re.escape(claim[2])}$", printed.output, re.MULTILINE)


def test_the_counts_of_all_deals_are_those_of_the_page() -> None:
    (figures,) = (line for line in PAGE.splitlines() if line.startswith("Computed means counted"))
    printed = [int(text.replace(",", "")) for text in re.findall(r"\d[\d,]{9,}", figures)]
    found = odds_of("au-commission")
    ways = [("player", "win"), ("banker", "win"), ("tie", "win")]
    counted = [found[bet].categories[name].probability * perm(416, 6) for bet, name in ways]
    assert printed == counted


def test_every_wager_pays_and_costs_what_the_page_says() -> None:
    seen = []
    for bet_cell, books, pays, edge in rows("## What each wager pays and costs"):
        (bet,) = spans(bet_cell)
        for name in spans(books):
            offered = load_rulebook(name).bets[bet]
            schedule = ", ".join(
                f"`{category}` {'push' if odds is None else str(odds).removesuffix('/1')}"
                for category, odds in offered.schedule.items()
            )
            assert pays == schedule + (", less 1/20" if offered.commission else "")
            assert edge == _percent(odds_of(name)[bet].edge), (bet, name)
            seen.append((name, bet))
    every = chain.from_iterable(
        ((name, bet) for bet in load_rulebook(name).bets) for name in shipped_ids()
    )
    assert sorted(seen) == sorted(every)


# ---- words of other tables ----


def test_the_ways_out_are_commands() -> None:
    named = {span for *_, out, _ in rows("## Irregularities") for span in spans(out)}
    assert named <= set(COMMANDS)
    assert named >= {"enter_card", "correct_card", "realign", "confirm_result", "void_coup"}


def test_the_irregularities_that_are_only_recorded_are_named() -> None:
    (told,) = (row[1] for row in rows("## Irregularities") if "put right by hand" in row[0])
    assert set(spans(told)) == RECORDED_KINDS


def test_every_timing_of_commission_is_explained() -> None:
    explained = [spans(row[0])[0] for row in rows("## Commission")]
    assert explained == [timing.value for timing in CommissionTiming]


def test_a_clause_says_only_what_its_own_seed_pays() -> None:
    """The odds in the clauses' words are those of the schedules."""
    au = load_rulebook("au-commission").bets
    words = {
        row[0]: row[1] for row in rows("## Seed 2: Baccarat, Even Money, pairs, Super Six, Tiger")
    }
    for clause, bets in {
        "Player Pair, Banker Pair": ["player_pair"],
        "Super Six": ["super_six"],
        "Tiger, Big Tiger, Small Tiger": ["tiger", "big_tiger", "small_tiger"],
        "Tiger Tie": ["tiger_tie"],
        "Tiger Pair": ["tiger_pair"],
    }.items():
        said = [int(number) for number in re.findall(r"\d+", words[clause])]
        paid = [odds.num for bet in bets for odds in au[bet].schedule.values() if odds]
        assert said == paid, clause
