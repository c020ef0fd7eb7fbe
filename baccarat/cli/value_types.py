"""Click types that refuse what click itself takes: a text that is no name, and `nan`."""

import math
from typing import Any, Final

import click

from events.free_text import TextLengths, find_forbidden

__all__ = ["NAME", "FiniteFloatRange", "OneLine"]


class FiniteFloatRange(click.FloatRange):
    """A float in a range; `nan`, which click accepts as a float, is refused."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number that was typed; fail with a usage error if it is `nan`."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail("it is no number", param, ctx)
        return number


class OneLine(click.ParamType[str]):
    """One line of text that is not blank.

    Args:
        most: how many characters it has at the most.
    """

    name = "text"

    def __init__(self, most: int) -> None:
        self._lengths = TextLengths(most)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text that was typed; fail with a usage error if it is no line."""
        text = str(value)
        if not text.strip():
            self.fail("it is empty", param, ctx)
        for _, fault in find_forbidden(text, lengths=self._lengths):
            self.fail(f"it {fault}", param, ctx)
        return text


NAME: Final = OneLine(200)
"""The name of a person, a login, a key, a table, a coup or the like."""
