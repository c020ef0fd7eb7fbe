"""The people at a table: dealer, patrons, supervisor, and what they see and ask.

Imported by the demo and tests.
"""

__all__: list[str] = []
