"""The commands and queries that a table answers: a module for each subject, and their registry.

Every room may import it; it imports the event types.
"""

__all__: list[str] = []
