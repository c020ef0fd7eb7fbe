"""What the property's page shows: the state of every table, read from the archive.

Imported by the composition root.
"""

__all__: list[str] = []
