"""The archive in PostgreSQL: the workers that fill it from the hub, and the questions it answers.

Imported by the composition root and the board.
"""

__all__: list[str] = []
