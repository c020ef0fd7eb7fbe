"""Load the templates of printed pages, and say their texts in a language.

Every value is escaped, and a missing one is an error.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from events.free_text import show_text
from table_core.narrative.formatting import Spoken

__all__ = ["Told", "page_template"]

_HOLE: Final = re.compile(r"\{(\w+)\}")


class Told:
    """Says the English texts of a record in another language.

    Args:
        words: English template to that of the language; a template without one stays English.
        spoken: how each English text was put together.
    """

    def __init__(self, words: Mapping[str, str], spoken: Mapping[str, Spoken]) -> None:
        self._words = words
        self._spoken = spoken

    def template(self, text: str, /, **values: object) -> str:
        """Return an English template in the language, filled."""
        return _HOLE.sub(lambda hole: str(values[hole[1]]), self._words.get(text, text))

    def said(self, text: str) -> str:
        """Return an English text in the language; one that nobody put together, as it is."""
        found = self._spoken.get(text)
        if found is None:
            return text
        values = {name: self._value(value) for name, value in found.values.items()}
        return self.template(found.template, **values)

    def _value(self, value: str | tuple[str, ...]) -> str:
        if isinstance(value, str):
            return self.said(value)
        return self.template(", ").join(self.said(each) for each in value)


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
