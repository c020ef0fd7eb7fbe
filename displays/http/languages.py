"""The screens' languages: reads the JSON files of texts that the pages use, and picks one."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Final

import msgspec

__all__ = ["DEFAULT_LANGUAGE", "LANGUAGES", "choose_language", "load_words"]

# Each language's tag, and its name in the language itself.
LANGUAGES: Final = {"en": "English", "zh-Hans": "简体中文", "zh-Hant": "繁體中文"}
DEFAULT_LANGUAGE: Final = "en"

_TRADITIONAL: Final = ("zh-hant", "zh-tw", "zh-hk", "zh-mo")


def load_words(language: str) -> Mapping[str, str]:
    """Return the texts of one language by key."""
    text = files("displays").joinpath("static", "words", f"{language}.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, str])


def choose_language(asked: str | None, accepted: str) -> str:
    """Return the tag of a page's language.

    Args:
        asked: the value of `?lang=` or of its cookie.
        accepted: the browser's `Accept-Language`.
    """
    if asked in LANGUAGES:
        return asked
    for part in accepted.lower().split(","):
        tag = part.partition(";")[0].strip()
        if tag.startswith(_TRADITIONAL):
            return "zh-Hant"
        if tag.startswith("zh"):
            return "zh-Hans"
        if tag.startswith("en"):
            return "en"
    return DEFAULT_LANGUAGE
