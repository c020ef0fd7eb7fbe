"""The people at the world's table, their console, and the keeper of the table's float.

The world imports it.
"""

__all__: list[str] = []
