"""The commands and queries that a table answers: a module for each subject, and their registry.

Imported by every room; imports event types.
"""

__all__: list[str] = []
