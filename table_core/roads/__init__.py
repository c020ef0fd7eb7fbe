"""The roads: the coups of a shoe as columns, and the document for displays.

Imported by state and projections; pure.
"""

__all__: list[str] = []
