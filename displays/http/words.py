"""The texts of every page, a file a language; the file is what registers the language."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

import msgspec

__all__ = [
    "DEFAULT_LANGUAGE",
    "LANGUAGES",
    "choose_language",
    "load_record_words",
    "load_words",
]

DEFAULT_LANGUAGE: Final = "en"
_SUFFIX: Final = ".json"
_WORDS: Final = files("displays").joinpath("static", "words")


@cache
def load_words(language: str) -> Mapping[str, str]:
    """Return the texts of one language by key."""
    text = _WORDS.joinpath(f"{language}{_SUFFIX}").read_bytes()
    return msgspec.json.decode(text, type=dict[str, str])


@cache
def load_record_words(language: str) -> Mapping[str, str]:
    """Return the templates of a coup's record in one language by the English one."""
    if language == DEFAULT_LANGUAGE:
        return {}
    text = _WORDS.joinpath("record", f"{language}{_SUFFIX}").read_bytes()
    return msgspec.json.decode(text, type=dict[str, str])


_FILES: Final = {
    tag: load_words(tag)
    for tag in sorted(
        entry.name.removesuffix(_SUFFIX)
        for entry in _WORDS.iterdir()
        if entry.name.endswith(_SUFFIX)
    )
}
LANGUAGES: Final[Mapping[str, str]] = {tag: words["language"] for tag, words in _FILES.items()}
"""The tag of each language, and its own name for itself: its file's `language`."""
# What a browser may call each, by its file's `language.accepts`; the longest that fits is meant.
_ACCEPTED: Final = sorted(
    ((start, tag) for tag, words in _FILES.items() for start in words["language.accepts"].split()),
    key=lambda row: -len(row[0]),
)


def choose_language(asked: str | None, accepted: str) -> str:
    """Return the tag of a page's language.

    Args:
        asked: the value of `?lang=` or of its cookie.
        accepted: the browser's `Accept-Language`.
    """
    if asked is not None and asked in LANGUAGES:
        return asked
    for part in accepted.lower().split(","):
        tag = part.partition(";")[0].strip()
        for start, language in _ACCEPTED:
            if tag.startswith(start):
                return language
    return DEFAULT_LANGUAGE
