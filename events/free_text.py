r"""Free text from people and programs: reject control characters, escape NUL for PostgreSQL.

A text is one line. A control character would end the line, hide in it or control the screen that
shows it. A bidirectional control would make the text read differently from what it contains. No
command and no configuration may contain either. A lone surrogate is neither JSON nor UTF-8, so
every reader refuses it.

Old logs keep texts from before this rule. PostgreSQL stores no NUL in a text, so `escape_nul`
escapes it and `unescape_nul` reverses that. Only a text with a NUL, or one that looks escaped, is
changed: each NUL becomes the six characters `\u0000`, each backslash `\u005c`.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

from msgspec import Struct

__all__ = [
    "FORBIDDEN_CHARACTERS",
    "escape_nul",
    "find_forbidden",
    "may_hold_forbidden",
    "show_text",
    "unescape_nul",
]

FORBIDDEN_CHARACTERS: Final = (
    r"\u0000-\u001F\u007F-\u009F"  # controls (Cc), including line ends and tabs
    r"\u2028\u2029"  # line and paragraph separators
    r"\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069"  # what changes the direction of reading
)
"""The forbidden characters, as the inside of a regular expression's character class."""

_FORBIDDEN: Final = re.compile(f"[{FORBIDDEN_CHARACTERS}]")
_UNSHOWN: Final = re.compile(rf"[{FORBIDDEN_CHARACTERS}\uD800-\uDFFF]")
_SUSPECT: Final = re.compile(rf"\\[bfnrtu]|[{FORBIDDEN_CHARACTERS}]")
_ESCAPED: Final = re.compile(r"\\u00(00|5c)")
_UNESCAPED: Final = {"00": "\0", "5c": "\\"}


def may_hold_forbidden(document: str) -> bool:
    """Report whether a JSON document may hold a forbidden character. Fast; False is certain."""
    return _SUSPECT.search(document) is not None


def find_forbidden(tree: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """Yield the key and the complaint of each text in a tree that holds a forbidden character.

    Args:
        tree: nested structs, dictionaries and lists of any depth; dictionary keys are not checked.
        where: the key of the tree itself.
    """
    waiting: list[tuple[Any, _Path]] = [(tree, None)]
    while waiting:
        value, path = waiting.pop()
        if isinstance(value, str):
            found = _FORBIDDEN.search(value)
            if found is not None:
                what = f"holds U+{ord(found[0]):04X}; use one line of text without controls"
                yield _key(where, path), what
        elif inner := list(_inside(value)):
            waiting += ((each, (path, key)) for key, each in reversed(inner))


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
    return _UNSHOWN.sub(lambda found: f"\\u{ord(found[0]):04X}", text)


def escape_nul(text: str) -> str:
    """Return the text escaped so that PostgreSQL can store it."""
    if "\0" not in text and not _ESCAPED.search(text):
        return text
    return text.replace("\\", r"\u005c").replace("\0", r"\u0000")


def unescape_nul(text: str) -> str:
    """Return the text that `escape_nul` was given."""
    return _ESCAPED.sub(lambda form: _UNESCAPED[form[1]], text)
