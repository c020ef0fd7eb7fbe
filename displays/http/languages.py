"""The screens' languages: one JSON file each, the same that the pages read."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Final

import msgspec

__all__ = ["DEFAULT_LANGUAGE", "LANGUAGES", "choose_language", "load_words"]

# The tag of each, and its own name for itself.
LANGUAGES: Final = {"en": "English", "zh-Hans": "简体中文", "zh-Hant": "繁體中文"}
DEFAULT_LANGUAGE: Final = "en"

_TRADITIONAL: Final = ("zh-hant", "zh-tw", "zh-hk", "zh-mo")


def load_words(language: str) -> Mapping[str, str]:
    """Key to text in one language."""
    text = files("displays").joinpath("static", "words", f"{language}.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, str])


def choose_language(asked: str | None, accepted: str) -> str:
    """The language of a page.

    Args:
        asked: `?lang=` or the cookie of it.
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
