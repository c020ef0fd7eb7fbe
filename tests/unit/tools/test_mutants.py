from pathlib import Path

import pytest

from tests.tools.mutant_runs import Covered, Verdict
from tests.tools.mutant_targets import TARGETS
from tests.tools.mutants import complaints, listed_survivors
from tests.tools.mutations import Mutant, mutants_of

ROOT = Path(__file__).parents[3]


def _changes(source: str, path: str = "room/file.py") -> list[str]:
    return [f"{m.before} -> {m.after}" for m in mutants_of(path, source.encode())]


@pytest.mark.parametrize(
    ("source", "becomes"),
    [
        ("a < b", ["a <= b"]),
        ("a not in b", ["a in b"]),
        ("a is None", ["a is not None"]),
        ("a and b", ["a or b", "not a and b", "a and not b"]),
        ("a + 1", ["a - 1", "a + 2"]),
        ("not a", ["a"]),
        ("min(a, b)", ["max(a, b)"]),
        ("f(a, b=c)", ["f(a, )"]),
        ("{a: b, c: d}", ["{c: d}", "{a: b, }", "{a: d, c: d}", "{a: b, c: b}"]),
        ("(a, b)", ["(b)", "(a, )"]),
        ("True", ["False"]),
        ("b'x'", ["b'x\\xaa'"]),
        ("a if b else c", ["a if not b else c"]),
        ("lambda: a", ["lambda: None"]),
    ],
)
def test_an_expression_is_changed_in_each_way_that_there_is(
    source: str, becomes: list[str]
) -> None:
    assert sorted(_changes(f"x = {source}")) == sorted(f"x = {source} -> x = {b}" for b in becomes)


def test_every_digit_of_a_row_of_the_draw_table_is_taken_out_or_put_in() -> None:
    rows = {change.rpartition(" -> ")[2] for change in _changes('x = f("67")')}
    assert rows == {
        'x = f("670")', 'x = f("671")', 'x = f("672")', 'x = f("673")', 'x = f("674")',
        'x = f("675")', 'x = f("7")', 'x = f("6")', 'x = f("678")', 'x = f("679")',
    }  # fmt: skip


def test_statements_are_left_out_and_what_only_tells_is_left_alone() -> None:
    source = '''"""Words."""
__all__ = ["f"]
def f(a: int | None) -> "int | None":
    """More words."""
    if a:
        raise ValueError("no words")
    g()
    return a
'''
    assert sorted(_changes(source)) == [
        "g() -> pass",
        "if a: -> if not a:",
        'raise ValueError("no words") -> pass',
        "return a -> return None",
    ]


def test_a_rulebook_loses_each_setting_and_its_numbers_move() -> None:
    source = 'title = "one of 8"\ndecks = 8\n[bets.tie]\npays = { win = "8" }\noffered = true\n'
    assert _changes(source, "table_core/rulebooks/x.toml") == [
        "decks = 8 -> ",
        "decks = 8 -> decks = 9",
        'pays = { win = "8" } -> ',
        'pays = { win = "8" } -> pays = { win = "9" }',
        "offered = true -> ",
        "offered = true -> offered = false",
    ]


def test_a_mutant_is_named_by_what_it_says_and_not_by_its_line() -> None:
    source = b"def f(a):\n    return a + 1\n"
    moved = b"# a line more\n" + source
    one, other = (mutants_of("room/file.py", text) for text in (source, moved))
    assert [m.key for m in one] == [m.key for m in other]
    assert [m.line for m in one] != [m.line for m in other]
    assert one[0].function == "f"
    assert {m.applied(source) for m in one} >= {b"def f(a):\n    return a - 1\n"}


def _verdict(result: str) -> Verdict:
    return Verdict(
        Mutant("a.py", "f", "f", 7, 7, "a < b", "a <= b", 1, 0, 1, ""), result, "test_a.py"
    )


LISTED = {_verdict("").mutant.key: "the same"}


@pytest.mark.parametrize(
    ("result", "listed", "known", "words"),
    [
        ("killed", {}, True, []),
        ("timed out", {}, True, []),
        ("survived", LISTED, True, ["TOO FEW"]),
        ("survived", {}, True, ["UNLISTED", "TOO FEW"]),
        ("untested", {}, True, ["UNLISTED", "TOO FEW"]),
        ("killed", LISTED, True, ["NOTICED"]),
        ("killed", LISTED, False, ["NOTICED", "GONE"]),
    ],
)
def test_the_list_of_survivors_is_kept_true(
    result: str, listed: dict[tuple[str, str, str, str, int], str], known: bool, words: list[str]
) -> None:
    verdict = _verdict(result)
    keys = {verdict.mutant.key} if known else set()
    said = list(complaints([verdict], keys, {"a.py"}, listed))
    assert [line[:9].strip() for line in said] == words


def test_only_tests_that_run_the_line_are_tried_and_all_where_it_runs_first() -> None:
    mutant = _verdict("").mutant
    within = Covered("t.py", 1.0, ["two", "one"], {"a.py": {1: [""], 7: ["one"], 8: ["two"]}})
    assert within.those_that_run(mutant) == ["one"]
    first = within._replace(ran={"a.py": {7: ["", "one"]}})
    assert first.those_that_run(mutant) == ["two", "one"]


@pytest.mark.sweep
def test_each_survivor_that_is_listed_is_a_mutant_and_has_its_reason() -> None:
    listed = listed_survivors((ROOT / "tests/mutation/survivors.toml").read_text())
    files = {path for path, *_ in listed}
    assert files <= {path for target in TARGETS for path in target.files}
    known = {m.key for path in files for m in mutants_of(path, (ROOT / path).read_bytes())}
    assert set(listed) <= known
    assert all(len(why.split()) > 2 for why in listed.values())


def test_every_target_has_its_files_and_its_tests() -> None:
    for target in TARGETS:
        for path in (*target.files, *target.test_files):
            assert (ROOT / path).is_file(), path


def test_the_decision_names_the_targets_that_are_not_swept_yet() -> None:
    page = (ROOT / "docs/develop/adr/0050-our-own-mutants.md").read_text()
    named = page.partition("Not swept yet: ")[2].partition(".")[0].split(", ")
    assert [target.name for target in TARGETS if not target.swept] == [n for n in named if n]
