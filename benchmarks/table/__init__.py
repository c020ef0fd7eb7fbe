"""The table core measured: coups, settlements, replay, opening, starting.

Imported by the benchmark rows.
"""

__all__: list[str] = []
