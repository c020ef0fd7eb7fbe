"""A table without hardware: simulated shoe, dealer, patrons and cage, over the real protocols."""

__all__: list[str] = []
