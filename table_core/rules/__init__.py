"""The rules of the game: draw table, outcome, wagers, settlement, commission, limits, rulebook.

Every other folder of `table_core` may import it; it imports none of them. Pure.
"""

__all__: list[str] = []
