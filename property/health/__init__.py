"""A property's health: readings of its parts, and the pure judgement of them.

Archive, board and the composition root import it.
"""

__all__: list[str] = []
