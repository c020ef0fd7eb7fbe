"""Numbers of a command line that count something: `nan` is a float to the parser, and no pace."""

import math
from typing import Any

import click

__all__ = ["Measured"]


class Measured(click.FloatRange):
    """A number in a range, and a number."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number of what was typed; fails, for a person, where it is none."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail("it is no number", param, ctx)
        return number
