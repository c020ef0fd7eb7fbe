"""A click type for numbers in a range that refuses `nan`."""

import math
from typing import Any

import click

__all__ = ["FiniteFloatRange"]


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
