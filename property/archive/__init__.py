"""The archive in PostgreSQL: workers that replicate from the hub into it, and queries that read it.

The composition root and the board import it.
"""

__all__: list[str] = []
