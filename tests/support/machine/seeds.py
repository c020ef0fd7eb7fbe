"""Chance in a test: another run has other numbers, and the one that fails can be done again."""

import random

__all__ = ["drawn_seed", "seeded"]


def drawn_seed() -> int:
    """A seed, shown when the test fails."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201 - see the docstring
    return seed


def seeded() -> random.Random:
    """Numbers by such a seed."""
    return random.Random(drawn_seed())
