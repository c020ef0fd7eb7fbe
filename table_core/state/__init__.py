"""The state of a table: its types, the coup's transitions, and where a card belongs.

The fold, `decide` and everything above them may import it. Pure.
"""

__all__: list[str] = []
