"""The event log on SQLite: one writer, readers, rotation, backup, verification.

Imported by shells of every room.
"""

__all__: list[str] = []
