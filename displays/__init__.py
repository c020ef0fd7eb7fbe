"""The table's screens: the public scoreboard, and the consoles of dealer and pit."""

__all__: list[str] = []
