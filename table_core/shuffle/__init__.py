"""The order of a shoe's cards, held against orders that no honest shuffle would give. Pure.

The table's decisions and the measuring of the detection curves import it.
"""

__all__: list[str] = []
