"""The table core measured: coups, settlements, replay, opening, starting.

The benchmark rows import it.
"""

__all__: list[str] = []
