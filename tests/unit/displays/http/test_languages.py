"""The words of the screens: the same keys in each language, and one for whatever a page says."""

import ast
import json
import re
from pathlib import Path

import pytest

from displays.http.words import DEFAULT_LANGUAGE, LANGUAGES, choose_language
from events.commands.registry import COMMANDS, DELEGATE, ROWS
from table_core.narrative.formatting import DRAW_WORDS
from table_core.narrative.table_texts import TEMPLATES
from table_core.rulebooks.shipped import shipped_sources
from table_core.rules.rulebook_file import parse_rulebook
from table_core.rules.wagers import BET_KINDS
from table_core.state.coup import Phase
from table_core.texts.advice import ADVICE
from tests.support.table.commands import BESIDE_PLAY
from tests.tools.reference_pages.codes import refusals

ROOM = Path(__file__).parents[4] / "displays"
WORDS = {
    language: json.loads((ROOM / "static" / "words" / f"{language}.json").read_text("utf-8"))
    for language in LANGUAGES
}
# Given by programs, never by a person at a screen.
SILENT = {row.name for row in ROWS if row in BESIDE_PLAY or row.roles == {DELEGATE}}
# Codes that only a program brings on itself: the consoles send nothing that earns one.
_PROGRAMS = {
    *("exists_with_different_<field>", "invalid_request", "invalid_text", "invalid_transaction"),
    *("not_authenticated", "unknown_key", "forged_message", "stale_message", "retained_request"),
    *("unknown_command", "not_a_delegate", "no_preview", "invalid_limit", "unknown_position"),
    *("invalid_consumer", "too_many_consumers", "too_many_replays", "unknown_irregularity"),
    *("invalid_burn", "invalid_dealer", "invalid_patron", "seen_required", "invalid_logins"),
}
_SAID = re.compile(r"""word\("([a-z_.0-9A-Z-]+)"|words\["([a-z_.]+)"\]|words\['([a-z_.]+)'\]""")


def said() -> set[str]:
    """Every key that stands as it is in a script or a template."""
    files = [*ROOM.rglob("*.js"), *ROOM.rglob("*.html")]
    found = (match for path in files for match in _SAID.findall(path.read_text("utf-8")))
    return {key for groups in found for key in groups if key}


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_has_the_same_keys_and_every_text_says_something(language: str) -> None:
    assert WORDS[language].keys() == WORDS["en"].keys()
    assert all(text.strip() for text in WORDS[language].values())


def test_a_language_is_chosen_by_its_tag_and_by_what_a_browser_calls_it() -> None:
    for tag, own in LANGUAGES.items():
        assert (WORDS[tag]["language"], choose_language(tag, "")) == (own, tag)
        for start in WORDS[tag]["language.accepts"].split():
            assert choose_language(None, f"xx, {start.upper()};q=0.5") == tag
    page = (ROOM.parent / "docs/operate/screens.md").read_text("utf-8")
    assert [tag for tag in LANGUAGES if f"`?lang={tag}`" not in page] == []


def test_whatever_a_page_says_has_its_words() -> None:
    assert len(said()) > 50
    assert sorted(said() - WORDS["en"].keys()) == []


def test_every_phase_command_wager_category_rule_and_sign_has_its_words() -> None:
    wanted = {f"phase.{phase.value}" for phase in Phase}
    wanted |= {line for line in ADVICE if line}
    wanted |= {f"command.{name}" for name in COMMANDS.keys() - SILENT}
    wanted |= {f"bet.{bet}" for bet in BET_KINDS}
    wanted |= {
        f"category.{bet}.{name}" for bet, kind in BET_KINDS.items() for name in kind.categories
    }
    wanted |= {f"rule.{rule}" for rule in DRAW_WORDS if rule != "initial"}
    for text in shipped_sources():
        sign = parse_rulebook("shipped", text).sign
        wanted |= {f"sign.{line}" for line in (sign.game, *(() if sign.generated else sign.lines))}
    assert sorted(wanted - WORDS["en"].keys()) == []


def test_the_draw_table_is_said_alike_on_the_screens_and_in_the_record() -> None:
    screens = {rule: WORDS["en"][f"rule.{rule}"].lower() for rule in DRAW_WORDS}
    assert screens == {rule: text.lower() for rule, text in DRAW_WORDS.items()}


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_put_into_a_text_is_the_same_in_each_language(language: str) -> None:
    def holes(text: str) -> list[str]:
        return sorted(re.findall(r"\{(\w+)\}", text))

    other = [key for key, text in WORDS[language].items() if holes(text) != holes(WORDS["en"][key])]
    assert other == []


def test_whatever_the_table_refuses_a_person_at_a_screen_has_its_words() -> None:
    codes = set(refusals())
    assert len(codes) > 100
    assert {code for code in codes if f"code.{code}" not in WORDS["en"]} == _PROGRAMS


RECORD = {
    language: json.loads(
        (ROOM / "static" / "words" / "record" / f"{language}.json").read_text("utf-8")
    )
    for language in sorted(LANGUAGES.keys() - {DEFAULT_LANGUAGE})
}
_NOT_SAID = {"no card became known in it", Phase.NONE.value}
"""Texts of the modules of the record that are in no record."""


def record_texts() -> set[str]:
    """The English templates of a coup's record, as they stand in the code."""
    narrative = ROOM.parent / "table_core" / "narrative"
    modules = [path for path in narrative.glob("*.py") if path.name != "table_texts.py"]
    modules.append(ROOM.parent / "table_core" / "history" / "what_if.py")
    found: set[str] = set()
    for path in modules:
        tree = ast.parse(path.read_text("utf-8"))
        skipped = {
            id(part)
            for node in ast.walk(tree)
            for part in (
                [node.value]  # a description
                if isinstance(node, ast.Expr)
                else node.values
                if isinstance(node, ast.JoinedStr)
                else node.args
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile"
                else []
            )
        }
        found |= {
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and re.search(r"[ {]", node.value.strip())
            and id(node) not in skipped
        }
    found |= {*TEMPLATES, *DRAW_WORDS.values(), *(phase.value for phase in Phase)}
    for kind in BET_KINDS.values():
        found |= {kind.name, kind.wins, kind.source, *kind.categories.values()}
    return found - _NOT_SAID


@pytest.mark.parametrize("language", RECORD)
def test_the_record_of_a_coup_can_be_said_in_each_language(language: str) -> None:
    words, wanted = RECORD[language], record_texts()
    assert len(wanted) > 200
    assert sorted(wanted - words.keys()) == []

    def holes(text: str) -> list[str]:
        return sorted(re.findall(r"\{(\w+)\}", text))

    assert [text for text, said in words.items() if holes(text) != holes(said)] == []
    assert {words[text] for text in DRAW_WORDS.values()} == {
        WORDS[language][f"rule.{rule}"] for rule in DRAW_WORDS
    }
    assert {words[kind.name] for kind in BET_KINDS.values()} == {
        WORDS[language][f"bet.{bet}"] for bet in BET_KINDS
    }


def test_the_record_has_the_same_texts_in_each_language() -> None:
    first, *others = RECORD.values()
    assert [other.keys() ^ first.keys() for other in others] == [set()]
