r"""Texts that people and their programs write: what none may hold, and how an old one is kept.

A text is one line. Control characters end it, hide in it or rule the screen that shows it; bidi
controls make it read as something else than it says. No command and no configuration may bring
them. A lone surrogate is no JSON and no UTF-8: every reader refuses it.

The log holds what it was given before that was so, for ever. PostgreSQL has no NUL in its texts:
there one stands in a visible form, from which the text can be had again. Only a text that has a
NUL, or that could be taken for such a form, is changed: in it each NUL becomes the six characters
`\u0000`, and each backslash `\u005c`.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

from msgspec import Struct

__all__ = ["UNFIT", "may_be_unfit", "original", "unfit_in", "visible"]

UNFIT: Final = (
    r"\u0000-\u001F\u007F-\u009F"  # controls (Cc), line ends and tabs among them
    r"\u2028\u2029"  # line and paragraph separators
    r"\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069"  # what turns the direction of reading
)
"""What stands in no text, as the inside of a class in a regular expression."""

_UNFIT: Final = re.compile(f"[{UNFIT}]")
_SUSPECT: Final = re.compile(rf"\\[bfnrtu]|[{UNFIT}]")
_FORM: Final = re.compile(r"\\u00(00|5c)")
_WAS: Final = {"00": "\0", "5c": "\\"}


def may_be_unfit(document: str) -> bool:
    """Whether a text of a JSON document may hold what none may: a quick look, and no is sure."""
    return _SUSPECT.search(document) is not None


def unfit_in(tree: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """(key, what is wrong) of each text in a tree that holds what none may.

    Args:
        tree: structs, dictionaries and lists within one another, as deep as they like; keys are
            not looked at.
        where: the key of the tree itself.
    """
    waiting: list[tuple[Any, _Path]] = [(tree, None)]
    while waiting:
        value, path = waiting.pop()
        if isinstance(value, str):
            found = _UNFIT.search(value)
            if found is not None:
                what = f"holds U+{ord(found[0]):04X}; use one line of text without controls"
                yield _key(where, path), what
        elif inner := list(_inside(value)):
            waiting += ((each, (path, key)) for key, each in reversed(inner))


# What a value stands in, and its name or number there; None at the top.
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


def visible(text: str) -> str:
    """The text as PostgreSQL can hold it."""
    if "\0" not in text and not _FORM.search(text):
        return text
    return text.replace("\\", r"\u005c").replace("\0", r"\u0000")


def original(text: str) -> str:
    """The text that `visible` was given."""
    return _FORM.sub(lambda form: _WAS[form[1]], text)
