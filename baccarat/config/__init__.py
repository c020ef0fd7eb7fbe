"""Configuration files: their form, their reader, and every fault at once.

Imported by everything in this room that needs a table's or a property's settings.
"""

__all__: list[str] = []
