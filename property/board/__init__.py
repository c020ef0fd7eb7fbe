"""The property board's data: the state of every table, read from the archive.

Only the composition root imports it.
"""

__all__: list[str] = []
