"""The state of a table: its types, the coup's transitions, and where a card belongs.

Imported by fold and decide; pure.
"""

__all__: list[str] = []
