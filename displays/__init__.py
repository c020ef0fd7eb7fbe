"""The table's screens: public scoreboard, consoles of dealer and pit, property board."""

__all__: list[str] = []
