"""The people at the world's table, their console, and who keeps the chips.

Imported by the world.
"""

__all__: list[str] = []
