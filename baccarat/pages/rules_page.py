"""Render the rules of a rulebook as pages for patrons, each one file that loads nothing.

They come from the template of the screens' own page `/rules`.
"""

from collections.abc import Mapping
from importlib.resources import files

from displays.http.pages import Pages
from displays.http.words import LANGUAGES, load_words
from table_core.odds.exact import BetOdds
from table_core.rules.rulebook import Rulebook
from table_core.texts.page import rules_pages

__all__ = ["static_pages"]


def static_pages(rulebook: Rulebook, odds: Mapping[str, BetOdds]) -> dict[str, str]:
    """Return the page of each language by its file's name."""
    pages = Pages(secure=False)
    style = files("displays").joinpath("static", "css", "rules.css").read_text("utf-8")
    names = {tag: f"{rulebook.id}.{tag}.html" for tag in LANGUAGES}
    found = rules_pages(rulebook, odds, {tag: load_words(tag) for tag in LANGUAGES})
    return {
        names[tag]: pages.html(
            tag,
            "rules.html",
            page=page,
            missing="",
            links=names,
            style=style,
        )
        for tag, page in found.items()
    }
