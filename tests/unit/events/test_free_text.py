"""What no text may hold, against Unicode's own tables; and a text that PostgreSQL can hold."""

import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baccarat.config.property import load_property
from baccarat.config.table import load_config
from baccarat.rulebooks.library import site_rulebook
from displays.auth.accounts import load_accounts
from events.commands import Preview
from events.commands.text_lengths import COMMAND_LENGTHS
from events.errors import ConfigError, InputError
from events.free_text import (
    FILE_LENGTHS,
    FORBIDDEN_CHARACTERS,
    SHORTEST_LENGTH,
    TextLengths,
    escape_nul,
    find_forbidden,
    may_hold_forbidden,
    show_text,
    unescape_nul,
    whole_number,
)
from shoe_driver.profiles.catalogue import shipped_texts
from shoe_driver.profiles.profile import profile_complaints
from table_core.rulebooks.shipped import shipped_sources
from tests.support.machine.commands import here
from tests.support.machine.seeds import seeded
from tests.support.table.hostile import REFUSED

# Unicode 15.1, PropList.txt: Bidi_Control.
BIDI_CONTROL = {0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
LEGIBLE = [
    "a patron fell ill",
    "闲家的牌読み違え, 賭け金を返す",
    "\U00020bb7野家",  # beyond the 16 bits of a surrogate
    "לקוח عميل खिलाड़ी ผู้เล่น",
    "crème brûlée, 5 € \u2014 \u201cno\u201d; a\u200db",  # with a joiner, which Indic scripts need
    "C:\\u0000 \\ / ' \" % <b>&amp;</b>",
    "",
]


def test_refused_are_controls_separators_what_turns_the_reading_and_other_forms() -> None:
    refused = {code for code in range(sys.maxunicode + 1) if any(find_forbidden(chr(code)))}
    assert refused == BIDI_CONTROL | {
        code
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in {"Cc", "Zl", "Zp", "Cs"}
        or unicodedata.normalize("NFC", chr(code)) != chr(code)
    }


@pytest.mark.parametrize("text", LEGIBLE)
def test_what_people_write_is_taken(text: str) -> None:
    assert list(find_forbidden({"reason": text, "signed": [text]})) == []


def test_each_place_is_named() -> None:
    tree = {"wagers": [{"patron": "p"}, {"patron": "p\0"}], "reason": "a\nb", "seat": 3}
    what = "use one line of text without controls"
    assert list(find_forbidden(tree)) == [
        ("wagers[1].patron", f"holds U+0000; {what}"),
        ("reason", f"holds U+000A; {what}"),
    ]


_NFC = "is not in Unicode's normal form C; send it in NFC"
LENGTHS = TextLengths(70, {"reason": 80})


@pytest.mark.parametrize(
    ("tree", "found"),
    [
        ({"reason": "a" * 80, "signed": ["b" * 70], "shoe": "\U00020bb7" * 70}, []),
        ({"reason": "a" * 81}, [("reason", "has 81 characters; use 80 at the most")]),
        ({"signed": ["b", "c" * 71]}, [("signed[1]", "has 71 characters; use 70 at the most")]),
        (
            {"signed": ["re\u0301"]},
            [("signed[0]", "is not in Unicode's normal form C; send it in NFC")],
        ),
        ({"patron": "p\u0430tron"}, []),  # a Cyrillic letter: to be seen, and another person
    ],
)
def test_a_text_has_its_most_characters_and_one_spelling(
    tree: Any, found: list[tuple[str, str]]
) -> None:
    assert list(find_forbidden(tree, lengths=LENGTHS)) == found
    assert may_hold_forbidden(json.dumps(tree, ensure_ascii=False)) or not found


def test_no_bound_is_below_what_the_quick_look_looks_for() -> None:
    bounds = {COMMAND_LENGTHS.other, *COMMAND_LENGTHS.by_field.values(), FILE_LENGTHS.other}
    assert min(bounds) >= SHORTEST_LENGTH


def test_the_pages_show_what_the_terminal_shows() -> None:
    script = files("displays").joinpath("static", "js", "shown.js").read_text("utf-8")
    assert f"/[{FORBIDDEN_CHARACTERS}]/gu" in script


def test_however_deep_a_text_is_it_is_found() -> None:
    tree: Any = "a\0"
    for _ in range(100_000):
        tree = [tree]
    ((key, _),) = find_forbidden(Preview(transaction="t", command="void_coup", body={"x": tree}))
    assert key == "body.x" + "[0]" * 100_000


@given(
    st.text() | st.text(alphabet='a"\\', min_size=60, max_size=75),
    st.booleans(),
    st.sampled_from([None, 2]),
)
def test_a_quick_look_overlooks_nothing(text: str, plain: bool, indent: int | None) -> None:
    document = json.dumps({"reason": text}, ensure_ascii=plain, indent=indent)
    found = find_forbidden(text, lengths=TextLengths(SHORTEST_LENGTH))
    assert may_hold_forbidden(document) or not any(found)


def test_a_quick_look_is_enough_for_what_programs_send() -> None:
    for text in LEGIBLE:
        assert may_hold_forbidden(json.dumps({"reason": text}, ensure_ascii=False)) == (
            "\\" in text
        )


near = st.text(alphabet="\0\\u05cC1a", max_size=14) | st.text()


@given(near)
def test_a_text_in_its_visible_form_has_no_nul_and_can_be_had_again(text: str) -> None:
    assert "\0" not in escape_nul(text)
    assert unescape_nul(escape_nul(text)) == text


@given(st.text().filter(lambda text: "\0" not in text and "\\u00" not in text))
def test_a_text_without_a_nul_stays_as_it_is(text: str) -> None:
    assert escape_nul(text) == text


def test_the_visible_form_of_a_nul_is_that_of_json() -> None:
    assert escape_nul("p\0-17") == r"p\u0000-17"
    assert escape_nul(r"p\u0000-17") == r"p\u005cu0000-17"


def of_a_profile(path: Path) -> None:
    if complaints := profile_complaints(path.read_bytes()):
        raise ConfigError("; ".join(complaints))


def of_a_rulebook(path: Path) -> None:
    site_rulebook(str(path))


def written(*words: str) -> str:
    """What a command writes for a site to begin with, every key of it given."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "site.toml"
        assert here(*words, path).code == 0
        return re.sub(r"(?m)^# (?=[\w.]+ = |\[)", "", path.read_text("utf-8"))


USERS: Final = """
[users.mary]
roles = ["dealer"]
password = "$argon2id$v=19"
until = 1
reason = "the supervisor is ill"
"""


def of_a_name(path: Path) -> None:
    """Names are keys of the users file."""
    path.write_text(USERS.replace("mary", path.read_text("utf-8").partition(" = ")[2].strip()))
    load_accounts(path)


FILES: Final[Sequence[tuple[Callable[[Path], object], str]]] = (
    (load_config, written("config", "init")),
    (load_property, written("property", "init")),
    (load_accounts, USERS),
    (of_a_name, 'name = "mary"\n'),
    *((of_a_rulebook, source.decode()) for source in shipped_sources()),
    *((of_a_profile, source.decode()) for source in shipped_texts()),
)
KINDS: Final = {**REFUSED, "a little too long": "x" * 5_000}
# What a shoe sends beside a card's code may be any byte.
_LINE: Final = re.compile(r"(?m)^(?!prefix|suffix|boot|cycle)[^#\n]*")
_TEXT: Final = re.compile(r'(?<=[=\[,{ ])"[^"\n]*(?="(?! =))')
EVERY: Final[list[tuple[Callable[[Path], object], str, str, str]]] = [
    (reader, text[: place.end()], more, text[place.end() :])
    for reader, text in FILES
    for line in _LINE.finditer(text)
    for place in _TEXT.finditer(text, *line.span())
    for what, more in KINDS.items()
    if what != "huge"
]


def taken(path: Path, tried: Iterable[tuple[Callable[[Path], object], str, str, str]]) -> list[str]:
    """The places of files that took such a text, or were not refused in printable lines."""
    found = []
    for reader, before, more, after in tried:
        path.write_text(f"{before}{json.dumps(more)[1:-1]}{after}", "utf-8")
        try:
            reader(path)
        except InputError as error:
            if "".join(str(error).split("\n")).isprintable():
                continue
        found.append(f"{before[-60:]}<{more[:20]!r}>")
    return found


def test_no_text_of_any_file_may_hold_what_no_text_may(tmp_path: Path) -> None:
    assert len(EVERY) > 4_000
    assert taken(tmp_path / "site.toml", seeded().sample(EVERY, 200)) == []


@pytest.mark.soak(computes=True)
def test_no_text_of_any_file_may_hold_any_of_it(tmp_path: Path) -> None:
    assert taken(tmp_path / "site.toml", EVERY) == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        *((text, text) for text in LEGIBLE),
        ("a\nb", r"a\u000Ab"),
        ("\x1b[2Kgone", r"\u001B[2Kgone"),
        ("a\u202eb\ud800", r"a\u202Eb\uD800"),
    ],
)
def test_a_text_is_shown_on_one_line_and_draws_nothing(text: str, shown: str) -> None:
    assert show_text(text) == shown


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("007", 7),
        ("65535", 65_535),
        ("65536", None),
        ("0" * 5_000 + "1", 1),
        ("9" * 5_000, None),
        *((text, None) for text in ("", " 7", "7\n", "+7", "-7", "1_0", "7.0", "\u0667", "\u00b2")),
    ],
)
def test_a_whole_number_has_ascii_digits_alone(text: str, number: int | None) -> None:
    assert whole_number(text, 65_535) == number
