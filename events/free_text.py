r"""Free text from people and programs: what is refused, how it is shown, NUL for PostgreSQL.

A text is one line. A control character would end the line, hide in it or control the screen that
shows it. A bidirectional control would make the text read differently from what it contains. A
lone surrogate, half of a character, is no UTF-8. Two spellings of one text, composed and
decomposed, would be two references that nobody can tell apart: only normal form C (NFC) is
accepted. And a text has its most characters. No command and no file of a site may contain another
text.

Old logs keep texts from before this rule. `show_text` shows them to a person. PostgreSQL stores no
NUL in a text, so `escape_nul` escapes it and `unescape_nul` reverses that. Only a text with a NUL,
or one that looks escaped, is changed: each NUL becomes the six characters `\u0000`, each backslash
`\u005c`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias
from unicodedata import is_normalized

from msgspec import Struct

__all__ = [
    "FILE_LENGTHS",
    "FORBIDDEN_CHARACTERS",
    "SHORTEST_LENGTH",
    "TextLengths",
    "escape_nul",
    "find_forbidden",
    "may_hold_forbidden",
    "show_lines",
    "show_text",
    "unescape_nul",
    "whole_number",
]

FORBIDDEN_CHARACTERS: Final = (
    r"\u0000-\u001F\u007F-\u009F"  # controls (Cc), including line ends and tabs
    r"\u2028\u2029"  # line and paragraph separators
    r"\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069"  # what changes the direction of reading
)
"""The forbidden characters, as the inside of a regular expression's character class."""

# No text is forbidden for its length alone up to so many characters: see `may_hold_forbidden`.
SHORTEST_LENGTH: Final = 64


class TextLengths(NamedTuple):
    """The most characters of texts, at least `SHORTEST_LENGTH`.

    Args:
        other: of every text without a bound of its own.
        by_field: of a field's text, or of each of its texts.
    """

    other: int
    by_field: Mapping[str, int] = {}

    def of(self, field: str | int) -> int:
        """Return the most characters of a field's text."""
        return self.by_field.get(field, self.other) if isinstance(field, str) else self.other


FILE_LENGTHS: Final = TextLengths(4096)
"""Of the texts of a site's files: the longest is a path, and Linux takes no longer one."""

_FORBIDDEN: Final = re.compile(rf"[{FORBIDDEN_CHARACTERS}\uD800-\uDFFF]")
_SUSPECT: Final = re.compile(rf'\\|[{FORBIDDEN_CHARACTERS}]|"[^"]{{{SHORTEST_LENGTH + 1}}}')
_ESCAPED: Final = re.compile(r"\\u00(00|5c)")
_UNESCAPED: Final = {"00": "\0", "5c": "\\"}


def may_hold_forbidden(document: str) -> bool:
    """Report whether a JSON document may hold a forbidden text. Fast; False is certain."""
    return _SUSPECT.search(document) is not None or not is_normalized("NFC", document)


def find_forbidden(
    tree: Any, where: str = "", lengths: TextLengths = FILE_LENGTHS
) -> Iterator[tuple[str, str]]:
    """Yield the key and the complaint of each forbidden text in a tree.

    Args:
        tree: nested structs, dictionaries and lists of any depth; dictionary keys are not checked.
        where: the key of the tree itself.
        lengths: the most characters, by the name of the nearest field.
    """
    waiting: list[tuple[Any, _Path, str]] = [(tree, None, "")]
    while waiting:
        value, path, field = waiting.pop()
        if isinstance(value, str):
            if what := _complaint(value, lengths.of(field)):
                yield _key(where, path), what
        elif inner := list(_inside(value)):
            waiting += (
                (each, (path, key), key if isinstance(key, str) else field)
                for key, each in reversed(inner)
            )


def _complaint(text: str, most: int) -> str | None:
    if len(text) > most:
        return f"has {len(text):,} characters; use {most} at the most"
    found = _FORBIDDEN.search(text)
    if found is not None:
        return f"holds U+{ord(found[0]):04X}; use one line of text without controls"
    if not is_normalized("NFC", text):
        return "is not in Unicode's normal form C; send it in NFC"
    return None


# A linked path: the parent's path, then the name or index in it; None at the top.
_Path: TypeAlias = "tuple[_Path, str | int] | None"


def _inside(value: Any) -> Iterable[tuple[str | int, Any]]:
    if isinstance(value, Struct):
        return ((name, getattr(value, name)) for name in value.__struct_fields__)
    if isinstance(value, dict):
        return ((str(key), each) for key, each in value.items())
    return enumerate(value) if isinstance(value, list | tuple) else ()


def _key(where: str, path: _Path) -> str:
    keys: list[str | int] = []
    while path is not None:
        path, key = path
        keys.append(key)
    for key in reversed(keys):
        where += f"[{key}]" if isinstance(key, int) else f".{key}" if where else key
    return where


def show_text(text: str) -> str:
    r"""Return a text for a person, on one line: each forbidden character as `\u000A` and the like.

    A lone surrogate, which no output can encode, is shown so too.
    """
    return _FORBIDDEN.sub(lambda found: f"\\u{ord(found[0]):04X}", text)


def show_lines(lines: Iterable[str]) -> str:
    """Return a text of several lines for a person, whatever texts the lines contain."""
    return "\n".join(map(show_text, lines))


def whole_number(text: str, most: int) -> int | None:
    """Return the number that ASCII digits write; None for another text, and above `most`.

    Python's own `int` also reads the digits of other scripts, signs, spaces and underscores, and
    refuses thousands of digits.
    """
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0") or "0"
    number = int(digits) if len(digits) <= len(str(most)) else most + 1
    return number if number <= most else None


def escape_nul(text: str) -> str:
    """Return the text escaped so that PostgreSQL can store it."""
    if "\0" not in text and not _ESCAPED.search(text):
        return text
    return text.replace("\\", r"\u005c").replace("\0", r"\u0000")


def unescape_nul(text: str) -> str:
    """Return the text that `escape_nul` was given."""
    return _ESCAPED.sub(lambda form: _UNESCAPED[form[1]], text)
