"""Load the templates of printed pages: every value is escaped, and a missing one is an error."""

from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

__all__ = ["page_template"]


def page_template(name: str, filters: Mapping[str, Callable[..., Any]]) -> Template:
    """Return a template of `baccarat/pages`, with the filters that its page needs."""
    made = Environment(
        loader=PackageLoader("baccarat", "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= filters
    return made.get_template(name)
