"""A table with no hardware: shoe, dealer, patrons and cage that speak the real protocols."""

__all__: list[str] = []
