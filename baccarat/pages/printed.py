"""Load the templates of printed pages: every value is escaped, and a missing one is an error."""

from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from events.free_text import show_text

__all__ = ["page_template"]


def page_template(name: str, filters: Mapping[str, Callable[..., Any]]) -> Template:
    """Return a template of `baccarat/pages`, with the filters that its page needs."""
    made = Environment(
        loader=PackageLoader("baccarat", "pages"),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= filters
    return made.get_template(name)


def _shown(value: object) -> object:
    """Return a text for a person; markup, and what is no text, as it is."""
    return show_text(value) if type(value) is str else value
