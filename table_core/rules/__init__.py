"""The rules of the game: draw table, outcome, wagers, settlement, commission, limits, rulebook.

Imported by everything above; imports no state; pure.
"""

__all__: list[str] = []
